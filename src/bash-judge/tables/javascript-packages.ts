import { javascriptPrograms } from './javascript.ts';
import { each, type Program, type Programs } from './program.ts';

const help = '-h --help -v --version';

/** Behind the name of a package. */
const versions = ['latest', 'next', 'canary', ...Array.from({ length: 31 }, (_, major) => String(major))];

/** `npm run env` prints the environment. */
const environment: Programs = { env: { asks: 'credentials/environment' } };

/** What a package manager runs by the name of its package: only tools of these tables. */
const toRun: Programs = {
  ...javascriptPrograms,
  ...Object.fromEntries(
    Object.entries(javascriptPrograms).flatMap(([name, row]) => versions.map((version) => [`${name}@${version}`, row])),
  ),
  hermetic: { asks: 'hermetic/control' },
};

/** Names that scripts of a package.json usually have: unlike others they are no programs that would be run instead. */
const scriptNames =
  `build|build:prod|build:dev|build:web|build:all|compile|bundle|dev|develop|serve|preview|start:dev|start:prod|watch|lint|lint:fix|lint:check|
  format|format:check|format:fix|fmt|check|check:types|check-types|typecheck|type-check|types|tsc:check|test:unit|test:e2e|test:integration|test:watch|
  test:coverage|test:ci|test:run|test:types|e2e|coverage|clean|generate|gen|codegen|docs|docs:build|docs:dev|db:generate|db:migrate|db:seed|db:push|seed|
  migrate|storybook|build-storybook|validate|verify|ci|release:dry|bench|benchmark|spellcheck|i18n|prepare|postinstall|setup|analyze|size|
  generate:types|prisma:generate|api:generate`.replace(/\s+/g, '');

// What stands behind the name goes to a tool: paths there are looked at as those of its own options.
const script: Program = {
  options: `-c:script --config:script --root:directory --rootDir:directory --rootdir:directory --outDir:write --out-dir:write --outfile:write
    --output:write --outputFile:write --rulesdir:script --plugin:script --require:script --import:script`,
  operands: 'directory*',
  optionsFirst: true,
  anyOption: true,
};

const usualScripts: Programs = { [scriptNames]: script, 'test|start|stop|restart': script };

const npmCommon = `-h --help -s --silent -q --quiet -d --verbose --loglevel:text --json --long -l --parseable -p --workspace:text -w:text
  --workspaces --include-workspace-root --if-present --prefix:directory -C:directory --color:text? --no-color --progress --no-progress
  --no-fund --fund:text? --no-audit --audit:text? --yes -y --offline --prefer-offline --prefer-online --ignore-scripts
  --foreground-scripts --no-update-notifier --timing`;

const npmInstall = `${npmCommon} -D --save-dev -S --save -O --save-optional -P --save-prod --save-peer -E --save-exact --no-save -B
  --save-bundle --force -f --legacy-peer-deps --strict-peer-deps --omit:text --include:text --production --only:text --no-optional
  --package-lock-only --no-package-lock --package-lock:text? --dry-run --no-bin-links --install-strategy:text --engine-strict
  --install-links --prefer-dedupe --audit-level:text --save-prefix:text --before:text --depth:text --os:text --cpu:text --libc:text
  --no-shrinkwrap --tag:text --maxsockets:text --fetch-timeout:text --fetch-retries:text`;

const npmAsks: Programs = {
  'publish|unpublish|deprecate|undeprecate|stage': { asks: 'packages/publish' },
  'owner|access|team|org|token|profile|login|adduser|add-user|logout|hook|star|unstar|trust': { asks: 'packages/publish' },
  'set|explore|edit': { asks: 'code/injected' },
};

