import { each, type Program, type Programs } from './program.ts';

// Left out: `--config`, which names linkers and runners, `-Z`, other registries, git and paths outside.
const cargoCommon = `-h --help -v -vv --verbose -q --quiet --color:text --frozen --locked --offline -C:directory --manifest-path:script
  --lockfile-path:write`;

const features = '-F:text --features:text --all-features --no-default-features -p:text --package:text --workspace --all --exclude:text';

const targets = `--lib --bins --bin:text --examples --example:text --tests --test:text --benches --bench:text --all-targets --doc`;

const cargoBuild = `${cargoCommon} ${features} ${targets} -r --release --profile:text -j:text --jobs:text --keep-going --target:text
  --target-dir:write --message-format:text --timings:text? --ignore-rust-version --future-incompat-report --unit-graph --build-plan
  --artifact-dir:write --out-dir:write`;

const fix = '--fix --allow-dirty --allow-staged --allow-no-vcs --broken-code --edition --edition-idioms --no-deps';

const cargoSubcommands: Programs = {
  'build|b|check|c|rustdoc': { options: cargoBuild },
  'doc|d': { options: `${cargoBuild} --open --no-deps --document-private-items` },
  'test|t|bench': { options: `${cargoBuild} --no-run --no-fail-fast`, operands: 'text*' },
  'run|r': { options: cargoBuild, operands: 'text*', optionsFirst: true },
  // Behind `--` stand options of the compiler.
  'clippy|fix': { options: `${cargoBuild} ${fix}`, operands: 'flags*' },
  rustc: { options: `${cargoBuild} --print:text --crate-type:text` },
  fmt: { options: `${cargoCommon} --check --all -p:text --package:text --message-format:text`, operands: 'write*' },
  clean: {
    options: `${cargoCommon} -p:text --package:text -r --release --profile:text --target:text --target-dir:delete --doc -n --dry-run`,
  },
  'add|remove|rm': {
    options: `${cargoCommon} -F:text --features:text --no-default-features --default-features --optional --no-optional --rename:text --dev
      -D --build -B --target:text -p:text --package:text -n --dry-run --path:script --public --no-public --ignore-rust-version`,
    operands: 'package*',
  },
  'update|upgrade': {
    options: `${cargoCommon} -p:text --package:text --precise:text --recursive --aggressive -w --workspace -n --dry-run --breaking
      --incompatible --compatible --ignore-rust-version -i --exclude:text --pinned`,
    operands: 'text*',
  },
  'fetch|generate-lockfile|tree|metadata|pkgid|locate-project|verify-project|read-manifest|version|help|report|info|search': {
    options: `${cargoCommon} ${features} --target:text -e:text --edges:text -i:text --invert:text --prune:text --depth:text --prefix:text
      --no-dedupe -d --duplicates --charset:text -f:text --format:text --format-version:text --no-deps --filter-platform:text
      --message-format:text --limit:text --list --ignore-rust-version`,
    operands: 'text*',
  },
  'new|init': { options: `${cargoCommon} --bin --lib --name:text --edition:text --vcs:text`, operands: 'write?' },
  install: {
    options: `${cargoCommon} --version:text --vers:text --path:script --root:write -f --force --no-track -F:text --features:text
      --all-features --no-default-features --bin:text --bins --example:text --examples -j:text --jobs:text --debug --profile:text
      --target:text --target-dir:write --list --keep-going --no-binstall -n --dry-run`,
    operands: 'package*',
  },
  package: { options: `${cargoBuild} -l --list --no-verify --no-metadata --allow-dirty --exclude-lockfile` },
  vendor: { options: `${cargoCommon} --no-delete --respect-source-config --versioned-dirs -s:script --sync:script`, operands: 'delete?' },
  uninstall: { asks: 'packages/remove' },
  'publish|yank|owner|login|logout|release': { asks: 'packages/publish' },
  nextest: {
    subcommands: {
      'run|list|show-config': {
        options: `${cargoBuild} --no-run --no-fail-fast --fail-fast --max-fail:text --retries:text -E:text --filterset:text
          --filter-expr:text --run-ignored:text --no-capture --nocapture --test-threads:text --status-level:text --final-status-level:text
          -P:text --partition:text --failure-output:text --success-output:text --no-tests:text --cargo-profile:text --cargo-quiet -T:text
          --stress-count:text`,
        operands: 'text*',
      },
    },
  },
  'audit|deny|outdated|udeps|machete|bloat|geiger|semver-checks|sort|msrv|license|modules|llvm-lines|asm|expand|hack|insta|spellcheck|tarpaulin|llvm-cov|mutants|criterion':
    {
      options: `${cargoBuild} --json -R --root-deps-only --depth:text -x:text --all-features --each-feature --feature-powerset
        --clean-per-run --out:text --output-dir:write --lcov --html --output-path:write --open --summary-only --text
        --fail-under-lines:text --ignore-filename-regex:text --crates -n:text --skip-clean --engine:text --exclude-files:text
        --timeout:text --deny:text --ignore:text -w --grouped --review --accept --test-runner:text --nocapture --file:text -f:text`,
      operands: 'directory*',
    },
  watch: {
    options: `-q --quiet -c --clear -w:list --watch:list -i:text --ignore:text -d:text --delay:text --why --no-restart -s:shell
      --shell:shell --poll`,
    operands: 'command',
    optionsFirst: true,
  },
  make: {
    options: `-h --help --makefile:script -p:text --profile:text -l:text --loglevel:text --list-all-steps --list-category-steps -v
      --no-workspace --quiet --silent --time-summary`,
    operands: 'text*',
  },
  miri: { subcommands: { 'test|run|setup|nextest': { options: cargoBuild, operands: 'text*', optionsFirst: true } } },
  xtask: { operands: 'text*', optionsFirst: true },
  binstall: { options: `${cargoCommon} -y --no-confirm --force --version:text --dry-run`, operands: 'package*' },
  'set-version': { options: `${cargoCommon} --bump:text -p:text --workspace -n --dry-run --metadata:text`, operands: 'text?' },
};

