import { each, type Program, type Programs } from './program.ts';

const help = '-h --help -v --version';

/** Tasks of rake and rails that destroy data. */
const databaseTasks: Programs = {
  'db:drop|db:drop:all|db:reset|db:purge|db:schema:load|db:structure:load|db:migrate:reset|db:truncate_all|db:rollback|db:seed:replant|db:setup|db:drop:_unsafe|db:purge:all|db:migrate:down|db:migrate:redo':
    { asks: 'database/destroy' },
};

/** Tasks that are only prefixes of others, so that a dangerous one behind them is seen. */
const rakeTasks =
  `db:create|db:migrate|db:migrate:status|db:seed|db:version|db:prepare|db:schema:dump|db:test:prepare|test|spec|default|build|clean|clobber|rubocop|lint|assets:precompile|
  assets:clean|routes|stats|about|notes|middleware|log:clear|tmp:clear|test:all|test:system|zeitwerk:check|yard|rdoc|coverage|install|compile`.replace(
    /\s+/g,
    '',
  );

function rake(depth = 3): Program {
  return {
    options: `-h --help -V --version -T:text? --tasks:text? -A --all -P --prereqs -n --dry-run -q --quiet -s --silent -t:text?
      --trace:text? -v --verbose:text? -j:text? --jobs:text? -m --multitask -f:script --rakefile:script -N --no-search -D:text?
      --describe:text? -W:text? --where:text? -B --build-all -C:directory --directory:directory --backtrace:text?`,
    operands: 'variable* text',
    subcommands: {
      ...(depth > 0 && { [rakeTasks]: rake(depth - 1) }),
      ...databaseTasks,
      'release|gem:push|release:rubygem_push': { asks: 'packages/publish' },
    },
  };
}

const railsOptions = `-h --help -p:text --port:text -b:text --binding:text -e:text --environment:text -d --daemon -P:write --pid:write -C
  --dev-caching --no-dev-caching --skip --force -f -s -q --quiet --pretend --skip-namespace --no-test-framework --skip-routes --no-helper
  --no-assets --skip-migration --parent:text --primary-key-type:text -g:text --grep:text -c:text --controller:text -E --expanded --unused
  -v --verbose -n:text --name:text --fail-fast --seed:text --defer-output --no-color --trace`;

const bundle: Program = {
  options: `${help} --no-color -V --verbose --retry:text -r:text`,
  operands: '',
  subcommands: {
    exec: { options: '--keep-file-descriptors --gemfile:script', operands: 'command', optionsFirst: true },
    'install|update|lock|check|outdated|list|show|info|add|remove|init|cache|package|clean|doctor|binstubs|env|platform|version|help|licenses|open|viz|fund|pristine|why':
      {
        options: `${help} -j:text --jobs:text --quiet --verbose --retry:text --path:write --without:text --with:text --frozen --deployment
          --local --no-cache --no-prune --standalone:text? --system --prefer-local --full-index --redownload --force --clean
          --binstubs:write? --gemfile:script --all -g:text --group:text --groups:text --source!packages/install --ruby --bundler:text?
          --conservative --strict --major --minor --patch --pre --parseable --porcelain --only-explicit --filter-major --filter-minor
          --filter-patch --paths --version:text --require:text --optimistic --skip-install --add-platform:text --remove-platform:text
          --normalize-platforms --update:text? --print --lockfile:write --dry-run --only-group:text --without-group:text`,
        operands: 'package*',
      },
    config: {
      options: '--parseable',
      operands: '',
      subcommands: {
        'list|get': { options: '--parseable', operands: 'text*' },
        set: { options: '--local', subcommands: { 'path|without|with|jobs|deployment|frozen|clean': { operands: 'text*' } } },
      },
    },
    gem: {
      options: `${help} -b --exe --no-exe --coc --no-coc --mit --no-mit -t:text --test:text --ci:text --linter:text --no-linter`,
      operands: 'write',
    },
    'plugin|console|inject': { asks: 'program/subcommand' },
  },
};

