import { each, type Programs } from './program.ts';

const help = '-h --help -v --version';

const beam: Programs = {
  mix: {
    options: '-h --help -v --version',
    operands: '',
    subcommands: {
      'test|compile|deps.get|deps.compile|deps.update|deps.tree|deps|deps.clean|deps.unlock|format|credo|dialyzer|phx.server|phx.routes|phx.gen.schema|phx.gen.context|phx.gen.html|phx.gen.json|phx.gen.live|phx.gen.auth|phx.digest|ecto.create|ecto.migrate|ecto.gen.migration|ecto.migrations|ecto.setup|help|clean|docs|coveralls|coveralls.html|sobelow|xref|hex.info|hex.outdated|hex.search|hex.audit|release|test.watch|assets.build|assets.deploy|assets.setup|setup|precommit|lint|check|gettext.extract|gettext.merge|loadconfig|app.tree':
        {
          options: `--help --force --all --only:text --exclude:text --include:text --trace --stale --failed --cover --seed:text
            --max-failures:text --max-cases:text --warnings-as-errors --no-deps-check --no-compile --no-start --check-formatted --dry-run
            --dot-formatter:script --strict --format:text --prod --overwrite --quiet --unused --check-unused --no-optional-deps
            --slowest:text --color --no-color --repeat-until-failure:text --partitions:text --no-archives-check --verbose -a --binary-id
            --web:text --no-live --live`,
          operands: 'directory*',
        },
      new: { options: '--app:text --module:text --sup --umbrella', operands: 'write' },
      'phx.new': {
        options: `--app:text --module:text --database:text --no-assets --no-html --no-ecto --no-mailer --no-dashboard --live --no-live
          --umbrella --install --no-install --binary-id --adapter:text`,
        operands: 'write',
      },
      'local.hex|local.rebar': { options: '--force --if-missing' },
      'ecto.drop|ecto.reset|ecto.rollback': { asks: 'database/destroy' },
      'hex.publish|hex.user|hex.organization|hex.owner|hex.retire': { asks: 'packages/publish' },
      'run|eval|do|cmd|archive.install|escript.install': { asks: 'code/unseen' },
    },
  },
  elixirc: {
    options: '-o:write -h --help -v --version --ignore-module-conflict --no-docs --no-debug-info --verbose --warnings-as-errors',
    operands: 'read*',
  },
  ...each('rebar3', {
    options: help,
    subcommands: {
      'compile|eunit|ct|dialyzer|xref|get-deps|deps|tree|clean|release|version|help|upgrade|unlock|fmt|lint|cover|edoc|escriptize|tar': {
        options: '-v --verbose --module:text --suite:text --case:text --dir:directory --cover -c --all --check -w --write',
        operands: 'text*',
      },
      new: { operands: 'text text' },
      hex: { asks: 'packages/publish' },
    },
  }),
  erlc: { options: '-o:write -I:read -W -Wall -v -help +debug_info', operands: 'read*', words: true },
  gleam: {
    options: help,
    subcommands: {
      'build|check|test|run|format|deps|add|remove|update|clean|new|docs|fix': {
        options: `-h --help --target:text -t:text --runtime:text --check --stdin -m:text --module:text --dev --name:text --template:text
          --skip-git`,
        operands: 'directory*',
      },
      'publish|hex|shell|export': { asks: 'packages/publish' },
    },
  },
};