const cargo: Program = {
  options: `${cargoCommon} -V --version --list --explain:text`,
  operands: '',
  subcommands: {
    ...cargoSubcommands,
    // The toolchain to use.
    '+stable|+nightly|+beta': { options: `${cargoCommon} -V --version`, operands: '', subcommands: cargoSubcommands },
  },
};

const rust: Programs = {
  cargo,
  rustc: {
    options: `+stable +nightly +beta -h --help -V --version -v --verbose --explain:text --crate-name:text --crate-type:text --edition:text
      --emit:package --print:package -g -O -o:write --out-dir:write --target:text --test --cfg:text --check-cfg:text -l:text -W:text --warn:text -A:text
      --allow:text -D:text --deny:text -F:text --forbid:text --cap-lints:text --color:text --error-format:text --json:text
      --diagnostic-width:text -L:package --extern:package --remap-path-prefix:text`,
    // No `@file`, which holds options, no standard input and no toolchain by its path.
    operands: 'script*',
  },
  rustfmt: {
    options: `-h --help -V --version --check --edition:text --emit:text --backup -l --files-with-diff --config-path:read --config:text
      --color:text --style-edition:text --print-config:text -v --verbose -q --quiet --unstable-features --skip-children --file-lines:text`,
    operands: 'write*',
  },
  rustdoc: {
    options: `-h --help -V --version -o:write --output:write --out-dir:write --crate-name:text --edition:text --test -L:package
      --extern:package --document-private-items`,
    operands: 'script*',
  },
  rustup: {
    options: '-h --help -V --version -v --verbose -q --quiet',
    subcommands: {
      'show|check|which|doc|help|completions': {
        options: '-h --help -v --verbose --toolchain:package --path --std --book',
        operands: 'text*',
      },
      update: { options: '-h --help --no-self-update --force', operands: 'text*' },
      'component|target': {
        subcommands: { 'add|list': { options: '--toolchain:text --installed -q', operands: 'text*' }, remove: { asks: 'packages/remove' } },
      },
      toolchain: {
        subcommands: {
          list: { options: '-v -q' },
          install: { options: '--profile:text -c:text --component:text -t:text --target:text --no-self-update', operands: 'text+' },
          'uninstall|link': { asks: 'packages/remove' },
        },
      },
      override: { subcommands: { 'list|set': { options: '', operands: 'package?' } } },
      run: { options: '--install', operands: 'package command', optionsFirst: true },
      'default|self|set': { asks: 'system/settings' },
    },
  },
  'wasm-pack': {
    options: '-h --help -V --version -q -v',
    subcommands: {
      'build|test': {
        options: `-h --help -t:text --target:text --dev --release --debug --profiling --out-dir:write -d:write --out-name:text
          --scope:text --no-typescript --no-pack --node --chrome --firefox --headless --safari`,
        operands: 'directory? text*',
      },
      'publish|login': { asks: 'packages/publish' },
    },
  },
  trunk: {
    options: '-h --help -V --version',
    subcommands: {
      'build|serve|watch|clean': {
        options: `-h --help --release --open -p:text --port:text -d:write --dist:write --public-url:text --features:text --config:script`,
        operands: 'read?',
      },
    },
  },
  mdbook: {
    options: '-h --help -V --version',
    subcommands: {
      'build|serve|watch|test|clean|init': {
        options: `-h --help -d:write --dest-dir:write -o --open -p:text --port:text -n:text --hostname:text --theme --title:text
          --ignore:text --force -c:text`,
        operands: 'directory?',
      },
    },
  },
  ...each('sqlx diesel sea-orm-cli', {
    options: '-h --help -V --version',
    subcommands: {
      'migrate|migration': {
        subcommands: {
          'add|run|info|generate|list|pending|status|up': {
            options: '-h --help -r -s --source:script --dry-run --migration-dir:script',
            operands: 'text*',
          },
          'revert|redo|down|fresh|refresh|reset': { asks: 'database/destroy' },
        },
      },
      prepare: { options: '--check --workspace --all', operands: 'flags*' },
      'setup|print-schema|generate': { operands: 'text*' },
      database: { subcommands: { 'create|setup': { options: '--source:script' }, 'drop|reset': { asks: 'database/destroy' } } },
    },
  }),
};

