import { each, type Program, type Programs } from './program.ts';

/** `-` is standard input. */
const stdin: Programs = { '-': { operands: 'text*', asks: 'code/unseen', anyOption: true } };

// Code on the command line and code from standard input are asked about: the operand that names a script may not be missing.
// A `--version` alone needs no script.
// A shell takes what `-c` runs from a later word, wherever the letter stands: so only these words are known, not letters put together.
const inline = ['-c', '-lc', '-ec', '-xc', '-uc', '-ic', '-exc', '-xec', '-euc', '-uec', '-euxc', '-lec', '-lxc', '-lic', '-ilc', '-elc'];

const shell: Program = {
  options: `${inline.map((word) => `${word}:shell`).join(' ')} -o:text -eo:text -uo:text -xo:text -euo:text -exo:text -euxo:text -O:text -a -b -e -f -h -i -l
    -m -n -p -r -s!code/unseen -u -v -x -B -C -E -H -P -T -eu -ex -ux -xe -eux -exu -xeu -xv -vx -nv -li -il -le -lx --login --posix --norc --noprofile --noediting
    --restricted --verbose --pretty-print --version --help --rcfile:script --init-file:script`,
  operands: 'script text*',
  operandsWith: {
    '-n': 'read*',
    '-nv': 'read*',
    '--version': '',
    '--help': '',
    ...Object.fromEntries(inline.map((word) => [word, 'text*'])),
  },
  subcommands: stdin,
  words: true,
  optionsFirst: true,
};

const manageOptions = '-o:write --output:write --pythonpath:script --template:directory --testrunner:script';

/** Scripts that frameworks put into a workspace, by their dangerous parts. */
const manage: Program = {
  isFile: true,
  options: manageOptions,
  operands: 'text text*',
  anyOption: true,
  subcommands: {
    'test|startapp|startproject|dumpdata|collectstatic': { options: manageOptions, operands: 'directory*', anyOption: true },
    'flush|reset_db|sqlflush|reset_schema|delete_squashed_migrations|clear_database': { asks: 'database/destroy' },
    'shell|shell_plus|dbshell|runscript': { asks: 'code/inline' },
  },
};

const artisan: Program = {
  isFile: true,
  operands: 'text text*',
  anyOption: true,
  subcommands: {
    'migrate:fresh|migrate:refresh|migrate:reset|db:wipe|model:prune|queue:clear|queue:flush': { asks: 'database/destroy' },
    'tinker|db': { asks: 'code/inline' },
  },
};

const symfony: Program = {
  isFile: true,
  operands: 'text text*',
  anyOption: true,
  subcommands: {
    'doctrine:database:drop|doctrine:schema:drop|doctrine:fixtures:load|d:d:d|d:s:d|d:f:l': { asks: 'database/destroy' },
    'doctrine:query:sql|dbal:run-sql|doctrine:query:dql': { asks: 'database/destroy' },
    'secrets:reveal|secrets:decrypt-to-local': { asks: 'credentials/store' },
  },
};

const python: Program = {
  options: `-V --version -h --help --help-env --help-xoptions --help-all -u -B -O -s -S -E -I -q -v -b -d -x -P -R -W:text -X:text
    --check-hash-based-pycs:text -c:code -m:module`,
  operands: 'script text*',
  operandsWith: { '-c': 'text*', '-m': 'text*', '-V': '', '--version': '', '-h': '', '--help': '' },
  subcommands: {
    ...stdin,
    'manage.py|./manage.py': manage,
  },
  optionsFirst: true,
};

