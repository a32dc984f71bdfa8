import { each, type Program, type Programs } from './program.ts';
import { pythonTools } from './python-tools.ts';

const help = '-h --help -V --version';

// Left out everywhere: other indexes, `--find-links`, proxies, certificates, settings for a build, another Python.
const pipCommon = `-h --help -V --version -v --verbose -q --quiet --no-input --no-color --disable-pip-version-check --no-cache-dir
  --timeout:text --retries:text --exists-action:text --isolated --debug --require-virtualenv --log:write --cache-dir:write
  --no-python-version-warning --progress-bar:text --use-feature:text --use-deprecated:text`;

const pipInstall = `${pipCommon} -r:script --requirement:script -c:script --constraint:script -e:project --editable:project -U --upgrade
  --upgrade-strategy:text --no-deps --pre --user --force-reinstall -I --ignore-installed --no-build-isolation --no-compile --compile
  --prefer-binary --only-binary:text --no-binary:text --no-warn-script-location --no-warn-conflicts --break-system-packages --dry-run
  --report:write -t:write --target:write --prefix:write --root:write --src:write --python-version:text --platform:text
  --implementation:text --abi:text --require-hashes --ignore-requires-python --no-clean --check-build-dependencies --root-user-action:text
  -d:write --dest:write -w:write --wheel-dir:write --group:script --use-pep517 --no-index`;

const pipCommands: Programs = {
  'install|download|wheel|lock': { options: pipInstall, operands: 'package*' },
  uninstall: { asks: 'packages/remove' },
  'list|show|freeze|check|hash|inspect|debug|help|completion': {
    options: `${pipCommon} -o --outdated -u --uptodate -e --editable -l --local --user --pre --format:text --not-required --exclude:text
      --exclude-editable --include-editable -f --files --all -r:read --requirement:read -a:text --algorithm:text --path:read --bash --zsh
      --fish`,
    operands: 'text*',
  },
  index: { options: pipCommon, subcommands: { versions: { options: `${pipCommon} --pre --json`, operands: 'package' } } },
  config: {
    options: pipCommon,
    subcommands: { 'list|debug': { options: `${pipCommon} --user --global --site` }, 'set|unset|edit': { asks: 'code/injected' } },
  },
  cache: { subcommands: { 'dir|info|list|purge|remove': { options: pipCommon, operands: 'text*' } } },
};

const pip: Program = { options: pipCommon, subcommands: pipCommands };

const uvCommon = `-h --help -V --version -q --quiet -v --verbose --no-progress --color:text --no-color --offline --directory:directory
  --project:directory --no-cache -n --cache-dir:write --no-python-downloads --no-config --native-tls --preview --python-preference:text`;

const uvResolve = `${uvCommon} -p:script --python:script --extra:text --all-extras --no-extra:text --group:text --no-group:text --all-groups
  --only-group:text --no-default-groups --dev --no-dev --only-dev --frozen --locked --no-sync --active --inexact --exact --no-editable
  --reinstall --reinstall-package:text --refresh --refresh-package:text -U --upgrade -P:text --upgrade-package:text --resolution:text
  --prerelease:text --exclude-newer:text --no-build --no-binary --no-build-package:text --no-binary-package:text --no-build-isolation
  --link-mode:text --compile-bytecode --no-install-project --no-install-workspace --package:text --all-packages --isolated --no-project
  --no-sources --managed-python --no-managed-python --check --dry-run`;

const pyFiles =
  'main.py|app.py|server.py|script.py|run.py|test.py|cli.py|setup.py|train.py|hello.py|bot.py|demo.py|example.py|seed.py|build.py';
const pyFile: Program = { operands: 'text*', optionsFirst: true, anyOption: true };

const uvx: Program = {
  options: `${uvResolve} --from:package --with:package --with-requirements:script --with-editable:project -w:package`,
  subcommands: pythonTools,
};

