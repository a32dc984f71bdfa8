import { javascriptTools } from './javascript-tools.ts';
import { each, type Program, type Programs } from './program.ts';

const help = '-h --help -v --version';

const typescript: Program = {
  options: `-h --help -v --version --all -w --watch --init --showConfig --listFilesOnly -p:script --project:script -b --build --clean -d
    --dry -f --force --verbose --noEmit --pretty --strict --target:text -t:text --module:text -m:text --moduleResolution:text --lib:text
    --jsx:text --types:text --outDir:write --outFile:write --declarationDir:write --tsBuildInfoFile:write --rootDir:read --baseUrl:read
    --generateTrace:write --generateCpuProfile:write --typeRoots:read --declaration --emitDeclarationOnly --declarationMap --sourceMap
    --inlineSourceMap --inlineSources --removeComments --noEmitOnError --esModuleInterop --allowSyntheticDefaultImports --skipLibCheck
    --skipDefaultLibCheck --resolveJsonModule --isolatedModules --verbatimModuleSyntax --erasableSyntaxOnly --allowJs --checkJs
    --maxNodeModuleJsDepth:text --incremental --composite --noImplicitAny --strictNullChecks --strictFunctionTypes --strictBindCallApply
    --strictPropertyInitialization --noImplicitThis --alwaysStrict --useUnknownInCatchVariables --noUnusedLocals --noUnusedParameters
    --exactOptionalPropertyTypes --noImplicitReturns --noFallthroughCasesInSwitch --noUncheckedIndexedAccess --noImplicitOverride
    --noPropertyAccessFromIndexSignature --allowUnusedLabels --allowUnreachableCode --allowImportingTsExtensions
    --rewriteRelativeImportExtensions --customConditions:text --preserveSymlinks --preserveWatchOutput --noLib
    --forceConsistentCasingInFileNames --experimentalDecorators --emitDecoratorMetadata --useDefineForClassFields --downlevelIteration
    --importHelpers --jsxFactory:text --jsxImportSource:text --newLine:text --stripInternal --listFiles --listEmittedFiles --explainFiles
    --traceResolution --diagnostics --extendedDiagnostics --noErrorTruncation --locale:text --ignoreDeprecations:text
    --libReplacement:text --noCheck --noResolve --assumeChangesOnlyAffectDirectDependencies --stopBuildOnErrors --ignoreConfig
    --singleThreaded`,
  operands: 'script*',
};

const runner: Program = {
  options: `${help} --no-cache --tsconfig:script --env-file:script --inspect --inspect-brk --no-warnings --enable-source-maps -r:script
    --require:script --import:script --test -e:code --eval:code -p:code --print:code --conditions:text --clear-screen:text? --include:list
    --exclude:list --ignore:list`,
  operands: 'script text*',
  operandsWith: {
    '--test': 'script*',
    '-v': '',
    '--version': '',
    '-h': '',
    '--help': '',
    '-e': 'text*',
    '--eval': 'text*',
    '-p': 'text*',
    '--print': 'text*',
  },
  optionsFirst: true,
};

/** Starters of new projects: they make one directory. A template from an address is asked about. */
const starter: Program = {
  options: `${help} -y --yes --no -t:package --template:package --ts --typescript --js --javascript --tailwind --no-tailwind --eslint
    --no-eslint --biome --no-linter --app --no-app --src-dir --no-src-dir --turbopack --no-turbopack --turbo --no-turbo
    --import-alias:text --empty --use-npm --use-pnpm --use-yarn --use-bun --reset-preferences --skip-install --disable-git --no-git --git
    --no-install --install --force --overwrite --router --pinia --vitest --playwright --jsx --vue-router --default --interactive
    --no-interactive --typescript-strict --skip-houston --api --react-compiler --no-react-compiler --rolldown --no-rolldown -i --immediate
    --package-manager:text --pm:text`,
  operands: 'write?',
};

const starters = {
  ...each('create-react-app create-next-app create-vite create-vue create-astro create-svelte create-remix create-react-router', starter),
  ...each(
    'create-expo-app create-t3-app create-nuxt create-solid create-preact create-hono create-turbo create-vite-extra create-rsbuild',
    starter,
  ),
};

