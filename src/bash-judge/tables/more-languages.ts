import { functionalPrograms } from './functional.ts';
import { each, type Programs } from './program.ts';
import { rubyPhpPrograms } from './ruby-php.ts';

const help = '-h --help -v --version';

const system: Programs = {
  zig: {
    options: '-h --help',
    subcommands: {
      build: {
        options: `-h --help -l --list-steps -D:package? -O:text --release:text? --summary:text -j:text? --prefix:write -p:write --verbose
          --fetch --watch --color:text -fincremental --build-file:script --cache-dir:write --global-cache-dir:write
          -freference-trace:text? --prominent-compile-errors`,
        operands: 'text*',
        words: true,
      },
      run: {
        options: '-O:text -target:text -mcpu:text -lc -l:text? -I:read? --name:text -freference-trace:text? -fno-strip -fstrip -D:text?',
        operands: 'script text*',
        words: true,
      },
      'test|build-exe|build-lib|build-obj|ast-check|translate-c': {
        options: `-O:text -target:text -mcpu:text -lc -l:text? -L:read? -I:read? -femit-bin:write -fno-emit-bin --name:text
          --test-filter:text -dynamic -static -fstrip -fsingle-threaded -D:text? --color:text -ofmt:text`,
        operands: 'read*',
        words: true,
      },
      fmt: { options: '--check --ast-check --stdin --exclude:text --color:text', operands: 'write*', words: true },
      'cc|c++': {
        options: `-o:write -c -S -E -g -O:text? -W:text? -Wl,:text?!code/injected -std:text? -I:read? -L:read? -l:text? -D:text?
          -target:text -shared -static -fPIC`,
        operands: 'script*',
        words: true,
      },
      'version|zen|targets|env|help|std|libc': { operands: 'text*' },
      init: { options: '-m --minimal' },
      'init-exe|init-lib': {},
      fetch: { asks: 'packages/install' },
    },
  },
  swift: {
    options: '--version -version --help -h',
    operands: 'script text*',
    operandsWith: { '--version': '', '-version': '', '--help': '', '-h': '' },
    optionsFirst: true,
    words: true,
    subcommands: {
      '-': { asks: 'code/unseen' },
      package: {
        options: '--package-path:directory -v --verbose',
        words: true,
        subcommands: {
          'resolve|update|describe|dump-package|show-dependencies|clean|reset|init|tools-version|show-executables': {
            options: '--type:text --name:text --format:text --package-path:directory --dry-run -n --verbose',
            operands: 'text*',
            words: true,
          },
        },
      },
      'build|test|run|format|docc': {
        options: `-c:text --configuration:text -v --verbose -vv -q --quiet --product:text --target:text --package-path:directory
          --scratch-path:write --build-path:write --filter:text --skip:text --list-tests -l --parallel --no-parallel --num-workers:text
          --enable-code-coverage --show-codecov-path --show-bin-path --static-swift-stdlib --skip-build --skip-update -j:text --jobs:text
          --xunit-output:write --sanitize:text --arch:text --type:text --name:text -i --in-place -r --recursive -p --strict -s
          --configuration-file:read --disable-sandbox!code/injected --disable-automatic-resolution`,
        operands: 'directory*',
        words: true,
        subcommands: {
          'lint|format': {
            options: '-i --in-place -r --recursive -p --parallel -s --strict --configuration:read',
            operands: 'write*',
            words: true,
          },
        },
      },
      'repl|package-registry|sdk|experimental-sdk': { asks: 'program/subcommand' },
    },
  },
  swiftc: {
    options: `-o:write -O -Onone -Osize -g -c -v -version --version -help -h -emit-library -emit-module -emit-executable -module-name:text
      -I:read -L:read -l:text? -D:text -target:text -sdk:read -parse-as-library -swift-version:text -whole-module-optimization -wmo
      -typecheck -parse -framework:text -load:text?!code/injected`,
    operands: 'script*',
    words: true,
  },
  ...each('swiftlint swiftformat', {
    options: `${help} --fix --strict --quiet --config:read --reporter:text --lint --dryrun --verbose --swiftversion:text --path:read
      --cache-path:write --no-cache --exclude:text --disable:text --enable:text --rules:text`,
    operands: 'write*',
    subcommands: {
      'lint|analyze|rules|version|autocorrect': {
        options: '--fix --strict --quiet --config:read --reporter:text --path:read --no-cache',
        operands: 'write*',
      },
    },
  }),
  xcodebuild: {
    options: `-list -showsdks -version -help -showBuildSettings -showdestinations -scheme:text -project:script -workspace:script
      -configuration:text -sdk:text -destination:text -target:text -derivedDataPath:write -json -quiet -resultBundlePath:write
      -only-testing:text -skip-testing:text -parallel-testing-enabled:text -enableCodeCoverage:text -testPlan:text -skipMacroValidation
      -resolvePackageDependencies -alltargets -arch:text`,
    // Actions, and settings such as `CODE_SIGNING_ALLOWED=NO`.
    operands: 'package*',
    words: true,
  },
  ...each('xcrun', {
    options: '--version --help --show-sdk-path --show-sdk-version --sdk:text --find:text -f:text --show-sdk-platform-path',
    words: true,
    operands: 'command',
    optionsFirst: true,
  }),
  nim: {
    options: '-h --help -v --version',
    words: true,
    subcommands: {
      'c|cpp|js|compile|check|doc|r': {
        options: `-r --run -d:text? --define:text -o:write --out:write --outdir:write --hints:text? --warnings:text? --opt:text?
          --mm:text? --gc:text? --threads:text? -f --verbosity:text? --styleCheck:text? -p:script? --path:script?`,
        operands: 'script text*',
        words: true,
      },
    },
  },
  nimble: {
    options: help,
    subcommands: {
      'build|test|run|install|refresh|list|search|check|tasks|dump|init|c|cpp': {
        options: '-y --accept -d --depsOnly -h --help --verbose',
        operands: 'package*',
      },
      publish: { asks: 'packages/publish' },
      uninstall: { asks: 'packages/remove' },
    },
  },
  crystal: {
    options: help,
    subcommands: {
      spec: { options: '--error-trace --no-color -v --verbose -e:text --fail-fast', operands: 'directory*' },
      init: { options: '-f --force -s --skip-existing', operands: 'text write write?' },
      'build|docs|env|version|tool|run': {
        options: `-o:write --release --error-trace --no-debug -D:text -p --progress --threads:text -s --stats --no-color -v --verbose
          -e:text --fail-fast --static`,
        operands: 'script text*',
      },
      eval: { asks: 'code/inline' },
    },
  },
  shards: {
    options: help,
    subcommands: {
      'install|update|build|check|list|outdated|prune|version|init|run': {
        options: '--production --frozen --release --no-color -q',
        operands: 'text*',
      },
    },
  },
  dart: {
    options: '-h --help --version -v --verbose --suppress-analytics',
    operands: 'script text*',
    operandsWith: { '-h': '', '--help': '', '--version': '' },
    optionsFirst: true,
    subcommands: {
      'analyze|format|fix|test|doc|info|create|build': {
        options: `-h --help --fatal-infos --fatal-warnings --format:text -o:write --output:write --set-exit-if-changed -l:text
          --line-length:text --dry-run -n --apply -r:text --reporter:text -N:text --plain-name:text --name:text -j:text --concurrency:text
          --coverage:write -p:text --platform:text -t:text --tags:text -x:text --exclude-tags:text --template:text --force --no-pub`,
        operands: 'write*',
      },
      run: {
        options: '-h --help --enable-asserts -D:text --define:text --observe:text? -r',
        operands: 'script? text*',
        optionsFirst: true,
      },
      compile: {
        subcommands: {
          'exe|js|kernel|aot-snapshot|jit-snapshot|wasm': {
            options: '-o:write --output:write -D:text --define:text -O:text? -m --minified --verbosity:text',
            operands: 'script',
          },
        },
      },
      pub: {
        subcommands: {
          'get|add|remove|upgrade|downgrade|outdated|deps|run|bump|unpack': {
            options: `-h --help --dev -d --offline -n --dry-run --major-versions --null-safety --tighten --no-precompile --json
              --style:text -s:text -C:directory --directory:directory --enforce-lockfile`,
            operands: 'package*',
          },
          'publish|login|logout|token|global|cache|uploader': { asks: 'packages/publish' },
        },
      },
    },
  },
  flutter: {
    options: '-h --help --version -v --verbose -d:text --device-id:text --suppress-analytics --no-version-check',
    operands: '',
    subcommands: {
      'analyze|test|build|run|doctor|devices|clean|format|create|gen-l10n|emulators|screenshot|precache|drive|logs|attach|symbolize|install':
        {
          options: `-h --help -v --verbose -d:text --device-id:text --release --debug --profile --target:script -t:script --flavor:text
            --dart-define:text --dart-define-from-file:read --build-name:text --build-number:text --no-pub --pub --coverage
            --update-goldens --name:text --plain-name:text -j:text --concurrency:text --reporter:text -r:text --tags:text --no-fatal-infos
            --fatal-infos --fatal-warnings --no-fatal-warnings --org:text --project-name:text --platforms:text --template:text -a:text
            -i:text --description:text --empty --web-renderer:text --web-port:text --base-href:text --wasm --split-per-abi --obfuscate
            --split-debug-info:write --no-codesign --tree-shake-icons --no-tree-shake-icons --offline --overwrite --android --ios --web`,
          operands: 'write*',
        },
      pub: {
        subcommands: {
          'get|add|remove|upgrade|downgrade|outdated|deps|run': {
            options: '-h --help --dev -d --offline --dry-run -n --major-versions --json',
            operands: 'package*',
          },
          'publish|login|logout|token|global|cache': { asks: 'packages/publish' },
        },
      },
      config: { options: '--list --help', operands: '' },
      'upgrade|downgrade|channel|custom-devices': { asks: 'program/subcommand' },
    },
  },
};