const npm: Program = {
  options: `${npmCommon} -v --version`,
  operands: '',
  subcommands: {
    'install|i|add|in|ins|inst|isnt|isntall|ci|clean-install|ic|install-ci-test|cit|install-test|it|update|up|upgrade|udpate|dedupe|ddp|prune|rebuild|rb|link|ln':
      { options: npmInstall, operands: 'package*' },
    'uninstall|un|remove|rm|r': { options: `${npmInstall} -g!packages/remove --global!packages/remove`, operands: 'text*' },
    'test|t|tst|start|stop|restart': {
      options: `${npmCommon} --fix --watch:text? --coverage --watchAll:text? --ci --runInBand`,
      operands: 'directory*',
    },
    'run|run-script|rum|urn': {
      options: `${npmCommon} --fix --watch:text? --coverage --watchAll:text? --ci --runInBand`,
      operands: 'text directory*',
      subcommands: environment,
    },
    'exec|x': {
      options: `${npmCommon} --package:package -c:shell --call:shell --no`,
      operandsWith: { '-c': '', '--call': '' },
      subcommands: toRun,
    },
    'outdated|ls|list|la|ll|why|explain|root|prefix|bin|query|fund|sbom|doctor|ping|whoami|search|find|s|view|info|show|v|diff|docs|home|repo|bugs|help|help-search|completion':
      {
        options: `${npmCommon} -g --global -a --all --depth:text --omit:text --include:text --prod --production --dev --link
          --package-lock-only --sbom-format:text --sbom-type:text --searchlimit:text --diff:text --diff-name-only --no-description
          --browser:text? --registry!network/remote`,
        operands: 'text*',
      },
    audit: {
      options: npmInstall,
      operands: '',
      subcommands: { 'fix|signatures': { options: npmInstall } },
    },
    'init|create|innit': {
      options: `${npmCommon} --scope:text --init-type:text --init-license:text --init-author-name:text --init-version:text --init-private
        --esm`,
      operands: '',
      // `npm create vite` runs the package create-vite.
      subcommands: Object.fromEntries(
        Object.entries(toRun)
          .filter(([name]) => name.startsWith('create-'))
          // Behind `--` stand options of the starter; that of Vite can do nothing else with them.
          .map(([name, row]) => [
            name.slice('create-'.length),
            name.startsWith('create-vite') ? { ...row, operands: 'write? text*' } : row,
          ]),
      ),
    },
    pack: { options: `${npmCommon} --dry-run --pack-destination:write`, operands: 'package*' },
    'version|verison': {
      options: `${npmCommon} -m:text --message:text --no-git-tag-version --git-tag-version:text? --preid:text --allow-same-version
        --no-commit-hooks --sign-git-tag --force -f --tag-version-prefix:text --workspaces-update`,
      operands: 'text?',
    },
    'config|c': {
      subcommands: {
        'list|ls': { options: `${npmCommon} -g --global` },
        // A name with a scope or an address may be that of a token.
        get: { options: `${npmCommon} -g --global`, operands: 'package*' },
        'set|delete|edit|fix|rm': { asks: 'code/injected' },
      },
    },
    cache: { subcommands: { 'ls|verify|clean|clear|npx': { options: '--force -f --silent --json', operands: 'text*' } } },
    pkg: { subcommands: { 'get|fix': { options: npmCommon, operands: 'text*' }, 'set|delete': { asks: 'code/inline' } } },
    shrinkwrap: { options: npmCommon },
    'dist-tag|dist-tags': {
      subcommands: { 'ls|list': { options: npmCommon, operands: 'text?' }, 'add|rm|remove': { asks: 'packages/publish' } },
    },
    ...npmAsks,
  },
};

const npx: Program = {
  options: `${help} -y --yes --no --no-install -q --quiet -p:package --package:package -c:shell --call:shell -w:text --workspace:text
    --workspaces --prefer-offline --offline --prefer-online --ignore-existing --bun --silent`,
  operandsWith: { '-c': '', '--call': '' },
  subcommands: toRun,
};

const pnpmCommon = `-h --help -s --silent --reporter:text -r --recursive -w --workspace-root -F:text --filter:text --filter-prod:text
  --fail-if-no-match -C:directory --dir:directory --parallel --stream --aggregate-output --workspace-concurrency:text --no-bail --bail
  --sort --no-sort --if-present --color --no-color --loglevel:text --use-stderr --yes -y --include-workspace-root --resume-from:text
  --sequential --reverse --changed-files-ignore-pattern:text`;