const node: Program = {
  options: `-v --version -h --help -c --check --test --watch --watch-path:list --watch-preserve-output -i!code/unseen -e:code --eval:code
    -p:code --print:code --run:text -C:text --conditions:text --input-type:text --experimental-default-type:text -r:script
    --require:script --import:script --loader:script --experimental-loader:script --env-file:script --env-file-if-exists:script
    --no-warnings --warnings --no-deprecation --throw-deprecation --pending-deprecation --trace-deprecation --trace-warnings
    --trace-uncaught --trace-exit --trace-sigint --trace-sync-io --trace-tls --disable-warning:text --unhandled-rejections:text
    --stack-trace-limit:text --stack-size:text --max-old-space-size:text --max-semi-space-size:text --max-heap-size:text
    --max-http-header-size:text --expose-gc --expose_gc --enable-source-maps --inspect --inspect-brk --inspect-wait --use-strict
    --preserve-symlinks --preserve-symlinks-main --title:text --trace-gc --track-heap-objects --zero-fill-buffers --v8-options
    --permission --experimental-permission --allow-fs-read:text --allow-fs-write:text --allow-child-process --allow-worker --allow-addons
    --openssl-legacy-provider --tls-min-v1.0 --tls-min-v1.1 --tls-min-v1.2 --tls-min-v1.3 --tls-max-v1.2 --tls-max-v1.3 --use-system-ca
    --use-bundled-ca --use-openssl-ca --dns-result-order:text --no-network-family-autoselection --network-family-autoselection --prof
    --cpu-prof --cpu-prof-dir:write --cpu-prof-name:write --cpu-prof-interval:text --heap-prof --heap-prof-dir:write --heap-prof-name:write
    --diagnostic-dir:write --report-on-fatalerror --report-uncaught-exception --report-dir:write --report-directory:write
    --heapsnapshot-signal:text --experimental-strip-types --no-experimental-strip-types --strip-types --no-strip-types
    --experimental-transform-types --experimental-vm-modules --experimental-json-modules --experimental-wasm-modules
    --experimental-import-meta-resolve --experimental-require-module --no-experimental-require-module --experimental-detect-module
    --experimental-sqlite --no-experimental-sqlite --experimental-websocket --experimental-webstorage --experimental-eventsource
    --experimental-fetch --no-experimental-fetch --experimental-global-webcrypto --experimental-worker --experimental-sea-config:read
    --experimental-test-coverage --experimental-test-module-mocks --experimental-test-snapshots --experimental-test-isolation:text
    --experimental-print-required-tla --experimental-network-inspection --localstorage-file:write --test-name-pattern:text
    --test-skip-pattern:text --test-only --test-reporter:script --test-reporter-destination:write --test-concurrency:text
    --test-timeout:text --test-force-exit --test-shard:text --test-isolation:text --test-update-snapshots --test-coverage-include:text
    --test-coverage-exclude:text --test-coverage-lines:text --test-coverage-branches:text --test-coverage-functions:text
    --test-global-setup:script --test-rerun-failures:write`,
  operands: 'script text*',
  operandsWith: {
    '--test': 'script*',
    '--run': 'text*',
    '-e': 'text*',
    '--eval': 'text*',
    '-p': 'text*',
    '--print': 'text*',
    '-v': '',
    '--version': '',
    '-h': '',
    '--help': '',
    '--v8-options': '',
    '--experimental-sea-config': '',
  },
  subcommands: stdin,
  optionsFirst: true,
};

/** Options of `php` that only print something. */
const phpShows = { '-v': '', '--version': '', '-m': '', '--modules': '', '--ini': '', '-h': '', '--help': '', '--rf': '', '--re': '' };