const perl: Programs = {
  prove: {
    options: `-h --help -V --version -v --verbose -l --lib -b --blib -r --recurse -j:text --jobs:text -q -Q -f --failures -o --comments -s
      --shuffle -m --merge -I:script -c --color --nocolor -w -T --timer --state:text -D --dry --norc --rc:script --directives
      --formatter:text`,
    operands: 'script*',
  },
  ...each('cpanm cpan carton', {
    options: `${help} -n --notest -q --quiet -V --verbose --installdeps -l:write --local-lib:write -L:write --local-lib-contained:write
      --force -f --reinstall --with-develop --with-test --skip-satisfied --dev --self-contained`,
    operands: 'package*',
    subcommands: {
      'install|check|list|show|tree|outdated|bundle': { options: '--deployment --cached', operands: 'package*' },
      exec: { operands: 'command', optionsFirst: true },
    },
  }),
  ...each('perltidy perlcritic', {
    options: `${help} -b -bext:text -q -nst -st -i:text -l:text --stern --harsh --gentle --cruel --brutal -1 -2 -3 -4 -5 --severity:text
      --verbose:text --theme:text --profile:script -pro:script -o:write`,
    operands: 'write*',
  }),
  perldoc: { options: '-h -f:text -q:text -v:text -T -t -m -l -u -V', operands: 'text*' },
  ...each('luacheck stylua selene', {
    options: `${help} -q --no-color --codes --std:text --globals:text --config:script -f:text --check -v --verbose --config-path:read
      -g:text --glob:text --formatter:text --ranges --no-unused --max-line-length:text`,
    operands: 'write*',
  }),
  busted: {
    options: `${help} -v --verbose -o:script --output:script -t:text --tags:text --exclude-tags:text -c --coverage -p:text --pattern:text
      --filter:text -r:text --run:text --lpath:script -m:script --helper:script -k --no-keep-going --shuffle`,
    operands: 'script*',
  },
  luarocks: {
    options: '-h --help --version --local --tree:write --lua-version:text',
    subcommands: {
      'install|make|build|list|search|show|test|lint|path|which|doc|init|download': {
        options: '--local --tree:write --lua-version:text --only-deps --deps-only --dev --porcelain --force',
        operands: 'package*',
      },
      upload: { asks: 'packages/publish' },
      'remove|purge': { asks: 'packages/remove' },
    },
  },
};

export const moreLanguagePrograms: Programs = { ...rubyPhpPrograms, ...functionalPrograms, ...system, ...perl };