const pnpm: Program = {
  options: `${pnpmCommon} -v --version`,
  // Without a script of that name pnpm runs the program.
  operands: 'command',
  optionsFirst: true,
  subcommands: {
    'install|i|add|update|up|upgrade|import|dedupe|prune|rebuild|rb|fetch|link|ln|install-test|it|ci|clean-install': {
      options: `${pnpmCommon} -D --save-dev -P --save-prod --prod --production -O --save-optional --save-peer -E --save-exact --dev -d
        --no-optional --frozen-lockfile:text? --no-frozen-lockfile --lockfile-only --fix-lockfile --no-lockfile --prefer-offline --offline
        --ignore-scripts --force -f --shamefully-hoist --strict-peer-dependencies --no-strict-peer-dependencies --ignore-workspace
        --workspace -L --latest -i --interactive --depth:text --merge-git-branch-lockfiles --side-effects-cache --node-linker:text
        --resolution-only --allow-build:text --network-concurrency:text --check`,
      operands: 'package*',
    },
    'remove|rm|uninstall|un': {
      options: `${pnpmCommon} -D --save-dev -P --save-prod -O -g!packages/remove --global!packages/remove`,
      operands: 'text+',
    },
    'run|run-script': { options: pnpmCommon, operands: 'text directory*', optionsFirst: true, subcommands: usualScripts },
    'test|t|tst|start|stop|restart': { ...script, options: `${script.options} ${pnpmCommon}` },
    [scriptNames]: script,
    exec: { options: `${pnpmCommon} -c!code/unseen --shell-mode!code/unseen`, subcommands: toRun, operands: 'command', optionsFirst: true },
    dlx: { options: `${pnpmCommon} --package:package`, subcommands: toRun },
    create: { options: pnpmCommon, subcommands: npm.subcommands?.['init|create|innit']?.subcommands ?? {} },
    init: { options: pnpmCommon, operands: '' },
    'list|ls|la|ll|outdated|why|audit|licenses|root|bin|view|info|show|search|help|doctor|cat-file|store|env|catalog': {
      options: `${pnpmCommon} -g --global --json --long --parseable --depth:text -D --dev -P --prod --only-projects --no-optional
        --compatible --format:text --audit-level:text --fix`,
      operands: 'text*',
      subcommands: { 'use|add|remove|rm|prune': { asks: 'program/subcommand' } },
    },
    pack: { options: `${pnpmCommon} --pack-destination:write --out:write --json` },
    'config|c': { subcommands: { list: { options: '--json' }, 'set|delete|get': { asks: 'code/injected' } } },
    'setup|self-update|patch|patch-commit|patch-remove|server|deploy|approve-builds': { asks: 'program/subcommand' },
    ...npmAsks,
  },
};

const yarnCommon = `-h --help -s --silent --verbose --json --cwd:directory --non-interactive --no-progress --offline --prefer-offline
  --emoji:text --no-default-rc`;

const yarnCommands: Programs = {
  // `yarn jest` runs the tool of the project, unless a script has that name.
  ...javascriptPrograms,
  ...usualScripts,
  'install|add|up|upgrade|upgrade-interactive|dedupe|import|link|unlink|rebuild|check|autoclean|generate-lock-entry|up-interactive': {
    options: `${yarnCommon} -D --dev -P --peer -O --optional -E --exact -T --tilde -C --caret --frozen-lockfile --immutable
      --immutable-cache --check-cache --check-resolutions --inline-builds --mode:text --production:text? --prod --ignore-scripts
      --ignore-engines --ignore-optional --ignore-platform --force --pure-lockfile --no-lockfile --no-bin-links --flat --har
      --network-timeout:text --network-concurrency:text --check-files --check --latest -i --interactive --cached -W
      --ignore-workspace-root-check --integrity --verify-tree -R --recursive --fixed --refresh-lockfile`,
    operands: 'package*',
  },
  remove: { options: `${yarnCommon} -A --all --mode:text -W --ignore-workspace-root-check`, operands: 'text+' },
  run: {
    options: `${yarnCommon} -T --top-level -B --binaries-only --inspect --inspect-brk`,
    operands: 'text directory*',
    subcommands: { ...javascriptPrograms, ...usualScripts, ...environment },
    optionsFirst: true,
  },
  ...environment,
  // `yarn exec` hands its words to a shell, `yarn node` runs node.
  exec: { options: yarnCommon, subcommands: toRun },
  dlx: { options: '-q --quiet -p:package --package:package', subcommands: toRun },
  create: { subcommands: npm.subcommands?.['init|create|innit']?.subcommands ?? {} },
  node: { asks: 'code/unseen' },
  init: { options: `${yarnCommon} -y --yes -p --private -w --workspace -2`, operands: '' },
  'list|info|why|outdated|audit|licenses|versions|bin|help|search|explain|constraints|doctor': {
    options: `${yarnCommon} -A --all -R --recursive --depth:text --pattern:text --level:text --groups:text --severity:text
      --environment:text -v --verbose --fix --virtuals --dependents -N --name-only --manifest --cache --no-deprecations`,
    operands: 'text*',
  },
  cache: { subcommands: { 'list|dir|clean': { options: '--all --mirror --pattern:text', operands: 'text*' } } },
  // It shows tokens too.
  config: { asks: 'code/injected' },
  pack: { options: `${yarnCommon} -n --dry-run -o:write --out:write -f:write --filename:write --install-if-needed` },
  version: {
    options: `${yarnCommon} --patch --minor --major --new-version:text --no-git-tag-version -d --deferred --prerelease`,
    operands: 'text?',
  },
  'npm|global|plugin|set|self-update|policies|tag|team|unplug|patch|patch-commit|stage|search-global|sdks': { asks: 'program/subcommand' },
  ...npmAsks,
};

