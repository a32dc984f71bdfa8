import { each, type Program, type Programs } from './program.ts';

// A configuration of these tools is code of the workspace: `script` asks about one from elsewhere.
// Their operands are `write` where the tool changes files, or looks for a configuration beside them.
const help = '-h --help -v --version';

const eslintOptions = `${help} --fix --fix-dry-run --fix-type:text --ext:text --quiet --max-warnings:text -f:script --format:script
  -o:write --output-file:write --cache --no-cache --cache-location:write --cache-file:write --cache-strategy:text -c:script
  --config:script --no-eslintrc --no-config-lookup --rule:text --ignore-path:read --ignore-pattern:text --no-ignore --no-inline-config
  --env:text --global:text --parser:script --parser-options:text --plugin:script --resolve-plugins-relative-to:script --rulesdir:script
  --stdin --stdin-filename:text --report-unused-disable-directives --report-unused-disable-directives-severity:text
  --report-unused-inline-configs:text --debug --color --no-color --print-config:read --env-info --inspect-config
  --no-error-on-unmatched-pattern --exit-on-fatal-error --no-warn-ignored --pass-on-no-patterns --pass-on-unpruned-suppressions
  --suppress-all --suppress-rule:text --prune-suppressions --stats --flag:text --concurrency:text`;

const prettierOptions = `${help} -w --write -c --check -l --list-different --config:script --no-config --config-precedence:text
  --ignore-path:read --plugin:script --plugin-search-dir:script --no-plugin-search --parser:script --stdin-filepath:text --log-level:text
  --loglevel:text -u --ignore-unknown --no-error-on-unmatched-pattern --no-editorconfig --with-node-modules --cache --cache-location:write
  --cache-strategy:text --color --no-color --insert-pragma --require-pragma --check-ignore-pragma --print-width:text --tab-width:text
  --use-tabs --no-semi --semi --single-quote --jsx-single-quote --quote-props:text --trailing-comma:text --no-bracket-spacing
  --bracket-same-line --object-wrap:text --arrow-parens:text --prose-wrap:text --html-whitespace-sensitivity:text
  --vue-indent-script-and-style --end-of-line:text --embedded-language-formatting:text --single-attribute-per-line
  --experimental-ternaries --range-start:text --range-end:text --find-config-path:list --find-config-file:list --file-info:list
  --support-info`;

const biomeOptions = `-h --help --verbose --colors:text --config-path:script --max-diagnostics:text --diagnostic-level:text
  --error-on-warnings --no-errors-on-unmatched --skip-parse-errors --reporter:text --log-level:text --log-kind:text --log-file:write
  --use-server --json --json-pretty --write --fix --unsafe --apply --apply-unsafe --suppress --reason:text --only:text --skip:text
  --staged --changed --since:text --stdin-file-path:text --files-ignore-unknown:text --files-max-size:text --vcs-enabled:text
  --vcs-client-kind:text --vcs-use-ignore-file:text --vcs-root:list --vcs-default-branch:text --formatter-enabled:text
  --linter-enabled:text --assist-enabled:text --organize-imports-enabled:text --enforce-assist:text --format-with-errors:text
  --indent-style:text --indent-size:text --indent-width:text --line-ending:text --line-width:text --quote-style:text
  --jsx-quote-style:text --semicolons:text --trailing-commas:text --trailing-comma:text --arrow-parentheses:text --bracket-spacing:text
  --bracket-same-line:text --attribute-position:text --profile-rules --threads:text`;

const biome: Program = {
  options: '-h --help -V --version --colors:text',
  operands: '',
  subcommands: {
    'check|lint|format|ci|search': { options: biomeOptions, operands: 'write*' },
    'init|rage|explain|version|start|stop|clean': {
      options: '-h --help --jsonc --daemon-logs --formatter --linter',
      operands: 'text*',
    },
    migrate: {
      options: `${biomeOptions} --include-inspired --include-nursery`,
      operands: '',
      subcommands: { 'prettier|eslint': { options: biomeOptions } },
    },
  },
};