const uv: Program = {
  options: uvCommon,
  subcommands: {
    run: {
      options: `${uvResolve} --with:package -w:package --with-requirements:script --with-editable:project -m:module --module:module
        --env-file:script -s:script --script:script --no-env-file`,
      operands: 'command',
      operandsWith: { '-s': 'text*', '--script': 'text*' },
      subcommands: { [pyFiles]: pyFile, '-': { asks: 'code/unseen' } },
      optionsFirst: true,
    },
    'add|remove': {
      options: `${uvResolve} -r:script --requirements:script -c:script --constraints:script --optional:text --editable --no-editable
        --raw-sources --script:script --bounds:text --raw --no-workspace --workspace`,
      operands: 'package*',
    },
    'sync|lock|tree|export|version|format|build': {
      options: `${uvResolve} -d:text --depth:text --prune:text --invert --outdated --universal --no-dedupe --show-sizes --format:text
        --no-hashes --no-header --no-annotate -o:write --output-file:write --script:script --bump:text --short --output-format:text
        --sdist --wheel --out-dir:write --clear --diff --no-emit-project --no-emit-workspace --no-dev --all-packages`,
      operands: 'directory*',
    },
    venv: {
      options: `${uvCommon} -p:script --python:script --seed --system-site-packages --prompt:text --allow-existing --relocatable --no-project`,
      operands: 'write?',
    },
    init: {
      options: `${uvCommon} --name:text --package --no-package --app --lib --script --bare --description:text --no-readme --no-pin-python
        --no-workspace -p:script --python:script --vcs:text --build-backend:text --author-from:text`,
      operands: 'write?',
    },
    pip: {
      options: uvCommon,
      subcommands: {
        'install|sync|compile': {
          options: `${uvResolve} -r:script --requirement:script --requirements:script -c:script --constraint:script --constraints:script
            -e:project --editable:project --no-deps --system --break-system-packages --target:write --prefix:write --strict
            --require-hashes -o:write --output-file:write --universal --no-header --no-annotate --generate-hashes --python-version:text
            --no-strip-extras --no-strip-markers`,
          operands: 'package*',
        },
        uninstall: { asks: 'packages/remove' },
        'list|show|freeze|check|tree': {
          options: `${uvCommon} --format:text --outdated --strict --editable --exclude-editable --exclude:text -p:script --python:script
            --system -f --files`,
          operands: 'text*',
        },
      },
    },
    python: {
      options: uvCommon,
      subcommands: {
        'list|find|dir|pin|install': {
          options: `${uvCommon} --all-versions --only-installed --only-downloads --system --rm`,
          operands: 'script*',
        },
      },
    },
    tool: {
      options: uvCommon,
      subcommands: {
        run: uvx,
        install: { options: `${uvResolve} --with:package --with-requirements:script -e:project --force`, operands: 'package' },
        'list|dir': { options: `${uvCommon} --show-paths --show-version-specifiers --bin` },
        uninstall: { asks: 'packages/remove' },
      },
    },
    cache: { subcommands: { 'dir|clean|prune|size': { options: `${uvCommon} --ci`, operands: 'text*' } } },
    help: { operands: 'text*' },
    publish: { asks: 'packages/publish' },
    'self|auth|generate-shell-completion': { asks: 'program/subcommand' },
  },
};

const poetryCommon = `-h --help -q --quiet -V --version --ansi --no-ansi -n --no-interaction --no-plugins --no-cache -C:directory
  --directory:directory -P:directory --project:directory -v -vv -vvv --verbose`;