const functional: Programs = {
  ghc: {
    options: `--version -V --numeric-version --info --help -? -o:write -odir:write -hidir:write -outputdir:write -dynamic -static
      -threaded -debug -prof -O -O0 -O1 -O2 -W -Wall -Wextra -Werror -Wcompat -w -v -v0 -v1 --make -M -c -S -i:script? -j:text?
      -package:text -X:text? -fforce-recomp -fno-code -fwarn-incomplete-patterns -rtsopts -with-rtsopts:text? -hide-package:text
      -main-is:text -no-link -l:text? -L:read? -I:read? -D:text? -cpp -Wno:text? -Wunused:text? -Wincomplete:text? -e:code
      --interactive!code/unseen`,
    operands: 'script*',
    words: true,
  },
  ...each('runghc runhaskell', {
    options: '--help --version -i:script? -X:text?',
    operands: 'script text*',
    operandsWith: { '--help': '', '--version': '' },
    words: true,
    optionsFirst: true,
  }),
  cabal: {
    options: `-h --help -V --version --numeric-version -v:text? --verbose:text?`,
    subcommands: {
      'build|v2-build|test|v2-test|bench|run|v2-run|check|clean|configure|freeze|haddock|list|info|outdated|gen-bounds|update|sdist|init|list-bin|path|install|format|unpack|get':
        {
          options: `-h --help -v:text? --verbose:text? -j:text? --jobs:text? --enable-tests --disable-tests --enable-benchmarks
            --enable-coverage --enable-profiling --disable-optimization -O:text? -f:text --flags:text --only-dependencies
            --dependencies-only --dry-run --keep-going --test-show-details:text --test-option:text --test-options:text --builddir:write
            --project-file:script --overwrite-policy:text --installdir:write --install-method:text --lib --minimal -n --non-interactive -i
            --interactive --exe --libandexe -p:text --package-name:text --allow-newer:text? --offline --ghc -l`,
          operands: 'directory*',
        },
      'exec|v2-exec': { operands: 'command', optionsFirst: true },
      'repl|upload|report|user-config|script|v2-repl': { asks: 'program/subcommand' },
    },
  },
  stack: {
    options: `--help --version --numeric-version -v --verbose --silent --stack-yaml:script --resolver:package --snapshot:package --no-terminal
      --color:text --system-ghc --no-install-ghc --install-ghc -j:text --jobs:text --allow-different-user --work-dir:write`,
    subcommands: {
      'build|test|bench|haddock|clean|purge|path|list|ls|unpack|init|setup|update|dot|sdist|hpc|query|templates|install|run': {
        options: `--help --fast --pedantic --file-watch --test --no-test --bench --haddock --no-haddock-deps --coverage --dry-run
            --only-dependencies --only-snapshot --flag:text --ghc-options:flags --ta:text --test-arguments:text --trace --profile
            --force-dirty --keep-going --no-run-tests --copy-bins --local-bin-path:write --local-install-root --snapshot-install-root
            --force --bare --full`,
        operands: 'directory*',
      },
      new: { options: '--help --bare --force --init --omit-packages', operands: 'write package?' },
      exec: { options: '--cwd:directory --no-ghc-package-path', operands: 'command', optionsFirst: true },
      runghc: { operands: 'script text*', optionsFirst: true },
      'upload|eval|ghci|repl|script|upgrade|config': { asks: 'program/subcommand' },
    },
  },
  ...each('hlint ormolu fourmolu stylish-haskell brittany hindent', {
    options: `${help} -m:text --mode:text -i --inplace -c:script --config:script -r --recursive --check-idempotence -o:text --ghc-opt:text
      -q --unsafe --no-cabal --refactor --json --hint:script --ignore:text -XHaskell2010:text? --color:text? -j:text?`,
    operands: 'write*',
  }),
  ocaml: {
    options: '-version --version -vnum -help --help -I:script -w:text -e:code',
    operands: 'script text*',
    operandsWith: { '-version': '', '--version': '', '-vnum': '', '-help': '', '--help': '', '-e': 'text*' },
    words: true,
    optionsFirst: true,
  },
  ...each('ocamlc ocamlopt ocamlfind', {
    options: '-version -help -o:write -I:read -c -a -g -linkpkg -package:text -w:text -thread -i -dtypedtree -O3 -unsafe',
    operands: 'read*',
    words: true,
    subcommands: {
      'list|query': { options: '-format:text', operands: 'text*', words: true },
      'ocamlc|ocamlopt': { options: '-o:write -I:read -c -a -g -linkpkg -package:text -w:text -thread -i', operands: 'read*', words: true },
    },
  }),
  dune: {
    options: '--help --version',
    subcommands: {
      'build|test|runtest|clean|fmt|format-dune-file|describe|external-lib-deps|promote|install|init|subst|coq|show|promotion': {
        options: `-w --watch -j:text --root:directory --profile:text --release -p:text --display:text --auto-promote --force -f --verbose
          --only-packages:text --no-buffer --ignore-promoted-rules --prefix:write --always-show-command-line --help`,
        operands: 'directory*',
      },
      'exec|exe': {
        options: '-w --watch --root:directory --profile:text --no-build --display:text',
        operands: 'command',
        optionsFirst: true,
      },
      'utop|toplevel|pkg|cache|rpc': { asks: 'program/subcommand' },
    },
  },
  ...each('opam', {
    options: '--version --help',
    subcommands: {
      'list|show|search|info|env|var|lint|install|update|tree|why': {
        options: `--help -y --yes --deps-only --with-test --with-doc --with-dev-setup -j:text --jobs:text --installed -i -a --switch:text
          --dry-run -f:text --locked --shell:text`,
        operands: 'package*',
      },
      exec: { options: '--switch:text', operands: 'command', optionsFirst: true },
      'remove|uninstall': { asks: 'packages/remove' },
    },
  }),
  ocamlformat: {
    options: `--help --version -i --inplace --check -o:write --enable-outside-detected-project --impl --intf --name:text -p:text
      --profile:text -m:text`,
    operands: 'write*',
  },
};

/** Elixir, Erlang, Haskell and OCaml. */
export const functionalPrograms: Programs = { ...beam, ...functional };