const jestOptions = `${help} --watch:text? --watchAll:text? --no-watch --no-watchman --watchman:text? --coverage:text? --no-coverage
  --ci:text? --no-ci -i --runInBand -t:text --testNamePattern:text -u --updateSnapshot --verbose:text? --silent:text? -b:text?
  --bail:text? -w:text --maxWorkers:text --maxConcurrency:text --testPathPattern:text --testPathPatterns:text
  --testPathIgnorePatterns:text --testMatch:text --testRegex:text --runTestsByPath --passWithNoTests --onlyChanged -o --changedSince:text
  --changedFilesWithAncestor --lastCommit --onlyFailures -f --findRelatedTests --listTests --forceExit --detectOpenHandles
  --openHandlesTimeout:text --no-cache --cache --clearCache --cacheDirectory:write --colors --color --no-color -c:script --config:script
  --env:script --environment:script --rootDir:directory --roots:directory --projects:directory --selectProjects:text --ignoreProjects:text
  --reporters:script --coverageDirectory:write --coverageReporters:text --collectCoverage --collectCoverageFrom:text
  --coverageProvider:text --coverageThreshold:text --coveragePathIgnorePatterns:text --json --outputFile:write --testTimeout:text
  --logHeapUsage -e --expand --debug --showConfig --shard:text --randomize --seed:text --showSeed --workerIdleMemoryLimit:text
  --errorOnDeprecated --noStackTrace --filter:script --setupFiles:script --setupFilesAfterEnv:script --globalSetup:script
  --globalTeardown:script --resolver:script --preset:script --useStderr --testFailureExitCode:text --testLocationInResults --injectGlobals
  --detectLeaks --resetMocks --clearMocks --restoreMocks --modulePathIgnorePatterns:text --watchPathIgnorePatterns:text --workerThreads
  --no-injectGlobals`;

const vitestOptions = `${help} --run --watch:text? -w --no-watch --ui:text? --open:text? --api:text? --api.port:text --coverage:text?
  --no-coverage --coverage.enabled:text? --coverage.reporter:text --coverage.provider:text --coverage.include:text --coverage.exclude:text
  --coverage.all:text? --coverage.reportsDirectory:write --coverage.clean:text? --coverage.thresholds.lines:text
  --coverage.thresholds.branches:text --coverage.thresholds.functions:text --coverage.thresholds.statements:text --coverage.thresholds.100
  --coverage.reportOnFailure --coverage.skipFull -r:directory --root:directory --dir:directory -c:script --config:script
  --workspace:script --project:text --mode:text --reporter:script --outputFile:write --bail:text --retry:text --environment:script --dom
  -t:text --testNamePattern:text --silent:text? --hideSkippedTests --globals --pool:text --poolOptions.threads.singleThread
  --poolOptions.forks.singleFork --poolOptions.threads.maxThreads:text --poolOptions.forks.maxForks:text --maxWorkers:text
  --minWorkers:text --maxConcurrency:text --no-file-parallelism --fileParallelism --isolate --no-isolate --passWithNoTests --allowOnly
  --changed:text? --shard:text --browser:text? --browser.headless:text? --browser.name:text --browser.enabled:text? --typecheck:text?
  --typecheck.only --typecheck.enabled -u --update --logHeapUsage --sequence.shuffle:text? --sequence.shuffle.tests
  --sequence.shuffle.files --sequence.seed:text --sequence.concurrent --testTimeout:text --hookTimeout:text --teardownTimeout:text
  --slowTestThreshold:text --inspect --inspect-brk --inspectBrk --no-color --color --clearScreen:text? --standalone --exclude:text
  --expandSnapshotDiff --disableConsoleIntercept --includeTaskLocation --expand --printConsoleTrace --mergeReports:read? --diff:script
  --cache --no-cache --json:write? --filesOnly --compare:read --outputJson:write --dangerouslyIgnoreUnhandledErrors --attachmentsDir:write
  --no-clearScreen --experimental.fsModuleCache`;