const workspaceNames =
  'web|app|api|server|client|frontend|backend|docs|ui|core|shared|common|lib|cli|mobile|admin|website|www|types|utils|database|db|e2e';

const yarn: Program = {
  options: `${yarnCommon} -v --version`,
  // Any other word is a script of the package.json or a tool of the project.
  operands: 'text directory*',
  optionsFirst: true,
  subcommands: {
    ...yarnCommands,
    // What follows the name of the workspace is a command of yarn, so only usual names are known.
    workspace: {
      subcommands: {
        [workspaceNames]: { options: yarnCommon, operands: 'text directory*', optionsFirst: true, subcommands: yarnCommands },
      },
    },
    workspaces: {
      subcommands: {
        'run|foreach': {
          options: `-A --all -p --parallel -i --interlaced -t --topological --topological-dev -v --verbose -R --recursive -W --worktree
            --since:text? --include:text --exclude:text --from:text --no-private -j:text --jobs:text`,
          operands: 'text*',
          subcommands: {
            run: { operands: 'text directory*', optionsFirst: true },
            'exec|npm|node|dlx|publish|config|plugin|set': { asks: 'program/subcommand' },
          },
          optionsFirst: true,
        },
        'list|info|focus': { options: '--json -v --since:text? -R --recursive --production -A --all', operands: 'text*' },
      },
    },
  },
};

const bunRun = `-h --help --watch --hot --no-clear-screen --smol -r:script --preload:script --require:script --import:script --inspect
  --inspect-wait --inspect-brk --if-present --no-install --install:text -i -c:script? --config:script? --cwd:directory --env-file:script
  -b --bun --silent -F:text --filter:text --elide-lines:text --tsconfig-override:script --define:text -d:text --port:text
  --conditions:text --prefer-offline --no-deprecation --expose-gc`;

const bunInstall = `-h --help -y --yarn -p --production -d --dev --save-dev -D --optional --peer -E --exact --no-save --save --dry-run
  --frozen-lockfile -f --force --no-cache --silent --verbose --no-progress --no-summary --ignore-scripts
  --backend:text --concurrent-scripts:text --omit:text --save-text-lockfile --lockfile-only --filter:text -F:text --cwd:directory --latest
  -a --analyze --linker:text --only-missing -r --recursive -i --interactive`;

const bun: Program = {
  options: `${bunRun} -v --version --revision -e:code --eval:code -p:code --print:code`,
  operands: 'script text*',
  operandsWith: {
    '-v': '',
    '--version': '',
    '--revision': '',
    '-h': '',
    '--help': '',
    '-e': 'text*',
    '--eval': 'text*',
    '-p': 'text*',
    '--print': 'text*',
  },
  optionsFirst: true,
  subcommands: {
    '-': { asks: 'code/unseen' },
    // Without a script or file of that name `bun run` runs the program.
    run: {
      options: bunRun,
      operands: 'command',
      subcommands: {
        ...usualScripts,
        'index.ts|index.js|main.ts|server.ts|index.tsx|app.ts|cli.ts|script.ts': script,
      },
      optionsFirst: true,
    },
    test: {
      options: `${bunRun} --timeout:text -u --update-snapshots --rerun-each:text --only --todo --coverage --coverage-reporter:text
        --coverage-dir:write --bail:text? -t:text --test-name-pattern:text --reporter:text --reporter-outfile:write --concurrent
        --randomize --seed:text --pass-with-no-tests`,
      operands: 'directory*',
    },
    'install|i|add|a|update|link|unlink|outdated|audit|why|info': { options: bunInstall, operands: 'package*' },
    'remove|rm': { options: bunInstall, operands: 'text+' },
    x: npx,
    create: { subcommands: npm.subcommands?.['init|create|innit']?.subcommands ?? {} },
    init: { options: '-h --help -y --yes -m --minimal --react:text?', operands: 'write?' },
    build: {
      options: `-h --help --outdir:write --outfile:write --target:text --format:text --minify --minify-syntax --minify-whitespace
        --minify-identifiers --sourcemap:text? --splitting -e:text --external:text --packages:text --entry-naming:text --production
        --watch --root:read --public-path:text --compile --bytecode --define:text --banner:text --footer:text --env:text
        --tsconfig-override:script --no-bundle --loader:text -d:text`,
      operands: 'read+',
    },
    pm: {
      options: '-g --global',
      operands: '',
      subcommands: {
        'ls|list|bin|hash|hash-print|hash-string|cache|untrusted|whoami|migrate|why|pkg|pack': {
          options: '-g --all --dry-run --destination:write',
          operands: 'text*',
        },
      },
    },
    'publish|patch|upgrade|exec|repl': { asks: 'program/subcommand' },
  },
};