const database: Programs = {
  prisma: {
    options: help,
    subcommands: {
      'generate|format|validate|studio|version|init|debug|dev': {
        options: `${help} --schema:script --config:script --watch --generator:text --no-engine --no-hints --sql --allow-no-models
          --port:text -p:text --browser:text --check --json --datasource-provider:text --output:write`,
      },
      migrate: {
        subcommands: {
          'dev|status|diff|resolve': {
            options: `${help} --schema:script --config:script -n:text --name:text --create-only --skip-seed --skip-generate
              --from-schema-datamodel:read --to-schema-datamodel:read --from-schema-datasource:read --to-schema-datasource:read
              --from-migrations:read --to-migrations:read --from-empty --to-empty --script --exit-code -o:write --output:write
              --applied:text --rolled-back:text`,
          },
          reset: { asks: 'database/destroy' },
        },
      },
      db: {
        subcommands: {
          'pull|push|seed': {
            options: `${help} --schema:script --config:script --print --force --skip-generate --force-reset!database/destroy
              --accept-data-loss!database/destroy`,
          },
          execute: { asks: 'database/destroy' },
        },
      },
    },
  },
  ...each('sequelize sequelize-cli', {
    options: `${help} --env:text`,
    subcommands: {
      'db:migrate|db:migrate:status|db:create|db:seed|db:seed:all|migration:generate|migration:create|model:generate|model:create|seed:generate|init':
        {
          options: `${help} --env:text --name:text --attributes:text --seed:text --to:text --config:script --migrations-path:script
            --debug`,
        },
      'db:drop|db:migrate:undo|db:migrate:undo:all|db:seed:undo|db:seed:undo:all': { asks: 'database/destroy' },
    },
  }),
  knex: {
    options: `${help} --knexfile:script --env:text`,
    subcommands: {
      'migrate:latest|migrate:up|migrate:make|migrate:status|migrate:list|migrate:currentVersion|seed:make|init': {
        options: `${help} --knexfile:script --env:text -x:text --stub:read --migrations-directory:script`,
        operands: 'text*',
      },
      'migrate:rollback|migrate:down|migrate:unlock|seed:run': { asks: 'database/destroy' },
    },
  },
  ...each('typeorm typeorm-ts-node-commonjs typeorm-ts-node-esm', {
    options: help,
    subcommands: {
      'migration:run|migration:generate|migration:create|migration:show|schema:log|entity:create|subscriber:create|init|version': {
        options: `${help} -d:script --dataSource:script -n:text --name:text -p --pretty -o --outputJs --esm --check --dr --dryrun -t:text
          --transaction:text`,
        operands: 'write*',
      },
      'schema:drop|schema:sync|migration:revert|query|cache:clear': { asks: 'database/destroy' },
    },
  }),
  'drizzle-kit': {
    options: help,
    subcommands: {
      'generate|generate:pg|generate:sqlite|generate:mysql|check|migrate|studio|introspect|pull|export|up': {
        options: `${help} --config:script --name:text --custom --out:write --schema:script --dialect:text --port:text`,
      },
      'push|drop|push:pg|push:mysql|push:sqlite': { asks: 'database/destroy' },
    },
  },
};

