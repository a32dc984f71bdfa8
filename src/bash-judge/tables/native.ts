import { each, type Program, type Programs } from './program.ts';

// Left out, since they load or run something else: -B, -wrapper, -specs, -fplugin, -fuse-ld, -Xlinker, -Xclang, -T, @file. What goes to the linker behind
// `-Wl,` is asked about, but for the usual.
const compiler: Program = {
  options: `-c -S -E -v --version --help -### -o:write -I:read? -isystem:read -iquote:read -idirafter:read -include:read -L:read? -l:text?
    -D:text? -U:text? -O:text? -g:text? -W:text? -Wl,:text?!code/injected -Wp,:text?!code/injected -Wa,:text?!code/injected
    -Wl,-rpath,:flags? -Wl,-rpath:flags? -Wl,--as-needed -Wl,--no-as-needed -Wl,--gc-sections -Wl,--no-undefined -Wl,-z,now -Wl,-z,relro
    -Wl,-z,noexecstack -Wl,--start-group -Wl,--end-group -Wl,--whole-archive -Wl,--no-whole-archive -Wl,--export-dynamic -Wl,-dead_strip
    -Wl,-s -Wl,-Bstatic -Wl,-Bdynamic -Wl,--strip-all -std:text? -ansi -pedantic -pedantic-errors -w -pthread -shared -static
    -static-libgcc -static-libstdc++ -rdynamic -pie -no-pie -nostdlib -nostdinc -nostdinc++ -nodefaultlibs -nostartfiles -ffreestanding -s
    -P -C -H -M -MM -MD -MMD -MP -MG -MF:write -MT:text -MQ:text -x:text -xc -xc++ -pipe -save-temps -time -dM -dumpversion -dumpmachine
    -dumpfullversion -print-search-dirs -print-libgcc-file-name -print-multiarch -print-sysroot -print-file-name:text?
    -print-prog-name:text? -stdlib:text? --target:text? -target:text --sysroot:read -isysroot:read -arch:text -framework:text -F:read?
    -fsyntax-only -emit-llvm --coverage -coverage --analyze -march:text? -mtune:text? -mcpu:text? -mfpu:text? -mfloat-abi:text? -mabi:text?
    -mcmodel:text? -m32 -m64 -mx32 -mavx -mavx2 -mavx512f -msse -msse2 -msse3 -mssse3 -msse4 -msse4.1 -msse4.2 -mfma -mbmi -mbmi2 -maes
    -mpclmul -mno-red-zone -mthumb -mmacosx-version-min:text? -mwindows -mconsole -municode -fPIC -fpic -fPIE -fpie -fno-pie -fno-plt
    -fopenmp -fopenmp-simd -flto:text? -fno-lto -fexceptions -fno-exceptions -frtti -fno-rtti -fsanitize:text? -fno-sanitize:text?
    -fno-sanitize-recover:text? -fsanitize-recover:text? -fno-omit-frame-pointer -fomit-frame-pointer -fno-optimize-sibling-calls
    -fstack-protector -fstack-protector-all -fstack-protector-strong -fno-stack-protector -fstack-clash-protection -fcf-protection:text?
    -ffast-math -fno-fast-math -fno-math-errno -funroll-loops -fno-inline -fno-builtin -fno-common -fcommon -fno-strict-aliasing
    -fstrict-aliasing -fwrapv -ftrapv -fvisibility:text? -fvisibility-inlines-hidden -ffunction-sections -fdata-sections -fpermissive
    -fconcepts -fcoroutines -fmodules -fmodules-ts -fchar8_t -fno-char8_t -fsigned-char -funsigned-char -fshort-enums
    -fno-elide-constructors -ftemplate-depth:text? -fconstexpr-depth:text? -fmax-errors:text? -ferror-limit:text?
    -fdiagnostics-color:text? -fcolor-diagnostics -fno-color-diagnostics -fno-diagnostics-color -fno-diagnostics-show-caret -fprofile-arcs
    -ftest-coverage -fprofile-instr-generate -fcoverage-mapping -fprofile-dir:write -fprofile-use:read -fno-asynchronous-unwind-tables
    -fverbose-asm -masm:text? -fno-semantic-interposition -fno-threadsafe-statics -fblocks -fobjc-arc -fms-extensions -fgnu89-inline
    -ffile-prefix-map:text? -fdebug-prefix-map:text? -fmacro-prefix-map:text? -fno-lifetime-dse -fanalyzer -fcheck:text? -fbacktrace
    -ffree-form -ffixed-form -fdefault-real-8 -ffree-line-length-none -J:write? -cpp`,
  // No `@file`, which holds options, and no standard input: what is compiled is run later.
  operands: 'script*',
  words: true,
};