const goBuild = `-h -v -x -n -a -p:text -race -msan -asan -cover -covermode:text -coverpkg:text -work -buildmode:text -buildvcs:text
  -compiler:text -mod:text -modfile:script -tags:text -trimpath -asmflags:package -gcflags:flags -ldflags:flags -installsuffix:text
  -linkshared -pgo:text -json -o:write -C:directory`;

const goTest = `${goBuild} -run:text -bench:text -benchmem -benchtime:text -count:text -cpu:text -cpuprofile:write -memprofile:write
  -blockprofile:write -mutexprofile:write -trace:write -coverprofile:write -outputdir:write -failfast -fullpath -fuzz:text -fuzztime:text
  -fuzzminimizetime:text -list:text -parallel:text -short -shuffle:text -skip:text -timeout:text -vet:text -c -args -update --run:text --short
  --count:text --race`;

const go: Program = {
  options: '-h --help -C:directory',
  operands: '',
  words: true,
  subcommands: {
    'build|vet|list|fix|clean|doc': {
      options: `${goBuild} -m -u -f:text -deps -find -export -test -e -versions -compiled -retracted -reuse:read -all -c -cmd -short -src
        -i -r -cache -testcache -modcache -fuzzcache -http -printf -copylocks`,
      operands: 'directory*',
      words: true,
    },
    test: { options: goTest, operands: 'directory*', words: true },
    run: { options: goBuild, operands: 'script text*', words: true, optionsFirst: true },
    'fmt|generate': { options: '-n -x -v -mod:text -run:text -skip:text -tags:text', operands: 'write*', words: true },
    'install|get': { options: `${goBuild} -u -t -d -tool -u=patch`, operands: 'directory*', words: true },
    mod: {
      subcommands: {
        'tidy|download|vendor|verify|graph|why|init': {
          options: '-v -x -e -go:text -compat:text -json -reuse:read -o:write -m -vendor -diff',
          operands: 'text*',
          words: true,
        },
        edit: {
          options: `-fmt -json -print -module:text -go:text -toolchain:text -require:text -droprequire:text -exclude:text
            -dropexclude:text -retract:text -dropreplace:text`,
          operands: 'write?',
          words: true,
        },
      },
    },
    work: {
      subcommands: {
        'init|use|sync|vendor|edit': {
          options: '-r -json -print -fmt -use:directory -dropuse:text -go:text',
          operands: 'directory*',
          words: true,
        },
      },
    },
    env: { options: '-json -changed -w!system/settings -u!system/settings', operands: 'text*', words: true },
    'version|help|bug': { options: '-m -v', operands: 'text*', words: true },
    tool: {
      options: '-n',
      words: true,
      subcommands: {
        'cover|nm|objdump|pprof|trace|test2json|buildid|addr2line|dist|vet|fix': {
          options: `-func:read -html:read -o:write -mode:text -top -text -list:text -cum -flat -nodecount:text -sort:text -size -type -n
            -s:text -S -gnu -p:text -t -peek:text -svg -png -output:write -sample_index:text -alloc_space -inuse_space -alloc_objects
            -inuse_objects -lines -functions`,
          operands: 'read*',
          words: true,
        },
      },
    },
  },
};