const poetry: Program = {
  options: poetryCommon,
  subcommands: {
    run: { options: poetryCommon, operands: 'command', optionsFirst: true },
    'install|add|remove|update|lock|sync|check|build|show|version|init|export|search|about|list|help': {
      options: `${poetryCommon} -D --dev --group:text -G:text -E:text --extras:text --all-extras --all-groups --with:text --without:text
        --only:text --only-root --no-root --no-dev --sync --compile --dry-run --lock --no-update --check --optional --python:text
        --platform:text --allow-prereleases -e --editable --regenerate --strict -f:text --format:text -o:write --output:write --clean -t
        --tree -l --latest --outdated -T --top-level -a --all --why -s --short --next-phase --name:text --description:text --author:text
        --dependency:text --dev-dependency:text -l:text --license:text --without-hashes --without-urls --no-directory`,
      operands: 'package*',
    },
    new: { options: `${poetryCommon} --name:text --src --flat --readme:text`, operands: 'write' },
    env: {
      subcommands: { 'info|list|use|activate': { options: `${poetryCommon} -p --path -e --executable --full-path`, operands: 'script?' } },
    },
    config: { options: `${poetryCommon} --list`, operands: '' },
    cache: { subcommands: { 'list|clear': { options: `${poetryCommon} --all`, operands: 'text?' } } },
    publish: { asks: 'packages/publish' },
    'shell|self|source': { asks: 'program/subcommand' },
  },
};

const projectRun: Program = {
  options: '-h --help -v -q -s --site-packages -p:directory --project:directory',
  operands: 'command',
  optionsFirst: true,
};

const managers: Programs = {
  pip,
  ...each('pip-compile pip-sync', {
    options: `${pipCommon} -o:write --output-file:write -U --upgrade -P:package --upgrade-package:package --extra:text --all-extras
      --resolver:text --generate-hashes --no-header --no-annotate --strip-extras --no-strip-extras --allow-unsafe --dry-run -n --rebuild
      -r --pre --annotation-style:text`,
    operands: 'script*',
  }),
  pipx: {
    options: `${help} -q --quiet -v --verbose`,
    subcommands: {
      run: { options: `${help} --spec:package --no-cache --python:script`, subcommands: pythonTools },
      'install|upgrade|inject': {
        options: `${help} --force -f --include-deps --python:script --suffix:text -q -v --include-injected`,
        operands: 'package+',
      },
      'list|environment|completions': { options: `${help} --short --json --include-injected --value:text -V:text` },
      'uninstall|uninstall-all|uninject': { asks: 'packages/remove' },
    },
  },
  uv,
  uvx,
  poetry,
  pdm: {
    options: `${help} -v -q -p:directory --project:directory`,
    subcommands: {
      run: projectRun,
      'install|add|remove|update|lock|sync|list|info|show|outdated|build|init|export|venv|fix|search': {
        options: `${help} -v -q -p:directory --project:directory -d --dev --prod --production --no-dev -G:text --group:text -e:project
          --editable:project --no-lock --frozen-lockfile --no-self --no-editable --no-isolation --check --dry-run --clean --tree --graph
          --json --csv --fields:text --without-hashes -f:text --format:text -o:write --output:write -n --non-interactive --python:script
          --lib --no-sdist --no-wheel --save-exact --save-compatible --unconstrained --top --no-sync`,
        operands: 'package*',
      },
      publish: { asks: 'packages/publish' },
    },
  },
  hatch: {
    options: `${help} -v --verbose -q --quiet -e:text --env:text --no-color --color --interactive --no-interactive`,
    subcommands: {
      run: { operands: 'command', optionsFirst: true },
      'test|fmt|build|version|status|clean': {
        options: `${help} -c --clean -t:text --target:text -p --parallel -a --all --cover --cover-quiet --randomize -r --check -l --linter
          -f --formatter -py:script --python:script -i:text --include:text -x:text --show --unsafe-fixes --preview --hooks-only`,
        operands: 'directory*',
      },
      env: { subcommands: { 'show|create|find|prune|remove': { options: `${help} --ascii --json -i`, operands: 'text*' } } },
      dep: { subcommands: { 'show|hash': { options: help, operands: 'text*' } } },
      new: { options: `${help} --init --cli`, operands: 'text write?' },
      publish: { asks: 'packages/publish' },
    },
  },
  pipenv: {
    options: `${help} --where --venv --py --rm!packages/remove --python:script --site-packages -q -v`,
    subcommands: {
      run: { operands: 'command', optionsFirst: true },
      'install|update|upgrade|lock|sync|clean|check|graph|verify|requirements|scripts|audit': {
        options: `${help} -d --dev -r:script --requirements:script -e:project --editable:project --deploy --skip-lock --system
          --ignore-pipfile --python:script --categories:text --outdated --dry-run --bare --json --json-tree --reverse --hash --dev-only -q
          --quiet -v --verbose --pre --keep-outdated`,
        operands: 'package*',
      },
      uninstall: { options: `${help} -d --dev --skip-lock --categories:text --all!packages/remove --all-dev`, operands: 'text*' },
    },
  },
  ...each('conda mamba micromamba', {
    options: `${help} -v`,
    subcommands: {
      'activate|deactivate': { options: '--stack --no-stack', operands: 'text?' },
      'install|create|update|upgrade|search': {
        options: `${help} -n:text --name:text -p:write --prefix:write -c:package --channel:package -y --yes -q --quiet -v --verbose -d
          --dry-run --json --file:script -f:script --override-channels --strict-channel-priority --no-deps --only-deps --freeze-installed
          --no-update-deps --update-deps --update-all --all --force-reinstall --download-only --offline --no-default-packages --clone:text
          --info -i --reverse-dependency`,
        operands: 'package*',
      },
      'list|info|version|doctor': {
        options: `${help} -n:text --name:text -p:read --prefix:read --json -e --envs --export --explicit -f --full-name -r --revisions
          --base -a --all --system -s`,
        operands: 'text*',
      },
      run: {
        options: `${help} -n:text --name:text -p:directory --prefix:directory --no-capture-output --live-stream --cwd:directory -v`,
        operands: 'command',
        optionsFirst: true,
      },
      env: {
        subcommands: {
          'list|export|create|update': {
            options: `${help} -n:text --name:text -p:write --prefix:write -f:script --file:script --from-history --no-builds --json -y
              --yes -q --quiet --prune --force`,
            operands: 'text*',
          },
          remove: { asks: 'packages/remove' },
        },
      },
      config: { options: `${help} --show --show-sources --get --describe --validate --json`, operands: 'text*' },
      'remove|uninstall|clean': { asks: 'packages/remove' },
    },
  }),
  pyenv: {
    options: '-h --help -v --version',
    subcommands: {
      'versions|version|which|whence|root|shims|local|prefix|version-name|commands|help|init|rehash': {
        options: '-h --help --bare --list --unset -',
        operands: 'text*',
      },
      exec: { operands: 'command', optionsFirst: true },
    },
  },
  virtualenv: {
    options: `${help} -p:script --python:script --clear --system-site-packages --copies --always-copy --no-download --download --prompt:text
      --seeder:text --pip:text --setuptools:text --wheel:text --no-pip --no-setuptools --no-wheel -q -v --upgrade-embed-wheels`,
    operands: 'write',
    operandsWith: { '--clear': 'delete' },
  },
  twine: {
    options: help,
    subcommands: { check: { options: `${help} --strict`, operands: 'read+' }, 'upload|register': { asks: 'packages/publish' } },
  },
  ...each('easy_install', { asks: 'packages/install' }),
};