const viteOptions = `${help} --host:text? --port:text --open:text? --no-open --cors --strictPort --force --base:text -l:text
  --logLevel:text --clearScreen:text? -d:text? --debug:text? -f:text --filter:text -m:text --mode:text -c:script --config:script
  --configLoader:text --profile --outDir:write --assetsDir:text --assetsInlineLimit:text --ssr:script? --sourcemap:text? --minify:text?
  --manifest:text? --ssrManifest:text? --emptyOutDir -w --watch --app --target:text`;

const bundlerOptions = `${help} -c:script? --config:script? -w --watch --mode:text --devtool:text --env:text -o:write --output-path:write
  --stats:text? --progress:text? --color --no-color --analyze --json:write? --node-env:text --bail --profile --hot --open --port:text
  --host:text --merge -i:read --input:read --file:write --dir:write -f:text --format:text --name:text -n:text --sourcemap:text? --silent
  --external:text -p:script --plugin:script --environment:text --configPlugin:script --failAfterWarnings --bundleConfigAsCjs --validate
  --entry:script --target:text --dts --no-dts --clean --no-clean --minify --splitting --no-splitting --treeshake --outDir:write
  --tsconfig:script --out-dir:write --dist-dir:write --no-source-maps --no-optimize --no-cache --cache-dir:write --public-url:text
  --log-level:text --no-hmr --no-autoinstall --detailed-report:text?`;

/** Frameworks with the usual build, development server and checks. */
const framework: Program = {
  options: help,
  subcommands: {
    'build|dev|start|serve|preview|develop|info|check|sync|typecheck|prepare|generate|lint|export|typegen|optimize|routes|doctor|analyze|clean':
      {
        options: `${viteOptions} -p:text -H:text --hostname:text --turbo --turbopack --webpack --no-lint --experimental-https
          --debug-prerender --no-mangling --experimental-build-mode:text --experimental-app-only --fix --dir:directory --quiet --strict
          --max-warnings:text --cache --no-cache --root:directory --site:text --verbose --silent --watch --prerender --preset:text
          --dotenv:script --tsconfig:script --minimumSeverity:text --minimumFailingSeverity:text --configuration:text --prod --aot
          --output-path:write --base-href:text --no-progress --browsers:text --code-coverage --inspect -s -a --all`,
        operands: 'directory?',
      },
  },
};

const schematics = `${help} -d --dry-run --dryRun --force --skip-install --skip-git --skip-tests --style:text --routing --standalone
  --no-standalone --ssr --no-ssr --strict --prefix:text --directory:write --package-manager:text --defaults --interactive --no-interactive
  --project:text --module:text --inline-style --inline-template --flat --export --type:text --name:text --dry-run --verbose
  --e2eTestRunner:text --unitTestRunner:text --bundler:text --linter:text --tags:text --path:write -g -s -t --no-spec --spec`;

// `collection:schematic` is code of another package, so only usual ones are known.
const generator: Program = { options: schematics, operands: 'package write?' };
const nxGenerators = 'js node react next angular nest vue web'
  .replace(/\w+/g, '@nx/$&:app|@nx/$&:lib|@nx/$&:library|@nx/$&:component')
  .replaceAll(' ', '|');

const buildTarget = `${help} --prod --configuration:text -c:text --watch --no-watch --verbose --skip-nx-cache --skipNxCache
  --parallel:text? --output-style:text --outputStyle:text --nxBail --nx-bail --exclude:text --projects:text -p:text -t:text --target:text
  --targets:text --all --base:text --head:text --files:text --uncommitted --untracked --graph:write? --batch --dry-run --fix
  --code-coverage --codeCoverage --browsers:text --output-path:write --base-href:text --port:text --host:text --open -o --ci --coverage
  --json --web --withTarget:text --affected --sep:text --type:text --progress --no-progress --source-map --aot --stats-json --hmr --no-hmr
  --test-file:text --testFile:text --include:text --quiet`;