const linker: Program = {
  options: `-o:write -L:read? -l:text? -r -shared -static -pie -e:text -m:text -s -S -x -g -n -N -q -v -V --version --help -z:text
    -Ttext:text -Tdata:text -rpath:text -soname:text -h:text --gc-sections --as-needed --no-as-needed --start-group --end-group
    --whole-archive --no-whole-archive --strip-all --no-undefined --build-id:text? --oformat:text --entry:text --export-dynamic -E
    -nostdlib --eh-frame-hdr --hash-style:text -arch:text -lSystem -macos_version_min:text -platform_version:text -syslibroot:read`,
  operands: 'script*',
  words: true,
};

const makeTargets =
  `all|build|test|tests|check|clean|distclean|install|lint|fmt|format|docs|doc|run|dev|help|deps|setup|init|release|debug|coverage|bench|generate|proto|vet|tidy|package|dist|
  up|down|start|stop|restart|logs|migrate|seed|ci|all-tests|unit|integration|e2e|typecheck|precommit|V=1|V=0|VERBOSE=1|DEBUG=1|DEBUG=0|RELEASE=1|1|2|3|4|6|8|10|12|16|20|24|32|64`.replace(
    /\s+/g,
    '',
  );

/** What a Makefile of the workspace says is run; `NAME=value` changes it, so only variables that are known may be set. */
function make(depth = 4): Program {
  return {
    options: `-j:text? -k -n -s -B -C:directory -f:script -i -w -r -R -t -q -d -p -O:text? -l:text? -o:text -W:text -e -S -v -h -I:script
      --jobs:text? --keep-going --no-keep-going --dry-run --just-print --recon --silent --quiet --always-make --directory:directory
      --file:script --makefile:script --include-dir:script --ignore-errors --print-directory --no-print-directory --no-builtin-rules
      --no-builtin-variables --debug:text? --trace --warn-undefined-variables --output-sync:text? --question --touch --version --help
      --print-data-base --load-average:text? --max-load:text? --assume-new:text --assume-old:text --old-file:text --new-file:text
      --what-if:text --no-silent --stop --environment-overrides --check-symlink-times --shuffle:text?`,
    operands: 'variable* text',
    ...(depth > 0 && { subcommands: { [makeTargets]: make(depth - 1) } }),
  };
}