const ruby: Programs = {
  bundle,
  bundler: bundle,
  rake: rake(),
  ...each('rails bin/rails', {
    isFile: true,
    options: help,
    operands: 'variable* text',
    subcommands: {
      'server|s|test|t|generate|g|destroy|d|routes|about|stats|notes|version|middleware|initializers|dev|tmp:clear|log:clear|zeitwerk:check|test:system|test:all|spec':
        {
          options: railsOptions,
          operands: 'directory*',
        },
      new: {
        options: `${help} -d:text --database:text --api -T --skip-test --skip-bundle -j:text --javascript:text -c:text --css:text
          --skip-git --minimal --skip-active-record -O --skip-docker --skip-ci --skip-rubocop --skip-brakeman --skip-kamal --devcontainer
          --skip-hotwire --skip-jbuilder --skip-system-test --skip-action-mailer --skip-active-storage -q -f -s -p`,
        operands: 'write',
      },
      [rakeTasks]: rake(2),
      ...databaseTasks,
      'runner|r|console|c|dbconsole|db': { asks: 'code/inline' },
      'credentials:show|credentials:edit|encrypted:show|secrets:show|credentials:fetch|credentials:diff': { asks: 'credentials/store' },
    },
  }),
  rspec: {
    options: `${help} -I:script -r:script --require:script -O:script --options:script --order:text --seed:text --bisect:text?
      --fail-fast:text? --no-fail-fast --failure-exit-code:text --dry-run -f:script --format:script -o:write --out:write
      --deprecation-out:write -b --backtrace --force-color --no-color -c --color -p:text? --profile:text? -w --warnings
      -P:directory --pattern:directory --exclude-pattern:text -e:text --example:text -E:text --example-matches:text -t:text --tag:text --default-path:script
      --only-failures -n --next-failure --init`,
    // With the number of a line: `user_spec.rb:42`.
    operands: 'directory*',
  },
  ...each('rubocop standardrb', {
    options: `${help} -V -a -A --autocorrect --autocorrect-all --auto-correct --auto-correct-all --safe-auto-correct -x --fix-layout --fix
      --lint -l -L --list-target-files -c:script --config:script -f:script --format:script -o:write --out:write --only:text --except:text
      --fail-level:text -F --fail-fast -P --parallel --no-parallel -D --display-cop-names --no-display-cop-names -E --extra-details -S
      --display-style-guide --cache:text --cache-root:write -d --debug -s:text --stdin:text --force-exclusion --disable-pending-cops
      --enable-pending-cops --auto-gen-config --regenerate-todo --exclude-limit:text --show-cops:text? --init -r:script --require:script
      --no-color --color --disable-uncorrectable --server --no-server --restart-server --stop-server --only-recognized-file-types --safe
      --display-only-fail-level-offenses --display-only-correctable`,
    operands: 'write*',
  }),
  ...each('brakeman bundle-audit bundler-audit reek haml-lint slim-lint erblint fasterer', {
    options: `${help} -q --quiet -z --no-exit-on-warn --no-pager -A -w:text -o:write --output:write -f:text --format:text -c:script
      --config:script -u --update --autocorrect -a --lint-all --except:text --only:text`,
    operands: 'read*',
    subcommands: { 'check|update|version|stats': { options: '-u --update -v -q -f:text --ignore:text', operands: 'read?' } },
  }),
  ...each('minitest ruby-test', { operands: 'script*' }),
  ...each('solargraph ruby-lsp sorbet srb', {
    options: help,
    subcommands: { 'tc|version|typecheck|download-core|help': { options: '--metrics -a --autocorrect', operands: 'write*' } },
  }),
  gem: {
    options: help,
    subcommands: {
      'install|i|update': {
        options: `${help} -V --verbose -q --quiet --silent -N --no-document --document:text? --user-install --no-user-install -i:write
          --install-dir:write -n:write --bindir:write --pre --prerelease -f --force --conservative --minimal-deps --development --local -l
          --platform:text --ignore-dependencies -E --default -g:script? --file:script? --without:text -j:text --system!packages/install`,
        operands: 'package*',
      },
      'list|search|info|query|specification|environment|env|outdated|which|contents|dependency|help|check|stale|rdoc': {
        options: `${help} -l --local -r --remote -b --both -a --all -d --details -q -i -e --exact --versions --no-versions --pre -R
          --reverse-dependencies --pipe --list`,
        operands: 'text*',
      },
      sources: { options: `${help} -l --list -u --update -c --clear-all` },
      build: { options: `${help} --strict --force -o:write --output:write -C:directory`, operands: 'script' },
      'fetch|unpack': { options: `${help} --target:into`, operands: 'package*', brings: 'downloaded' },
      'uninstall|cleanup': { asks: 'packages/remove' },
      'push|yank|owner|signin|signout': { asks: 'packages/publish' },
    },
  },
  ...each('rbenv', {
    options: help,
    subcommands: {
      'versions|version|which|whence|root|local|prefix|help|rehash|shims': { options: '--bare', operands: 'text*' },
      exec: { operands: 'command', optionsFirst: true },
    },
  }),
  ...each('pod fastlane', {
    options: help,
    subcommands: {
      'install|update|outdated|list|search|env|repo-update': {
        options: `--repo-update --verbose --silent --no-repo-update --clean-install --deployment --project-directory:directory --no-ansi`,
        operands: 'text*',
      },
      trunk: { asks: 'packages/publish' },
      lanes: {},
      'test|tests|lint|build': { operands: 'text*' },
    },
  }),
  jekyll: {
    options: help,
    subcommands: {
      'build|serve|s|b|clean|doctor|new': {
        options: `${help} -s:directory --source:directory -d:write --destination:write -w --watch -l --livereload -P:text --port:text
          -H:text --host:text --drafts -D --future -i --incremental -I --config:script -t --trace -b:text --baseurl:text -o --open-url -q
          -V --force --skip-bundle --blank`,
        operands: 'write?',
      },
    },
  },
};