const tests: Programs = {
  jest: { options: jestOptions, operands: 'directory*' },
  vitest: {
    options: vitestOptions,
    operands: 'directory*',
    subcommands: { 'run|watch|dev|related|bench|list|typecheck': { options: vitestOptions, operands: 'directory*' } },
  },
  ...each('mocha _mocha', {
    options: `-h --help -V --version -r:script --require:script --spec:script --config:script --package:script -R:script --reporter:script
      -O:package --reporter-option:package --reporter-options:package -g:text --grep:text -f:text --fgrep:text -i --invert -t:text --timeout:text
      -s:text --slow:text -b --bail -w --watch --watch-files:text --watch-ignore:text --exit --recursive -p --parallel -j:text --jobs:text
      --retries:text -c --color --colors --no-color -C -u:script --ui:script --file:script --extension:text --ignore:text --exclude:text
      --forbid-only --forbid-pending --check-leaks --full-trace -S --sort --allow-uncaught -A --async-only --delay --diff --no-diff
      --dry-run --fail-zero --inline-diffs --no-config --no-timeouts --pass-on-failing-test-suite --list-reporters --list-interfaces`,
    operands: 'directory*',
  }),
  ava: {
    options: `${help} -m:text --match:text -w --watch -s --serial --fail-fast -T:text --timeout:text -u --update-snapshots -t --tap
      --config:script -c:text --concurrency:text --no-worker-threads --color --no-color --node-arguments!code/injected`,
    operands: 'script*',
  },
  ...each('c8 nyc', {
    options: `${help} -r:script --reporter:script -o:write --reports-dir:write --report-dir:write -x:text --exclude:text -n:text
      --include:text --all -a --check-coverage --lines:text --functions:text --branches:text --statements:text --per-file --src:list
      --temp-directory:write --clean --no-clean --skip-full --silent -s --extension:text -e:text --cwd:directory --100`,
    operands: 'command',
    subcommands: {
      'report|check-coverage': {
        options: '-r:script --reporter:script -o:write --report-dir:write --temp-directory:write --lines:text --check-coverage',
      },
    },
    optionsFirst: true,
  }),
  playwright: {
    options: '-h --help -V --version',
    subcommands: {
      test: {
        options: `-h --help -c:script --config:script --headed --debug --ui --project:text -g:text --grep:text --grep-invert:text -j:text
          --workers:text --reporter:script --retries:text --repeat-each:text --timeout:text --global-timeout:text --max-failures:text -x
          --trace:text --output:write -u:text? --update-snapshots:text? --list --last-failed --only-changed:text? --shard:text
          --forbid-only --fully-parallel --no-deps --pass-with-no-tests --quiet --tsconfig:script --ignore-snapshots --browser:text
          --fail-on-flaky-tests --video:text`,
        operands: 'directory*',
      },
      install: { options: '-h --help --force --dry-run --list --only-shell --no-shell', operands: 'text*' },
      'show-report|show-trace': { options: '-h --help --port:text', operands: 'read?' },
      'merge-reports': { options: '-h --help --reporter:script -c:script --config:script', operands: 'read' },
      codegen: {
        options: '-h --help -o:write --output:write --target:text -b:text --browser:text --device:text --viewport-size:text',
        operands: 'url?',
      },
      screenshot: { options: '-h --help --full-page -b:text --browser:text --device:text --wait-for-timeout:text', operands: 'url write' },
      pdf: { options: '-h --help --wait-for-timeout:text', operands: 'url write' },
    },
  },
  cypress: {
    options: '-h --help -v --version',
    subcommands: {
      'run|open': {
        options: `-h --help -b:script --browser:script -s:directory --spec:directory --headless --headed -q --quiet --e2e --component -C:script
          --config-file:script -p:text --port:text -P:directory --project:directory --no-exit --reporter:script -o:text`,
      },
      'verify|info|version': { options: '-h --help' },
      cache: { subcommands: { 'list|path': { options: '--size' } } },
    },
  },
};