const denoRun = `-h --help -q --quiet -L:text --log-level:text -A --allow-all --allow-read:text? --allow-write:text? --allow-net:text?
  --allow-env:text? --allow-run:text? --allow-sys:text? --allow-ffi:text? --allow-import:text? -R:text? -W:text? -N:text? -E:text?
  -S:text? --deny-read:text? --deny-write:text? --deny-net:text? --deny-env:text? --deny-run:text? -P:text? --permission-set:text?
  --no-prompt -c:script --config:script --no-config --import-map:script --lock:write? --no-lock --frozen:text? --cached-only --no-remote
  --no-npm --node-modules-dir:text? --vendor:text? --watch:text? --watch-hmr:text? --watch-exclude:text? --no-clear-screen
  --no-check:text? --check:text? -r:text? --reload:text? --env-file:script? --env:script? --inspect --inspect-brk --seed:text
  --location:text --v8-flags:text? --unstable --unstable-kv --unstable-ffi --unstable-net --unstable-cron --unstable-sloppy-imports
  --unstable-node-globals --unstable-bare-node-builtins --unstable-detect-cjs --unstable-temporal --unstable-worker-options
  --unstable-fmt-component --ext:text --no-code-cache --strace-ops:text?`;

const deno: Program = {
  options: '-h --help -V --version -v -q --quiet --unstable',
  subcommands: {
    run: { options: denoRun, operands: 'script text*', optionsFirst: true, subcommands: { '-': { asks: 'code/unseen' } } },
    serve: { options: `${denoRun} --port:text --host:text --parallel --open`, operands: 'script text*', optionsFirst: true },
    'add|remove|rm|outdated|update|approve-scripts|audit': {
      options: '-h --help -q --quiet -D --dev --npm --jsr -u --latest --compatible -r --recursive',
      operands: 'text*',
    },
    'test|bench|check|cache|doc|info|coverage|install|i': {
      options: `${denoRun} --filter:text --fail-fast:text? --parallel --coverage:write? --clean --junit-path:write --reporter:text --doc
        --permit-no-files --shuffle:text? --trace-leaks --no-run --json --all --lcov --html --detailed --include:text --exclude:text
        --ignore:text --output:write -D --dev --npm --jsr -u --latest --compatible --lint --no-config -e:text --entrypoint --private
        --name:text`,
      operands: 'script*',
    },
    fmt: {
      options: `-h --help --check --watch:text? --ext:text --ignore:text -c:script --config:script --no-config --indent-width:text
        --line-width:text --single-quote:text? --prose-wrap:text --no-semicolons:text? --use-tabs:text? -q --quiet --permit-no-files
        --unstable-component --unstable-sql`,
      operands: 'write*',
    },
    lint: {
      options: `-h --help --fix --watch:text? --json --compact --rules --rules-tags:text --rules-include:text --rules-exclude:text
        --ignore:text -c:script --config:script --no-config -q --quiet --ext:text --permit-no-files`,
      operands: 'write*',
    },
    task: {
      options: '-h --help -q --quiet -c:script --config:script --cwd:directory -r --recursive -f:text --filter:text',
      operands: 'text directory*',
      optionsFirst: true,
    },
    compile: {
      options: `${denoRun} -o:write --output:write --target:text --no-terminal --include:read --icon:read --exclude:text`,
      operands: 'script text*',
      optionsFirst: true,
    },
    init: { options: '-h --help --lib --serve', operands: 'write?' },
    'types|completions|help|clean': { options: '-h --help', operands: 'text*' },
    eval: { asks: 'code/inline' },
    publish: { asks: 'packages/publish' },
    'upgrade|repl|jupyter|deploy|login|uninstall|x': { asks: 'program/subcommand' },
  },
};

export const javascriptPackagePrograms: Programs = {
  npm,
  ...each('npx bunx pnpx', npx),
  pnpm,
  ...each('yarn yarnpkg', yarn),
  bun,
  deno,
  ...each('nvm fnm volta', {
    options: '--version --help -h',
    operands: '',
    subcommands: {
      'ls|list|current|use|version|which|ls-remote|list-remote|env|--version': { options: '--silent --lts --json', operands: 'text*' },
    },
  }),
  corepack: { options: '-v --version -h --help', asks: 'program/subcommand' },
};