const composerCommon = `${help} -V -q --quiet -n --no-interaction --ansi --no-ansi --profile -vv -vvv --verbose --no-plugins --no-scripts
  --no-cache -d:directory --working-dir:directory`;

const php: Programs = {
  composer: {
    options: composerCommon,
    subcommands: {
      'install|update|require|remove|dump-autoload|dumpautoload|upgrade|i|u|r|rm|bump|reinstall': {
        options: `${composerCommon} --dev --no-dev --prefer-dist --prefer-source --prefer-install:text --prefer-stable --prefer-lowest -o
          --optimize --optimize-autoloader -a --classmap-authoritative --apcu --no-autoloader --no-progress --no-suggest --no-install
          --no-update --no-audit --dry-run --ignore-platform-reqs --ignore-platform-req:text -w -W --with-dependencies
          --with-all-dependencies --update-with-dependencies --update-with-all-dependencies --update-no-dev --sort-packages --fixed --lock
          --root-reqs --unused --with:text -i --interactive -m --minimal-changes --strict-psr --download-only --no-security-blocking`,
        operands: 'package*',
      },
      'show|info|outdated|why|depends|why-not|prohibits|validate|diagnose|audit|check-platform-reqs|licenses|status|search|suggests|list|help|about|fund|browse|home|clear-cache|clearcache|cc':
        {
          options: `${composerCommon} -i --installed -l --latest -o --outdated -D --direct -t --tree --all -p --platform -a --available -s
            --self -N --name-only -P --path -M --major-only -m --minor-only --strict --format:text -f:text -r --recursive --no-check-all
            --no-check-publish --no-check-lock --with-dependencies --locked --no-dev --abandoned:text --ignore:text -t:text --type:text`,
          operands: 'text*',
        },
      'run-script|run': { options: `${composerCommon} -l --list --dev --no-dev --timeout:text`, operands: 'text*' },
      [`test|tests|lint|format|fix|cs|cs-fix|cs:check|cs:fix|stan|phpstan|analyse|analyze|check|build|dev|start|serve|test:unit|test:feature|test:types|test:lint|refactor|ci|pint|psalm|coverage|
        phpcs|phpcbf|test-coverage`.replace(/\s+/g, '')]: { options: composerCommon, operands: 'text*' },
      exec: { options: `${composerCommon} -l --list`, subcommands: {} },
      init: {
        options: `${composerCommon} --name:text --description:text --author:text --type:text --license:text -l:text -s:text
          --stability:text --autoload:text`,
      },
      'create-project': {
        options: `${composerCommon} --prefer-dist --prefer-source --no-dev --no-install -s:text --stability:text --remove-vcs --keep-vcs`,
        operands: 'package write? text?',
      },
      'config|global|self-update|selfupdate|archive': { asks: 'program/subcommand' },
    },
  },
  ...each('phpunit pest paratest', {
    options: `${help} -c:script --configuration:script --filter:text --testsuite:text --exclude-testsuite:text --group:text
      --exclude-group:text --list-tests --list-suites --list-groups --stop-on-failure --stop-on-error --stop-on-defect
      --coverage-html:write --coverage-text:write? --coverage-clover:write --coverage-xml:write --coverage-php:write
      --coverage-filter:read --coverage --no-coverage --min:text --colors:text? --color --testdox --no-progress --no-output
      --no-configuration --debug --verbose --bootstrap:script --cache-directory:write --do-not-cache-result --log-junit:write --teamcity
      --order-by:text --random-order-seed:text --process-isolation --display-warnings --display-deprecations --display-notices
      --display-errors --display-skipped --display-incomplete --fail-on-warning --fail-on-risky --fail-on-deprecation --parallel -p:text
      --processes:text --bail --dirty --retry --profile --ci --compact --init --strict-coverage`,
    operands: 'script*',
  }),
  ...each('phpstan psalm phan', {
    options: `${help} -V -c:script --configuration:script --config:script --level:text -l:text --memory-limit:text --no-progress
      --error-format:text -a:script --autoload-file:script --generate-baseline:write? -b:write? --debug -q --ansi --no-ansi -n
      --no-interaction --xdebug --init --show-info:text? --no-cache --threads:text --set-baseline:write --alter --dry-run`,
    operands: 'script*',
    subcommands: {
      'analyse|analyze|clear-result-cache|diagnose|dump-parameters': {
        options: `${help} -c:script --configuration:script --level:text -l:text --memory-limit:text --no-progress --error-format:text
          -a:script --generate-baseline:write? -b:write? --debug -q --ansi --no-ansi -n --xdebug -vvv`,
        operands: 'script*',
      },
    },
  }),
  ...each('phpcs phpcbf pint php-cs-fixer rector ecs phpmd', {
    options: `${help} -p -s -n -w -q -i -a -l --standard:script --extensions:text --ignore:text --exclude:text --report:script
      --report-file:write --severity:text --error-severity:text --warning-severity:text --parallel:text --colors --no-colors --test
      --dirty --preset:text --config:script --bail --repair --dry-run --diff --rules:text --allow-risky:text --using-cache:text
      --cache-file:write --show-progress:text --format:text --no-interaction --ansi --no-ansi -vvv --sniffs:text --tab-width:text
      --encoding:text --basepath:text --cache:write? --no-cache --clear-cache`,
    operands: 'write*',
    subcommands: {
      'fix|check|process|list-files|describe|init': {
        options: `${help} --dry-run --diff --rules:text --allow-risky:text --config:script --using-cache:text --cache-file:write
          --show-progress:text --format:text --no-progress-bar --clear-cache --fix -n --ansi --stop-on-violation --path-mode:text
          --verbose -vvv`,
        operands: 'write*',
      },
    },
  }),
  ...each('laravel symfony wp', {
    options: help,
    subcommands: {
      'serve|server:start|server:status|server:log|check:requirements|check:security|local:php:list|about|version': {
        options: `${help} --port:text --no-tls -d --daemon`,
        operands: 'text*',
      },
      new: {
        options: `${help} --webapp --version:text --git --pest --phpunit --livewire --react --vue --database:text --npm --no-interaction
          -n --force -f`,
        operands: 'write',
      },
    },
  }),
};

export const rubyPhpPrograms: Programs = { ...ruby, ...php };