const checks: Programs = {
  ...each('eslint eslint_d', { options: eslintOptions, operands: 'write*' }),
  ...each('prettier prettierd', { options: prettierOptions, operands: 'write*' }),
  ...each('biome @biomejs/biome', biome),
  oxlint: {
    options: `${help} -V -c:script --config:script --fix --fix-suggestions --fix-dangerously -A:text --allow:text -W:text --warn:text
      -D:text --deny:text -f:text --format:text --quiet --deny-warnings --max-warnings:text --silent --threads:text --tsconfig:script
      --ignore-path:read --ignore-pattern:text --no-ignore --rules --init --print-config --type-aware --disable-nested-config
      --import-plugin --react-plugin --jsx-a11y-plugin --nextjs-plugin --jest-plugin --vitest-plugin --promise-plugin --node-plugin
      --vue-plugin`,
    operands: 'write*',
  },
  stylelint: {
    options: `${help} --fix:text? --config:script -c:script --config-basedir:script --custom-syntax:script --custom-formatter:script
      -f:text --formatter:text --ignore-path:read -i:read --ignore-pattern:text --cache --cache-location:write --cache-strategy:text
      --quiet -q --color --no-color --max-warnings:text --mw:text --stdin --stdin-filename:text --allow-empty-input --aei -o:write
      --output-file:write --print-config:read --report-needless-disables --rd --report-invalid-scope-disables
      --report-descriptionless-disables`,
    operands: 'write*',
  },
  ...each('standard xo ts-standard semistandard', {
    options: `${help} --fix --verbose --global:text --env:text --prettier --space:text? --quiet`,
    operands: 'write*',
  }),
  ...each(
    'knip depcheck madge ts-prune ts-unused-exports unimported publint attw dependency-cruiser depcruise cspell jscpd type-coverage npm-check',
    {
      options: `${help} -c:script --config:script --json --production --strict --include:text --exclude:text --reporter:script --no-progress
        --debug --dependencies --exports --files --cache --workspace:text --circular --orphans --extensions:text --ts-config:script
        --tsConfig:script --summary --ignores:text --no-summary --quiet --words-only --unique --gitignore --pack --detail --at-least:text
        -T:script --output-type:script --skip-unused --no-exit-code`,
      operands: 'read*',
    },
  ),
  ...each('ncu npm-check-updates', {
    options: `${help} -u --upgrade -t:text --target:text -f:text --filter:text -x:text --reject:text -i --interactive --dep:text -m
      --minimal --deep -w:text --workspace:text --workspaces --format:text --jsonUpgraded --peer -e:text --errorLevel:text -s --silent
      --packageFile:write`,
    operands: 'text*',
  }),
  ...each('commitlint', {
    options: `${help} -c -e:read? --edit:read? -f:text --from:text -t:text --to:text -g:script --config:script -x:script --extends:script
      -V --verbose -q --quiet -l --last -s --strict --from-last-tag --print-config:text?`,
  }),
  ...each('lint-staged', {
    options: `${help} -c:script --config:script -q --quiet -v --verbose -d --debug --allow-empty -p:text --concurrent:text -r --relative
      --diff:text --no-stash`,
  }),
  ...each('markdownlint markdownlint-cli2 markdownlint-cli', {
    options: `${help} -V -c:script --config:script -f --fix -i:text --ignore:text -p:read --ignore-path:read -o:write --output:write -q
      --quiet -j --json --enable:text --disable:text --dot -s --stdin --no-globs`,
    operands: 'write*',
  }),
  ...each('sort-package-json', { options: `${help} --check -c -q --quiet --ignore:text -i:text`, operands: 'write*' }),
};