const golang: Programs = {
  go,
  ...each('gofmt gofumpt goimports golines gci', {
    options: `-l -w -d -e -s -r:text -local:text -srcdir:text -m:text -extra -lang:text -modpath:text -format-only -v -version --version
      -h --help --max-len:text -cpuprofile:write`,
    operands: 'write*',
    words: true,
    subcommands: { 'write|print|diff|list': { options: '-s:text --section:text --skip-generated --custom-order', operands: 'write*' } },
  }),
  'golangci-lint': {
    options: '-h --help --version -v --verbose --color:text',
    subcommands: {
      'run|fmt': {
        options: `-h --help -v --verbose -c:script --config:script --no-config --fix -E:text --enable:text -D:text --disable:text
          --enable-all --disable-all --enable-only:text --fast --fast-only --default:text -p:text --presets:text --timeout:text
          --deadline:text -j:text --concurrency:text --build-tags:text --tests:text? --issues-exit-code:text --modules-download-mode:text
          --out-format:script --output.text.path:write --output.json.path:write --print-issued-lines:text? --print-linter-name:text? --new
          --new-from-rev:text --new-from-merge-base:text --whole-files --max-issues-per-linter:text --max-same-issues:text
          --skip-dirs:text --skip-files:text --exclude:text -e:text --color:text --show-stats --allow-parallel-runners
          --allow-serial-runners --path-prefix:text --diff -d`,
        operands: 'write*',
      },
      'linters|formatters|config|cache|version|help|migrate|completion': {
        options: '-h --help -c:script --config:script --json --format:text --short',
        operands: 'text*',
      },
    },
  },
  ...each(
    'staticcheck revive errcheck ineffassign misspell gocyclo gosec govulncheck nilaway deadcode gocritic go-critic shadow unparam unused',
    {
      options: `-h --help -version --version -v -checks:text -f:text -tests:text? -tags:text -go:text -explain:text -show-ignored
        -config:script -formatter:text -set_exit_status -exclude:text -over:text -top:text -avg -ignore:text -fmt:text -out:write -quiet
        -severity:text -confidence:text -include:text -no-fail -exclude-dir:text -mode:text -show:text -json -test -w -error -locale:text
        -blank -asserts -abspath`,
      operands: 'write*',
      words: true,
    },
  ),
  gotestsum: {
    options: `-h --help --version -f:text --format:text --junitfile:write --jsonfile:write --rerun-fails:text? --packages:text
      --no-summary:text? --hide-summary:text --watch --format-hide-empty-pkg --format-icons:text --max-fails:text --no-color --debug`,
    operands: 'flags*',
  },
  air: { options: '-h -v -d -c:script', operands: '', subcommands: { init: { operands: '' } } },
  ...each('mockgen stringer wire swag sqlc buf mockery templ ent oapi-codegen gqlgen', {
    options: `-h --help -v --version -source:read -destination:write -package:text -type:text -output:write -o:write -g:read -d:directory
      -generate:text -config:script -f:script --file:script --config:script --error-format:text -trimprefix:text -linecomment -w -watch
      --parseDependency --parseInternal --path:directory`,
    operands: 'read*',
    words: true,
    subcommands: {
      'init|generate|gen|fmt|lint|format|build|breaking|compile|vet|diff|verify|check|version|help|dep': {
        options: `-h --help -f:script --file:script -g:read --generalInfo:read -o:write --output:write -d:directory --dir:directory -w
          --write --diff --path:text --template:script --against:text --config:script --parseDependency --parseInternal -watch -v`,
        operands: 'write*',
        words: true,
      },
      'push|login|registry|logout': { asks: 'packages/publish' },
    },
  }),
  ...each('dlv', { asks: 'code/unseen' }),
  goreleaser: {
    options: '-h --help -v --version',
    subcommands: {
      'check|healthcheck|init': { options: '-h --help -f:script --config:script -q' },
      build: {
        options: '-h --help -f:script --config:script --snapshot --clean --single-target --skip:text -o:write --output:write --id:text',
      },
      release: { asks: 'packages/publish' },
    },
  },
};

export const rustGoPrograms: Programs = { ...rust, ...golang };