const helpers: Programs = {
  'tsc-alias': { options: `${help} -p:script --project:script -w --watch --outDir:write -f --resolve-full-paths` },
  ...each('ts-node ts-node-esm', {
    options: `${help} -T --transpile-only -P:script --project:script --esm --files -r:script --require:script -e:code --eval:code -p:code
      --print:code --swc -B --typeCheck --pretty --skipProject --skip-project --prefer-ts-exts --log-error -H --compiler-host --cwd-mode
      --script-mode`,
    operands: 'script text*',
    operandsWith: {
      '-v': '',
      '--version': '',
      '-h': '',
      '--help': '',
      '-e': 'text*',
      '--eval': 'text*',
      '-p': 'text*',
      '--print': 'text*',
    },
    optionsFirst: true,
  }),
  nodemon: {
    options: `${help} -w:list --watch:list -e:text --ext:text -i:text --ignore:text -x:shell --exec:shell -V --verbose -q --quiet -d:text
      --delay:text -L --legacy-watch -C --on-change-only -I --no-stdin --signal:text --config:script --cwd:directory`,
    operands: 'script? text*',
    // What `--exec` runs gets the operands.
    operandsWith: { '-x': 'directory?', '--exec': 'directory?' },
  },
  concurrently: {
    options: `-h --help -V --version -k --kill-others --kill-others-on-fail -n:text --names:text -c:text --prefix-colors:text -p:text
      --prefix:text -r --raw -s:text --success:text --restart-tries:text --restart-after:text -g --group -m:text --max-processes:text
      --hide:text --no-color --timings -i --handle-input`,
    operands: 'shell*',
  },
  ...each('cross-env cross-env-shell', { operands: 'variable* command', optionsFirst: true }),
  ...each('npm-run-all npm-run-all2 run-s run-p', {
    options: `${help} -s -p -l -c -n --sequential --serial --parallel --continue-on-error --print-label --print-name --silent
      --max-parallel:text --race --aggregate-output`,
    operands: 'text*',
  }),
  'wait-on': {
    options: `${help} -t:text --timeout:text -i:text --interval:text -d:text --delay:text -l --log -r --reverse -s:text
      --simultaneous:text`,
    operands: 'text+',
  },
  rimraf: { options: `${help} --preserve-root -g --glob --no-glob -V --verbose`, operands: 'delete*' },
  del: { options: help, operands: 'delete*' },
  mkdirp: { options: `${help} -p --print -m:mode --mode:mode`, operands: 'write*' },
  shx: { operands: 'command', optionsFirst: true },
  'kill-port': { options: `${help} -p:text --port:text`, operands: 'text*' },
  ...each('serve http-server live-server', {
    options: `${help} -p:text -l:text --port:text --listen:text -s --single -c:text -o -a:text -g -b -d -i -e --cors --silent
      --no-clipboard --no-browser -L --no-request-logging -C --gzip --brotli --quiet --entry-file:text --spa`,
    operands: 'directory?',
  }),
  'json-server': {
    options: `${help} -p:text --port:text -w --watch -d:text --delay:text -H:text --host:text -q --quiet --routes:read -s:directory
      --static:directory`,
    operands: 'write',
  },
  degit: { options: `${help} -f --force -v --verbose --mode:text`, operands: 'text into?', brings: 'downloaded' },
  ...each('shadcn shadcn-ui', {
    options: help,
    subcommands: {
      'add|init|diff|info|view|search|build': {
        options: `${help} -y --yes -o --overwrite -c:directory --cwd:directory -a --all -s --silent -p:write --path:write -d --defaults -f
          --force -b:text --base-color:text --src-dir --no-src-dir --css-variables --no-css-variables -t:text --template:text`,
        operands: 'package*',
      },
    },
  }),
  'openapi-typescript': {
    options: `${help} -o:write --output:write --enum --immutable --alphabetize --export-type --check`,
    operands: 'read',
  },
  ...each('graphql-codegen graphql-code-generator', {
    options: `${help} -c:script --config:script -w --watch -s --silent --check --verbose -e --errors-only`,
  }),
  husky: { options: help, asks: 'persistence/git' },
  changeset: {
    options: help,
    operands: '',
    subcommands: {
      'add|status|version|init|pre': {
        options: '--empty --verbose --output:write --since:text --open --snapshot:text?',
        operands: 'text*',
      },
      publish: { asks: 'packages/publish' },
    },
  },
  ...each('semantic-release release-it np standard-version', { asks: 'packages/publish' }),
  ...each('localtunnel lt ngrok untun', { asks: 'network/expose' }),
  cowsay: { options: '-h -e:text -T:text -b -d -g -p -s -t -w -y -l', operands: 'text*' },
  ...each('size-limit license-checker npm-license-crawler', {
    options: `${help} --json --csv --summary --production --limit:text --why --out:write`,
    operands: '',
  }),
};

export const javascriptPrograms: Programs = {
  ...javascriptTools,
  ...starters,
  ...database,
  ...helpers,
  tsc: typescript,
  ...each('tsx esno', { ...runner, subcommands: { watch: runner } }),
};