const builders: Programs = {
  vite: {
    options: viteOptions,
    operands: 'directory?',
    subcommands: { 'build|dev|serve|preview|optimize': { options: viteOptions, operands: 'directory?' } },
  },
  ...each('webpack rollup tsup tsdown unbuild parcel rspack rsbuild microbundle', {
    options: bundlerOptions,
    operands: 'script*',
    subcommands: { 'build|b|watch|w|serve|s|dev|info|version|preview': { options: bundlerOptions, operands: 'script*' } },
  }),
  ...each('next nuxt nuxi astro svelte-kit react-router remix gatsby vitepress docusaurus vinxi', framework),
  'react-scripts': {
    options: help,
    subcommands: { 'start|build': { options: '--stats --profile' }, test: { options: jestOptions, operands: 'directory*' } },
  },
  'vue-cli-service': framework,
  'svelte-check': {
    options: `${help} --tsconfig:script --no-tsconfig --watch --threshold:text --output:text --fail-on-warnings --workspace:directory
      --ignore:text`,
  },
  'vue-tsc': {
    options: `${help} -b --build --noEmit --force -p:script --project:script --declaration --emitDeclarationOnly -w --watch --pretty
      --skipLibCheck`,
  },
  ...each('ng @angular/cli', {
    options: help,
    subcommands: {
      'build|b|test|t|serve|s|dev|lint|e2e|e|run|extract-i18n': { options: buildTarget, operands: 'text*' },
      'new|n|generate|g': generator,
      'version|v|help|update': { options: '--help', operands: 'text*' },
    },
  }),
  nest: {
    options: help,
    subcommands: {
      'build|start|info|i': {
        options: `${help} -w --watch -d --debug:text? -p:script --path:script -c:script --webpack --tsc -b:text`,
        operands: 'text*',
      },
      'generate|g|new|n': { options: schematics, operands: 'text text? write?' },
    },
  },
  turbo: {
    options: `${help} --filter:text -F:text --force --no-cache --dry-run:text? --dry:text? --graph:write? --concurrency:text
      --continue:text? --parallel --only --output-logs:text --log-order:text --log-prefix:text --verbosity:text --ui:text --no-color
      --color --cwd:directory --affected --summarize:text? --no-daemon --daemon --cache-dir:write --env-mode:text --global-deps:text
      --include-dependencies --profile:write --root-turbo-json:script --json`,
    operands: 'text+',
    subcommands: {
      'run|ls|query|info|bin|daemon|prune|scan|watch': {
        options: `${help} --filter:text -F:text --force --no-cache --dry-run:text? --dry:text? --graph:write? --concurrency:text
          --continue:text? --parallel --only --output-logs:text --log-order:text --log-prefix:text --verbosity:text --ui:text --affected
          --summarize:text? --no-daemon --cwd:directory --cache-dir:write --env-mode:text --out-dir:write --docker --json --output:text`,
        operands: 'text*',
      },
      'login|logout|link|unlink|telemetry': { asks: 'program/subcommand' },
      'gen|generate': { asks: 'code/unseen' },
    },
  },
  nx: {
    options: help,
    operands: 'text+',
    subcommands: {
      'run|run-many|affected|build|test|lint|serve|e2e|typecheck|start|dev|show|list|graph|dep-graph|report|reset|format:check|format:write|format|sync|sync:check|affected:build|affected:test|affected:lint|print-affected|daemon|watch':
        { options: buildTarget, operands: 'text*' },
      'generate|g': { ...generator, subcommands: { [nxGenerators]: { ...generator, operands: 'write?' } } },
      'exec|migrate|release|connect|login|logout|add|init|import|record|start-ci-run|repair|new': { asks: 'program/subcommand' },
    },
  },
  lerna: {
    options: help,
    subcommands: {
      'run|ls|list|la|ll|changed|updated|diff|bootstrap|link|info|clean': {
        options: `${help} --scope:text --ignore:text --since:text? --stream --parallel --concurrency:text --no-bail --no-prefix --sort
          --no-sort --json -a --all -l --long -p --parseable --graph --toposort --ndjson --hoist --ci --no-private --include-dependencies
          --include-dependents --skip-nx-cache --yes`,
        operands: 'text*',
      },
      'publish|version': { asks: 'packages/publish' },
      exec: {
        options: '--scope:text --ignore:text --since:text? --stream --parallel --concurrency:text --no-bail --no-prefix',
        operands: 'command',
        optionsFirst: true,
      },
    },
  },
  ...each('swc babel', {
    options: `${help} -V -o:write --out-file:write -d:write --out-dir:write -w --watch -s:text? --source-maps:text? --extensions:text
      -x:text --copy-files -D --config-file:script --env-name:text --presets:script --plugins:script --ignore:text --only:text --verbose
      --quiet --delete-dir-on-start --no-swcrc --minified --compact:text? --no-comments --no-babelrc --root-mode:text
      --strip-leading-paths`,
    operands: 'read*',
    subcommands: { compile: { options: '-o:write -d:write --out-dir:write --out-file:write --config-file:script -s', operands: 'read*' } },
  }),
  ...each('tailwindcss @tailwindcss/cli', {
    options: `${help} -i:read --input:read -o:write --output:write -w --watch:text? -m --minify -p --poll --content:text -c:script
      --config:script --postcss:script? --no-autoprefixer --optimize --cwd:directory`,
    operands: '',
    subcommands: {
      'init|build': { options: '-p --postcss --ts --esm -f --full -i:read -o:write -m --minify -c:script', operands: 'write?' },
    },
  }),
  sass: {
    options: `${help} -I:read --load-path:read -s:text --style:text --no-source-map --source-map --embed-sources --embed-source-map -w
      --watch --update -q --quiet --quiet-deps --no-charset --stop-on-error --no-error-css -c --color --no-color --stdin --indented
      --silence-deprecation:text --trace`,
    // `in:out` writes too: a script may have no colon.
    operands: 'script write?',
  },
  esbuild: {
    options: `${help} --bundle --outfile:write --outdir:write --minify --minify-whitespace --minify-syntax --minify-identifiers --sourcemap:text?
      --platform:text --format:text --target:text --splitting --watch:text? --tsconfig:script --metafile:write --analyze:text? --packages:text
      --jsx:text --jsx-import-source:text --keep-names --legal-comments:text --log-level:text --tree-shaking:text --charset:text --color:text
      --global-name:text --public-path:text --main-fields:text --conditions:text --allow-overwrite --outbase:read`,
    operands: 'read*',
  },
  expo: {
    options: help,
    subcommands: {
      'start|export|install|doctor|config|customize|lint|run:ios|run:android|prebuild': {
        options: `${help} --clear -c --port:text --web --ios --android -w -i -a --dev --no-dev --offline --fix --check --platform:text -p:text
          --output-dir:write --clean --no-install --tunnel!network/expose`,
        operands: 'package*',
      },
    },
  },
  ...each('storybook sb', {
    options: help,
    subcommands: {
      'dev|build|info|doctor': {
        options: `${viteOptions} -p:text --ci -s:directory --config-dir:script -o:write --output-dir:write --quiet --no-manager-cache
          --smoke-test --test --docs --disable-telemetry`,
      },
    },
  }),
  typedoc: {
    options: `${help} --out:write --json:write --options:script --tsconfig:script --entryPoints:read --entryPointStrategy:text --name:text
      --readme:read --exclude:text --watch --emit:text --plugin:script --theme:text`,
    operands: 'read*',
  },
};

export const javascriptTools: Programs = { ...tests, ...checks, ...builders };