/** `-DNAME=value` with any name: a value that may be a path is asked about, as `package` does. `-D NAME=value` too. */
export function definitions(option: string): string {
  return [option, ...[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_'].map((letter) => `${option}${letter}`)]
    .map((name) => (name === option ? `${name}:package` : `${name}:package?`))
    .join(' ');
}

const cmakeCompilers = ['gcc', 'g++', 'clang', 'clang++', 'cc', 'c++']
  .flatMap((name) => [`-DCMAKE_C_COMPILER=${name}`, `-DCMAKE_CXX_COMPILER=${name}`])
  .join(' ');

// `-D` may name a compiler, a launcher or a file with code.
const cmakeRow: Program = {
  options: `-S:directory -B:write -Bbuild -S. -G:text -GNinja -U:text? -C:script -T:text -A:text -W:text? --preset:text --list-presets:text? --fresh
    --build:directory -t:text --target:text --config:text -j:text? --parallel:text? --clean-first -v --verbose --install:directory
    --prefix:write --component:text --strip -L -LA -LH -LAH -N -P:script --toolchain:script --log-level:text --log-context --trace
    --trace-expand --graphviz:write --debug-output --debug-find --debug-trycompile --warn-uninitialized --no-warn-unused-cli --workflow
    --compile-no-warning-as-error --use-stderr --resolve-package-references:text --version -version --help -h --help-command:text
    --help-module:text --help-variable:text --help-property:text --help-policy:text --help-command-list --system-information
    ${definitions('-D')} -DCMAKE_INSTALL_PREFIX:text -DCMAKE_PREFIX_PATH:directory -DCMAKE_MODULE_PATH:directory
    -DCMAKE_RUNTIME_OUTPUT_DIRECTORY:write -DCMAKE_LIBRARY_OUTPUT_DIRECTORY:write -DCMAKE_ARCHIVE_OUTPUT_DIRECTORY:write
    -DCMAKE_OSX_ARCHITECTURES:text -DCMAKE_CUDA_ARCHITECTURES:text -DLLVM_ENABLE_PROJECTS:text -DLLVM_TARGETS_TO_BUILD:text
    -DCMAKE_C_COMPILER:text?!code/injected -DCMAKE_CXX_COMPILER:text?!code/injected ${cmakeCompilers}
    -DCMAKE_MAKE_PROGRAM:text?!code/injected -DCMAKE_C_COMPILER_LAUNCHER:text?!code/injected
    -DCMAKE_CXX_COMPILER_LAUNCHER:text?!code/injected -DCMAKE_C_LINKER_LAUNCHER:text?!code/injected -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=sccache -DCMAKE_C_COMPILER_LAUNCHER=sccache
    -DCMAKE_LINKER:text?!code/injected -DCMAKE_AR:text?!code/injected -DCMAKE_RANLIB:text?!code/injected
    -DCMAKE_CROSSCOMPILING_EMULATOR:text?!code/injected -DCMAKE_RULE_LAUNCH:text?!code/injected -DCMAKE_C_CLANG_TIDY:text?!code/injected
    -DCMAKE_CXX_CLANG_TIDY:text?!code/injected -DCMAKE_CXX_CPPCHECK:text?!code/injected
    -DCMAKE_CXX_INCLUDE_WHAT_YOU_USE:text?!code/injected -DCMAKE_CXX_CPPLINT:text?!code/injected -DCMAKE_TOOLCHAIN_FILE:script
    -DCMAKE_PROJECT_INCLUDE:script -DCMAKE_PROJECT_INCLUDE_BEFORE:script -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES:script
    -DCMAKE_USER_MAKE_RULES_OVERRIDE:script -DCMAKE_C_FLAGS:flags -DCMAKE_CXX_FLAGS:flags -DCMAKE_EXE_LINKER_FLAGS:flags
    -DCMAKE_SHARED_LINKER_FLAGS:flags`,
  operands: 'directory?',
  operandsWith: { '--build': '', '-P': 'text*' },
  words: true,
};

const cmake: Program = {
  ...cmakeRow,
  // A number belongs to `-j`; behind `--` stand options of the build tool.
  subcommands: { '1|2|4|6|8|10|12|16|24|32': cmakeRow, '-j|-j2|-j4|-j6|-j8|-j12|-j16|-k|-v|VERBOSE=1': {} },
};

const tests: Programs = {
  ctest: {
    options: `--test-dir:directory -j:text? --parallel:text? -R:text --tests-regex:text -E:text --exclude-regex:text -L:text -LE:text
      --label-regex:text -V -VV --verbose --extra-verbose --output-on-failure -N --show-only:text? -C:text --build-config:text
      --timeout:text --rerun-failed --stop-on-failure --repeat:text -Q --quiet -O:write --output-log:write --output-junit:write
      --preset:text --no-tests:text -I:text -U --schedule-random --progress --version --help -F --print-labels --repeat-until-fail:text
      --test-load:text --debug --no-compress-output --force-new-ctest-process --list-presets`,
    operands: '',
    words: true,
  },
  valgrind: {
    options: `-h --help --version -q --quiet -v --verbose --tool:package --leak-check:text --show-leak-kinds:text --show-reachable:text
      --track-origins:text --track-fds:text --error-exitcode:text --errors-for-leak-kinds:text --log-file:write --xml:text
      --xml-file:write --suppressions:read --gen-suppressions:text --num-callers:text --trace-children:text --callgrind-out-file:write
      --massif-out-file:write --cachegrind-out-file:write --undef-value-errors:text --expensive-definedness-checks:text --dump-instr:text
      --collect-jumps:text --stacks:text --exit-on-first-error:text --read-var-info:text --keep-debuginfo:text --fair-sched:text`,
    operands: 'command',
    optionsFirst: true,
  },
  ...each('ms_print cg_annotate callgrind_annotate', {
    options: '--version --help --auto:text --inclusive:text --threshold:text --tree:text --show:text',
    operands: 'read*',
  }),
  ...each('gdb lldb rr cgdb', { asks: 'code/inline' }),
};

const builders: Programs = {
  ...each('make gmake bmake', make()),
  cmake,
  ninja: {
    options: '-C:directory -f:script -j:text -k:text -l:text -n -v -d:text -t:text -w:text -h --help --version --verbose --quiet',
    operands: 'text*',
  },
  meson: {
    options: '-h --help -v --version',
    operands: 'write directory?',
    subcommands: {
      setup: {
        options: `-h --help -D:package --buildtype:text --prefix:text --libdir:text --bindir:text --reconfigure --wipe --clearcache
          --cross-file:script --native-file:script --backend:text --default-library:text -Dbuildtype:text --debug --optimization:text
          --warnlevel:text --werror --strip --unity:text --fatal-meson-warnings --vsenv --wrap-mode:text`,
        operands: 'write* directory?',
      },
      compile: { options: '-h --help -C:directory -j:text --jobs:text -l:text --clean -v --verbose', operands: 'text*' },
      test: {
        options: `-h --help -C:directory --suite:text --no-suite:text --list --repeat:text --no-rebuild -v --verbose -q --quiet
          --print-errorlogs --num-processes:text -j:text -t:text --timeout-multiplier:text --setup:text --benchmark --logbase:text
          --no-stdsplit --maxfail:text --test-args:text --xunit -i --interactive`,
        operands: 'text*',
      },
      'install|configure|introspect|dist|format|fmt|init|rewrite': {
        options: `-h --help -C:directory --no-rebuild --only-changed --quiet --destdir:write -n --dry-run --tags:text --strip -D:package -a
          --all --targets --tests --buildoptions --dependencies --projectinfo --installed --benchmarks -i --inplace -q --check-only -r
          --recursive --no-tests --formats:text -l:text --language:text --name:text`,
        operands: 'write*',
      },
      subprojects: { subcommands: { 'download|update|checkout|foreach': { asks: 'packages/install' } } },
      wrap: { subcommands: { 'list|search|info|status|install|update': { operands: 'text*' } } },
    },
  },
  ...each('bazel bazelisk', {
    options: '--version --help --nohome_rc --noworkspace_rc --batch',
    subcommands: {
      'build|test|coverage|query|cquery|aquery|info|clean|version|fetch|mod|shutdown|help|analyze-profile|dump|sync|print_action': {
        options: `--config:text -c:text --compilation_mode:text -j:text --jobs:text --test_output:text --test_filter:text
          --test_tag_filters:text --build_tag_filters:text --test_arg:text --test_timeout:text --test_size_filters:text
          --runs_per_test:text --cache_test_results:text? --nocache_test_results --flaky_test_attempts:text -k --keep_going --nokeep_going
          --verbose_failures --sandbox_debug -s --subcommands:text? --color:text --curses:text --noshow_progress --show_progress
          --show_result:text --ui_event_filters:text --define:text --copt:flags --cxxopt:flags --linkopt:flags --host_copt:flags
          --output:text --noimplicit_deps --notool_deps --platforms:text --cpu:text --features:text --stamp --nostamp --build_tests_only
          --nobuild --check_up_to_date --announce_rc --expunge --profile:write --combined_report:text --instrumentation_filter:text
          --spawn_strategy:text --test_strategy:text --local_test_jobs:text --lockfile_mode:text --enable_bzlmod --noenable_bzlmod
          --incompatible_strict_action_env --universe_scope:text --order_output:text`,
        operands: 'text*',
      },
      run: {
        options: `--config:text -c:text --compilation_mode:text --define:text --copt:flags --verbose_failures --color:text
          --noshow_progress --ui_event_filters:text -j:text --platforms:text`,
        operands: 'text text*',
      },
    },
  }),
  ...each('autoconf automake autoreconf aclocal autoheader autoscan libtoolize autopoint', {
    options: `-h --help --version -V -f --force -i --install -v --verbose -d -s --symlink -m --make -c --copy -a --add-missing --foreign
      --gnu --no-force -n --dry-run -q --quiet -W:text --warnings:text -I:script --include:script --automake --ltdl --subdir
      --nonrecursive --recursive`,
    operands: 'directory*',
  }),
  ...each('pkg-config pkgconf', {
    options: `--version --help --cflags --libs --static --modversion --exists --list-all --list-package-names --variable:text
      --cflags-only-I --cflags-only-other --libs-only-l --libs-only-L --libs-only-other --print-errors --silence-errors --short-errors
      --errors-to-stdout --print-requires --print-requires-private --print-provides --print-variables --atleast-version:text
      --exact-version:text --max-version:text --atleast-pkgconfig-version:text --uninstalled --validate --shared`,
    operands: 'text*',
  }),
  just: {
    options: `-h --help -V --version -l --list:text? --summary -s:text --show:text -n --dry-run -q --quiet -v --verbose -f:script
      --justfile:script -d:directory --working-directory:directory --evaluate --variables --dump --dump-format:text --fmt --check
      --unstable --choose!code/unseen --color:text --no-color --highlight --no-highlight --yes --groups --unsorted -u --no-deps --one
      --timestamp --explain --list-heading:text --list-prefix:text --dotenv-path:script -E:script --dotenv-filename:text --no-dotenv`,
    // `just DIRECTORY/recipe` runs the recipe of that directory.
    operands: 'variable* directory',
    subcommands: { [makeTargets]: { options: '-n --dry-run -q --quiet -v --verbose --yes', operands: 'text*' } },
  },
  ...each('task go-task', {
    options: `-h --help --version -l --list -a --list-all -p --parallel -w --watch -f --force -n --dry -s --silent -v --verbose
      -d:directory --dir:directory -t:script --taskfile:script -y --yes -o:text --output:text -c --color -C:text --concurrency:text
      --summary --status -j --json -x --exit-code -i --init --interval:text -I`,
    operands: 'variable* directory',
    subcommands: { [makeTargets]: { options: '-f --force -v --verbose -s --silent -w', operands: 'variable* text' } },
  }),
  scons: {
    options: `-h --help -H -v --version -j:text --jobs:text -c --clean -k --keep-going -n --dry-run -s --silent -Q -C:directory -f:script
      -u -i --tree:text --debug:text`,
    operands: 'variable* text',
  },
  xmake: {
    options: '-h --help --version -v -y',
    operands: '',
    subcommands: {
      'build|b|run|r|test|clean|c|config|f|project|install|i|show|format|check': {
        options: '-h --help -v -y -r -a --all -m:text --mode=debug --mode=release -p:text -k:text -w',
        operands: 'text*',
      },
    },
  },
  conan: {
    options: '-h --help -v --version',
    subcommands: {
      'install|create|build|graph|inspect|list|search|profile|source|export|export-pkg|new|cache|version|test|lock': {
        options: `-h --help -b:text --build:text -s:text -o:text -pr:script --profile:script -c:package -of:write --output-folder:write
          -g:text --generator:text -if:write --format:text -u --update --name:text --version:text -d:text -f`,
        operands: 'directory*',
      },
      'upload|remote|remove|config': { asks: 'packages/publish' },
    },
  },
  vcpkg: {
    options: '--version',
    subcommands: {
      'list|search|version|help|install|depend-info|x-update-baseline|new|add|format-manifest': {
        options: '--triplet:text --recurse --dry-run --feature-flags:text --x-manifest-root:directory --application',
        operands: 'text*',
      },
    },
  },
};

const tools: Programs = {
  ...each('gcc g++ cc c++ clang clang++ gfortran f95 tcc cpp', compiler),
  ...each(
    'x86_64-w64-mingw32-gcc x86_64-w64-mingw32-g++ aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ arm-none-eabi-gcc arm-none-eabi-g++ riscv64-linux-gnu-gcc emcc em++',
    compiler,
  ),
  ...each('ld ld.lld ld.gold', linker),
  ranlib: { options: '-D -U -t -v --version --help', operands: 'write+' },
  ...each('nm readelf size addr2line otool lipo dwarfdump llvm-nm llvm-readelf llvm-size', {
    options: `-a -A -B -C -D -e -g -h -H -i -l -L -n -o -p -r -s -S -t -u -v -V -w -W -d -f -x --help --version --demangle:text? --dynamic
      --defined-only --undefined-only --extern-only --size-sort --numeric-sort --print-size --print-file-name --line-numbers --no-sort
      --reverse-sort --format:text --all --headers --file-header --segments --sections --symbols --syms --dyn-syms --relocs --notes --wide
      --hex-dump:text --string-dump:text --debug-dump:text? --exe:read -j:text --section:text --functions --inlines --pretty-print
      --arch-specific --unwind --version-info --histogram --use-dynamic --radix:text --totals`,
    operands: 'read*',
  }),
  ...each('objdump llvm-objdump', {
    options: `-a -d -D -S -x -h -p -f -t -T -r -R -s -g -l -w -C -i -M:text -j:text -m:text -b:text -z --help --version
      --disassemble:text? --disassemble-all --source --source-comment:text? --all-headers --headers --section-headers --syms
      --dynamic-syms --reloc --dynamic-reloc --full-contents --demangle:text? --line-numbers --no-show-raw-insn --no-addresses
      --section:text --start-address:text --stop-address:text --wide --private-headers --dwarf:text? --visualize-jumps:text?
      --file-headers --archive-headers`,
    operands: 'read*',
  }),
  'c++filt': { options: '-_ -n -p -i -t -s:text --help --version', operands: 'text*' },
  ...each('strip llvm-strip', {
    options: `-s -g -S -d -x -X -p -v -o:write --strip-all --strip-debug --strip-unneeded --keep-symbol:text -K:text -N:text -R:text
      --version --help`,
    operands: 'write+',
  }),
  ...each('objcopy llvm-objcopy', {
    options: `-O:text -I:text -B:text -j:text -R:text -S -g --strip-all --strip-debug --only-keep-debug --only-section:text
      --remove-section:text --add-gnu-debuglink:read --output-target:text --input-target:text --version --help`,
    operands: 'write write?',
  }),
  ...each('as nasm yasm', {
    options: `-f:text -o:write -g -l:write -I:read -i:read -D:text -w:text -W:text -E -v --version --help -h --32 --64 -O:text -F:text
      -march:text?`,
    operands: 'read*',
  }),
  'clang-format': {
    options: `-h -help --help -version --version -i --style:text -style:text --dry-run -n --Werror -Werror --assume-filename:text
      -assume-filename:text --sort-includes --verbose -verbose --lines:text -lines:text --fallback-style:text --files:read
      --ferror-limit:text --dump-config -dump-config --offset:text --length:text --fail-on-incomplete-format`,
    operands: 'write*',
    words: true,
  },
  'git-clang-format': {
    options: '-h --help --diff --staged --cached --commit:text --extensions:text --style:text -f --force -p --patch -q --quiet -v',
    operands: 'text*',
  },
  ...each('clang-tidy run-clang-tidy', {
    options: `-h --help -help --version -p:read -p=build -checks:text --checks:text -fix --fix --fix-errors -fix-errors
      --header-filter:text -header-filter:text --config:text -config:text --config-file:read --quiet -quiet --warnings-as-errors:text
      --list-checks --format-style:text --export-fixes:write --use-color -j:text --dump-config --verify-config --extra-arg:flags
      -extra-arg:flags --system-headers`,
    operands: 'write*',
    words: true,
  }),
  cppcheck: {
    options: `-h --help --version --enable:text --disable:text --error-exitcode:text --suppress:text --suppressions-list:read
      --inline-suppr --std:text -I:read -i:text -D:text -U:text --project:read -j:text --xml --xml-version:text -q --quiet -f --force
      --language:text -x:text --platform:text --check-level:text --template:text --output-file:write --cppcheck-build-dir:write
      --max-configs:text -v --verbose --inconclusive --check-config --report-progress --file-filter:text --includes-file:read
      --file-list:read --safety --showtime:text`,
    operands: 'read*',
  },
  ...each('cpplint astyle uncrustify', {
    options: `-h --help --version -V --filter:text --linelength:text --recursive -r --extensions:text --headers:text --root:list --quiet
      -q --counting:text --exclude:text --style:text -n --suffix:text -c:script --no-backup --replace --check --output:text
      --project:script --options:script`,
    operands: 'write*',
  }),
  ...each('include-what-you-use iwyu', compiler),
  ...each('bear intercept-build', {
    options: '-h --help --version -o:write --output:write --append -a --verbose -v --cdb:write',
    operands: 'command',
    optionsFirst: true,
  }),
  'scan-build': {
    options: `-h --help -o:write -v -V --status-bugs --html-title:text -enable-checker:text -disable-checker:text -maxloop:text
      --exclude:text --keep-going -k --force-analyze-debug-code`,
    operands: 'command',
    words: true,
    optionsFirst: true,
  },
  ...each('ccache sccache', {
    options: `-s --show-stats -p --show-config -z --zero-stats -V --version -h --help --show-log-stats -c --cleanup -x --show-compression`,
    operands: 'command',
    optionsFirst: true,
  }),
  doxygen: { options: '-h --help -v --version -g:text? -u -s -q -l:text? -w:text?', operands: 'script?' },
  ...each('gcov gcovr lcov genhtml llvm-cov llvm-profdata', {
    options: `-h --help -v --version -V -b --branch-probabilities -f --function-summaries -n --no-output -o:write --object-directory:read
      -p --preserve-paths -r:text --root:directory --html:write? --html-details:write? --xml:write? --json:write? --txt:write?
      --csv:write? --exclude:text -e:text --filter:text --print-summary -s --sort-percentage --fail-under-line:text
      --object-directory:read -c --capture -d:directory --directory:directory --output-file:write --remove:read --extract:read -a:read
      --add-tracefile:read --list:read -l --summary:read --rc:package --ignore-errors:text --no-external -q --quiet --output-directory:write
      --legend --title:text --branch-coverage --function-coverage --demangle-cpp -t:text -k --keep --instr-profile:read
      -instr-profile:read -sparse --sparse -use-color --exclude-directories:text --exclude-throw-branches`,
    operands: 'directory*',
    subcommands: {
      'report|show|export|merge': {
        options: '-instr-profile:read -sparse -o:write -use-color -ignore-filename-regex:text -format:text -output-dir:write',
        operands: 'read*',
        words: true,
      },
    },
  }),
  ...each('bison yacc flex lex', {
    options: `-h --help -V --version -d -v -t -l -y -o:write -b:write -p:text --output:write --output-file:write --defines:write?
      --header:write? --header-file:write? --outfile:write --debug --verbose --report:text -W:text? -Wall:text? --language:text -L:text -i
      -I -s -f -F -P:text -8 -7 -B -w --warn`,
    operands: 'read',
  }),
  ctags: {
    options: `-R --recurse:text? -f:write -o:write -a --append:text? -e --languages:text --exclude:text --fields:text --extras:text
      --kinds-all:text --sort:text --help --version --list-languages -x --c-kinds:text --c++-kinds:text --python-kinds:text
      --tag-relative:text --totals:text?`,
    operands: 'read*',
  },
  swig: {
    options: `-version -help -python -java -ruby -perl5 -csharp -go -lua -c++ -o:write -outdir:write -module:text -I:read? -D:text? -Wall
      -py3 -builtin -threads`,
    operands: 'read',
    words: true,
  },
  cmakelint: { options: '--version --filter:text --config:read --quiet', operands: 'read*' },
  ...each('cmake-format cmake-lint gersemi', {
    options: `-h --help -v --version -i --in-place --check -c:read --config-files:read -o:write --line-width:text --tab-size:text -l:text
      --suppress-decorations`,
    operands: 'write*',
  }),
};

export const nativePrograms: Programs = { ...tools, ...builders, ...tests };