/** Modules that run with `python -m`: the programs above and below, and these of Python itself. */
const modules: Programs = {
  'python -m venv': {
    options: `${help} --system-site-packages --symlinks --copies --clear --upgrade --without-pip --prompt:text --upgrade-deps
      --without-scm-ignore-files`,
    operands: 'write+',
    operandsWith: { '--clear': 'delete+' },
  },
  'python -m http.server': {
    options: `-h --help -d:directory --directory:directory -p:text --protocol:text -b!network/expose --bind!network/expose
      --cgi!network/expose`,
    operands: 'text?',
  },
  'python -m json.tool': {
    options: '-h --help --sort-keys --no-ensure-ascii --json-lines --indent:text --tab --no-indent --compact',
    operands: 'read? write?',
  },
  'python -m unittest': {
    options: `-h --help -v --verbose -q --quiet -f --failfast -c --catch -b --buffer -k:text --locals --durations:text -s:directory
      --start-directory:directory -p:text --pattern:text -t:directory --top-level-directory:directory`,
    operands: 'script*',
  },
  ...each2('python -m timeit|python -m code|python -m pdb|python -m runpy|python -m pty|python -m idlelib', { asks: 'code/inline' }),
  ...each2('python -m cProfile|python -m profile|python -m trace', {
    options: `-h --help -o:write -s:text --sort:text -t --trace -c --count -T --trackcalls -l --listfuncs --ignore-dir:text
      --ignore-module:text -m:module`,
    operands: 'script text*',
    optionsFirst: true,
  }),
  ...each2('python -m compileall|python -m py_compile|python -m tabnanny', {
    options: '-h --help -q -f -l -b -v -r:text -j:text -x:text -o:text',
    operands: 'write*',
  }),
  ...each2('python -m ast|python -m dis|python -m tokenize|python -m symtable|python -m pyclbr|python -m pickletools|python -m difflib', {
    options: `-h --help -m:text --mode:text -a --include-attributes -i:text --indent:text --no-type-comments -e --exact -C -O -S -o:write`,
    operands: 'read*',
  }),
  ...each2('python -m zipfile|python -m tarfile', {
    options: `-h --help -v --verbose -l:read --list:read -t:read --test:read -c:write --create:write -e:read --extract:read --filter:text
      --metadata-encoding:text`,
    operands: 'read*',
    operandsWith: { '-e': 'into*', '--extract': 'into*' },
    brings: { '-e': 'unpacked', '--extract': 'unpacked' },
  }),
  ...each2('python -m gzip|python -m base64|python -m quopri', {
    options: '-h --help -d --decompress -e -u -t --fast --best',
    operands: 'write*',
    brings: { '-d': 'uncompressed', '--decompress': 'uncompressed' },
  }),
  ...each2(
    'python -m calendar|python -m platform|python -m sysconfig|python -m site|python -m this|python -m locale|python -m getpass|python -m uuid',
    {
      options: '-h --help --user-site --user-base -L:text -e:text -t:text -w:text -l:text -s:text -m:text -u:text -n:text',
      operands: 'text*',
    },
  ),
  'python -m pydoc': { options: '-k:text', operands: 'script*' },
  'python -m doctest': { options: '-h --help -v --verbose -o:text -f --fail-fast', operands: 'script*' },
  'python -m sqlite3': { options: '-h --help -v --version', asks: 'code/inline' },
  'python -m django': pythonTools['django-admin'] ?? {},
  'python -m random': { options: '-h --help -c:text -i:text -f:text', operands: 'text*' },
  'python -m ensurepip': { options: '-h --help --version -v -U --upgrade --user --default-pip --altinstall --root:write' },
  'python -m build': {
    options: `${help} -s --sdist -w --wheel -o:write --outdir:write -n --no-isolation -x --skip-dependency-check -v --verbose
      --installer:text`,
    operands: 'directory?',
  },
  'python -m piptools': {
    subcommands: {
      'compile|sync': {
        options: `${pipCommon} -o:write --output-file:write -U --upgrade -P:package --extra:text --generate-hashes --strip-extras
          --no-header`,
        operands: 'script*',
      },
    },
  },
  ...each2('python -m webbrowser|python -m smtplib|python -m ftplib|python -m telnetlib|python -m imaplib|python -m smtpd', {
    asks: 'network/remote',
  }),
  // Usual names of a workspace's own modules.
  ...each2(
    `python -m src|python -m app|python -m main|python -m server|python -m cli|python -m src.main|python -m app.main|python -m src.app|python -m src.cli|python -m src.train|
      python -m app.server|python -m app.cli|python -m scripts.seed|python -m scripts.build|python -m bot|python -m backend.main|python -m src.server|python -m tests`,
    { operands: 'text*', optionsFirst: true, anyOption: true },
  ),
};

/** As `each`, for names with blanks. */
function each2(names: string, row: Program): Programs {
  return Object.fromEntries(names.split('|').map((name) => [name.trim(), row]));
}

export const pythonPrograms: Programs = { ...managers, ...pythonTools, ...modules };