export const interpreterPrograms: Programs = {
  ...each('manage.py ./manage.py', manage),
  ...each('artisan ./artisan', artisan),
  ...each('bin/console ./bin/console', symfony),
  ...each('bash sh dash ash', shell),
  // Security: what they read as code is not all read so by bash: `*(e:'rm x':)` of zsh runs rm.
  ...each('zsh ksh mksh', { ...shell, options: `${shell.options ?? ''} ${inline.map((word) => `${word}:shell!code/unseen`).join(' ')}` }),
  fish: {
    options: `-c:code --command:code -C:code --init-command:code -n --no-execute -N --no-config -l --login -P --private -v --version -h
      --help`,
    operands: 'script text*',
    operandsWith: {
      '-n': 'read*',
      '--no-execute': 'read*',
      '-c': 'text*',
      '--command': 'text*',
      '-v': '',
      '--version': '',
      '-h': '',
      '--help': '',
    },
    optionsFirst: true,
  },
  ...each('python pypy', python),
  ipython: {
    options: '--version -h --help --no-banner --no-confirm-exit --pdb -c:code -m:module --colors:text --matplotlib:text? --pylab:text?',
    operands: 'script text*',
    operandsWith: { '-c': 'text*', '-m': 'text*', '--version': '', '-h': '', '--help': '' },
  },
  ...each('node nodejs', node),
  perl: {
    options: `-e:code -E:code -M:code -m:code -n -p -a -l -i -01234567 -F:text? -w -W -X -c -s -t -T -u -U -v -V -h -I:script -f -g
      -S!code/unseen -d!code/unseen -x!code/unseen`,
    operands: 'script text*',
    operandsWith: { '-e': 'write*', '-E': 'write*', '-v': '', '-V': '', '-h': '' },
    subcommands: stdin,
    optionsFirst: true,
  },
  ruby: {
    options: `-e:code -r:script -I:script -w -W -v --version -c -n -p -a -l -i -01234567 -F:text? -C:directory -U -s -d -h --help --yjit
      --jit --rjit --verbose --copyright --encoding:text --external-encoding:text --internal-encoding:text --enable:text --disable:text
      --disable-gems --enable-frozen-string-literal --disable-did_you_mean --parser:text`,
    operands: 'script text*',
    operandsWith: { '-e': 'write*', '--version': '', '-v': '', '-h': '', '--help': '', '--copyright': '' },
    subcommands: stdin,
    optionsFirst: true,
  },
  php: {
    options: `-r:code --run:code -B:code -R:code -E:code --process-begin:code --process-code:code --process-end:code -a!code/unseen
      -f:script --file:script -l --syntax-check -v --version -i --info -m --modules --ini -h --help -n -q -s -w -e -H -c:script -S:text
      --server:text -t:directory --docroot:directory --rf:text --rc:text --re:text --ri:text --rz:text`,
    operands: 'script text*',
    operandsWith: {
      '-r': 'text*',
      '--run': 'text*',
      '-f': 'text*',
      '--file': 'text*',
      '-S': 'script? text*',
      '--server': 'script? text*',
      '-i': '',
      '--info': '',
      '--rc': '',
      '--ri': '',
      ...phpShows,
    },
    subcommands: {
      ...stdin,
      'artisan|./artisan': artisan,
      'bin/console|./bin/console': symfony,
    },
    optionsFirst: true,
  },
  ...each('lua luajit', {
    options: '-e:code -l:script -v -W -E -i!code/unseen',
    operands: 'script text*',
    operandsWith: { '-e': 'text*', '-v': '' },
    subcommands: stdin,
    optionsFirst: true,
  }),
  luac: { options: '-l -p -s -v -o:write', operands: 'read*' },
  Rscript: {
    options: '-e:code --vanilla --no-save --no-restore --no-environ --no-site-file --no-init-file --slave --verbose --version --help',
    operands: 'script text*',
    operandsWith: { '-e': 'text*', '--version': '', '--help': '' },
    subcommands: stdin,
    words: true,
    optionsFirst: true,
  },
  R: {
    options: `-e:code -f:script --file:script --vanilla --no-save --no-restore --no-environ --no-site-file --no-init-file --no-echo
      --slave -q --quiet --silent --verbose --version --help`,
    asksWithout: ['-e -f --file --version --help', 'code/unseen'],
    words: true,
    subcommands: {
      CMD: {
        subcommands: {
          build: {
            options: `--force --keep-empty-dirs --no-build-vignettes --no-manual --resave-data:text? --md5 --compact-vignettes:text?
              --help --version`,
            operands: 'directory+',
          },
          check: {
            options: `--as-cran --no-manual --no-vignettes --no-build-vignettes --ignore-vignettes --no-tests --no-examples --no-codetools
              --run-donttest --run-dontrun --timings --use-valgrind --multiarch --no-multiarch --no-clean -o:write --output:write --help
              --version`,
            operands: 'script+',
          },
          INSTALL: {
            options: `--no-docs --no-html --no-test-load --with-keep.source --preclean --clean --debug -l:write --library:write --help
              --version`,
            operands: 'script+',
          },
          BATCH: {
            options: '--vanilla --no-save --no-restore --slave --no-timing --help --version',
            operands: 'script write?',
            optionsFirst: true,
          },
          'config|Rdconv|Rdiff': { options: '--all --cppflags --ldflags --help --version --type:text -t:text -o:write', operands: 'text*' },
        },
      },
    },
  },
  julia: {
    options: `-e:code -E:code --eval:code --print:code -L:script --load:script --project:script? -t:text --threads:text -v --version -h
      --help -q --quiet --banner:text --color:text --startup-file:text --history-file:text --depwarn:text --check-bounds:text
      --inline:text --compile:text --warn-overwrite:text --code-coverage:write? --track-allocation:text? --math-mode:text`,
    operands: 'script text*',
    operandsWith: {
      '-e': 'text*',
      '-E': 'text*',
      '--eval': 'text*',
      '--print': 'text*',
      '-v': '',
      '--version': '',
      '-h': '',
      '--help': '',
    },
    subcommands: stdin,
    optionsFirst: true,
  },
  elixir: {
    options: `-e:code --eval:code --rpc-eval!code/unseen -r:script --require:script -pr:script -pa:script -pz:script -v --version -h
      --help --short-version`,
    operands: 'script text*',
    operandsWith: { '-e': 'text*', '--eval': 'text*', '-v': '', '--version': '', '--short-version': '', '-h': '', '--help': '' },
    subcommands: stdin,
    words: true,
    optionsFirst: true,
  },
  escript: { operands: 'script text*', optionsFirst: true },
  ...each('tclsh wish', { operands: 'script text*', subcommands: stdin, optionsFirst: true }),
  expect: {
    options: '-c:code -f:script -v -d -n -N',
    operands: 'script text*',
    operandsWith: { '-c': 'text*', '-f': 'text*', '-v': '' },
  },
  ...each('guile racket', {
    options: '-c:code -e:code --version --help',
    operands: 'script text*',
    operandsWith: { '-c': 'text*', '-e': 'text*', '--version': '', '--help': '' },
    optionsFirst: true,
  }),
  groovy: {
    options: '-e:code -cp:script -classpath:script --classpath:script -v --version -h --help -d --debug -q --quiet',
    operands: 'script text*',
    operandsWith: { '-e': 'text*', '-v': '', '--version': '', '-h': '', '--help': '' },
    subcommands: stdin,
    words: true,
    optionsFirst: true,
  },
  ...each('pwsh powershell', {
    options: `-c:code -Command:code -EncodedCommand:code -e:code -File:script -f:script -NoProfile -NonInteractive -NoLogo --version -Help`,
    operands: 'text*',
    asksWithout: ['-File -f -c -Command --version -Help', 'code/unseen'],
    words: true,
    optionsFirst: true,
  }),
  ...each('osascript jshell irb iex ghci utop psysh pry bpython ptpython', { options: '--version --help', asks: 'code/unseen' }),
};
