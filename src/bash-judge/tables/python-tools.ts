import { each, type Program, type Programs } from './program.ts';
import { pythonWebTools } from './python-web.ts';

const help = '-h --help -V --version';

// A configuration of these tools may name plugins, so it is a `script`. Operands are `write` where files are changed.
const pytestOptions = `-h --help -V --version -v -vv -vvv -q -qq --verbose --quiet --verbosity:text -x --exitfirst --maxfail:text -k:text
  -m:text -s --capture:text -l --showlocals --no-showlocals --tb:text -r:text --lf --last-failed --ff --failed-first --nf --new-first --sw
  --stepwise --stepwise-skip --sw-skip --lfnf:text --cache-show:text? --cache-clear --co --collect-only --durations:text
  --durations-min:text --color:text --code-highlight:text --no-header --no-summary --disable-warnings --disable-pytest-warnings -W:text
  --pythonwarnings:text --strict --strict-markers --strict-config --markers --fixtures --fixtures-per-test --funcargs --setup-only
  --setup-show --setup-plan --trace-config --debug:write? --pdb --trace --full-trace --runxfail --xfail-tb --import-mode:text
  --ignore:text --ignore-glob:text --deselect:text --pyargs --noconftest --keep-duplicates --collect-in-virtualenv
  --continue-on-collection-errors --rootdir:directory --confcutdir:list -c:script --config-file:script -p:text --basetemp:delete
  --junitxml:write --junit-xml:write --junit-prefix:text --junitprefix:text --show-capture:text --log-level:text --log-format:text
  --log-date-format:text --log-cli-level:text --log-cli-format:text --log-file:write --log-file-level:text --doctest-modules
  --doctest-glob:text --doctest-ignore-import-errors --doctest-continue-on-failure --doctest-report:text --assert:text --snapshot-update
  --cov:text? --cov-report:script --cov-append --cov-branch --cov-fail-under:text --no-cov --no-cov-on-fail --cov-config:script
  --cov-context:text --cov-reset -n:text --numprocesses:text --dist:text --maxprocesses:text --max-worker-restart:text --looponfail -f
  --timeout:text --timeout-method:text --session-timeout:text --reruns:text --reruns-delay:text --only-rerun:text --count:text
  --asyncio-mode:text --benchmark-only --benchmark-skip --benchmark-disable --randomly-seed:text --random-order --html:write
  --self-contained-html --json-report --json-report-file:write --reuse-db --create-db --nomigrations --no-migrations --ds:text --headed
  --browser:text --slowmo:text --tracing:text --video:text --screenshot:text --output:write --hypothesis-show-statistics
  --hypothesis-seed:text --hypothesis-profile:text --runslow --slow --integration --mypy --ruff --flake8 --black --nbval --forked --sugar`;

const ruffFiles = `-h --help -v --verbose -q --quiet -s --silent --config:read --isolated -n --no-cache --cache-dir:write --color:text
  --target-version:text --preview --no-preview --exclude:text --extend-exclude:text --respect-gitignore --no-respect-gitignore
  --force-exclude --no-force-exclude --stdin-filename:text --extension:text --diff --line-length:text -e --exit-zero
  --exit-non-zero-on-fix --exit-non-zero-on-format`;

const formatter: Program = {
  options: `${help} -v -i --in-place -d --diff -r --recursive -q --quiet -a --aggressive -c --check --max-line-length:text --ignore:text
    --select:text -j:text --jobs:text --exclude:text -e:text --style:text -p --parallel --remove-all-unused-imports
    --remove-unused-variables --imports:text --ignore-init-module-imports --expand-star-imports --remove-duplicate-keys
    --wrap-summaries:text --wrap-descriptions:text --pre-summary-newline --black --make-summary-multi-line --py3-plus --py36-plus
    --py37-plus --py38-plus --py39-plus --py310-plus --py311-plus --py312-plus --py313-plus --keep-runtime-typing
    --exit-zero-even-if-changed`,
  operands: 'write*',
};

const checks: Programs = {
  ruff: {
    options: `${help} -v -q --config:read --isolated`,
    subcommands: {
      check: {
        options: `${ruffFiles} --fix --no-fix --fix-only --unsafe-fixes --no-unsafe-fixes --show-fixes --no-show-fixes -w --watch
          --output-format:text -o:write --output-file:write --select:text --ignore:text --extend-select:text --extend-ignore:text
          --per-file-ignores:text --extend-per-file-ignores:text --fixable:text --unfixable:text --extend-fixable:text --ignore-noqa
          --add-noqa --statistics --show-files --show-settings`,
        operands: 'write*',
      },
      format: { options: `${ruffFiles} --check --range:text --output-format:text`, operands: 'write*' },
      'rule|config|linter|clean|version|analyze|server|help': {
        options: `${help} --all --output-format:text --preview`,
        operands: 'directory*',
      },
    },
  },
  black: {
    options: `${help} -c:text --code:text -l:text --line-length:text -t:text --target-version:text --pyi --ipynb --python-cell-magics:text
      -x --skip-source-first-line -S --skip-string-normalization -C --skip-magic-trailing-comma --preview --unstable
      --enable-unstable-feature:text --check --diff --color --no-color --line-ranges:text --fast --safe --required-version:text
      --exclude:text --extend-exclude:text --force-exclude:text --include:text --stdin-filename:text -W:text --workers:text -q --quiet -v
      --verbose --config:read --no-cache`,
    operands: 'write*',
  },
  isort: {
    options: `${help} -c --check --check-only --diff -q --quiet -v --verbose --profile:text -l:text --line-length:text -w:text
      --line-width:text --sl --force-single-line-imports -m:text --multi-line:text --tc --trailing-comma --skip:text -s:text
      --skip-glob:text --gitignore --sg:text --sp:script --settings-path:script --settings-file:script -p:text --project:text --src:text
      --src-path:text --fss --float-to-top --ac --atomic --filter-files --stdout --overwrite-in-place --show-config --show-files --color
      -j:text --jobs:text --py:text --only-modified --dont-order-by-type --combine-as --ca --force-sort-within-sections`,
    operands: 'write*',
  },
  ...each('autopep8 autoflake yapf docformatter pyupgrade add-trailing-comma reorder-python-imports', formatter),
  ...each('flake8 pycodestyle pyflakes pydocstyle bandit vulture interrogate radon xenon pylama mccabe djlint codespell', {
    options: `${help} -v -vv --verbose -q --quiet --count --statistics --show-source --select:text --ignore:text --extend-select:text
      --extend-ignore:text --exclude:text --extend-exclude:text --filename:text --max-line-length:text --max-complexity:text
      --max-doc-length:text --format:text -f:text --config:script -c:script --append-config:script --isolated --exit-zero -j:text
      --jobs:text --stdin-display-name:text --per-file-ignores:text --benchmark --bug-report --color:text --output-file:write -o:write
      --tee --first --diff --hang-closing --disable-noqa --show-pep8 --convention:text --match:text --match-dir:text --add-ignore:text -r
      --recursive -l -ll -lll -i -ii -iii --severity-level:text --confidence-level:text -x:text -s:text --skip:text -t:text --tests:text
      --min-confidence:text --sort-by-size --make-whitelist --fail-under:text -a -n:text --ini:script -L:text --ignore-words-list:text -w
      --write-changes --check --reformat --lint`,
    operands: 'write*',
    subcommands: {
      'cc|mi|raw|hal': {
        options: '-h -a -s -nc -nb -e:text -i:text -j --show-closures --total-average --min:text --max:text',
        operands: 'read*',
      },
    },
  }),
  pylint: {
    options: `${help} --rcfile:script -v --verbose -j:text --jobs:text -E --errors-only --disable:text -d:text --enable:text -e:text
      --output-format:script -f:script --output:write -r:text --reports:text -s:text --score:text --fail-under:text --fail-on:text --exit-zero
      --ignore:text --ignore-paths:text --ignore-patterns:text --recursive:text --max-line-length:text --good-names:text
      --extension-pkg-allow-list:text --extension-pkg-whitelist:text --msg-template:text --py-version:text --persistent:text --list-msgs
      --list-msgs-enabled --help-msg:text --list-groups --load-plugins:script --max-args:text --max-locals:text --clear-cache-post-run:text
      --source-roots:list`,
    operands: 'script*',
  },
  ...each('mypy dmypy', {
    options: `${help} -v --verbose --config-file:script --strict --ignore-missing-imports --no-ignore-missing-imports
      --follow-imports:text --no-site-packages -p:text --package:text -m:text --module:text --python-version:text --platform:text
      --always-true:text --always-false:text --show-error-codes --hide-error-codes --show-error-context --hide-error-context
      --show-column-numbers --show-error-end --pretty --no-pretty --no-color-output --no-error-summary --install-types --non-interactive
      --exclude:text --check-untyped-defs --disallow-untyped-defs --disallow-untyped-calls --disallow-incomplete-defs
      --disallow-any-generics --disallow-untyped-decorators --disallow-subclassing-any --no-implicit-optional --implicit-optional
      --no-implicit-reexport --strict-optional --no-strict-optional --strict-equality --strict-bytes --warn-unused-ignores
      --warn-redundant-casts --warn-return-any --warn-unreachable --warn-no-return --warn-unused-configs --warn-incomplete-stub
      --no-warn-no-return --allow-untyped-defs --allow-redefinition --local-partial-types --extra-checks --enable-error-code:text
      --disable-error-code:text --namespace-packages --no-namespace-packages --explicit-package-bases --incremental --no-incremental
      --cache-dir:write --sqlite-cache --skip-version-check --skip-cache-mtime-checks --show-traceback --tb --html-report:write
      --txt-report:write --any-exprs-report:write --linecount-report:write --cobertura-xml-report:write --junit-xml:write
      --junit-format:text --output:text -O:text --scripts-are-modules --find-occurrences:text --soft-error-limit:text
      --report-deprecated-as-note --no-fast-module-lookup`,
    operands: 'script*',
    subcommands: { 'run|check|status|start|stop|restart|recheck': { options: '-h --help -v', operands: 'read*' } },
  }),
  ...each('pyright basedpyright pyre ty', {
    options: `${help} --version -p:script --project:script --pythonversion:text --pythonplatform:text --level:text --outputjson --stats
      --verbose -w --watch --warnings --threads:text --skipunannotated --dependencies --ignoreexternal --verifytypes:text
      --createstub:text --venvpath:read -v:read --typeshedpath:read --output-format:text --error:text --warn:text --ignore:text
      --python-version:text -q --quiet --exit-zero`,
    operands: 'read*',
    subcommands: {
      'check|version|help': {
        options: `${help} --output-format:text --watch -W --project:directory --exit-zero -q -v --python-version:text --color:text`,
        operands: 'read*',
      },
    },
  }),
  ...each('pip-audit safety', {
    options: `${help} -r:read --requirement:read -l --local -f:text --format:text -s:text --desc:text? --skip-editable
      --progress-spinner:text -S --strict --ignore-vuln:text -v --verbose -o:write --output:write --require-hashes --dry-run --json
      --full-report --short-report -i:text`,
    operands: 'read?',
    subcommands: { check: { options: '-h --help -r:read --json --full-report --short-report -i:text --output:text' } },
  }),
  sqlfluff: {
    options: help,
    subcommands: {
      'lint|fix|format|parse|dialects|rules|version': {
        options: `${help} --dialect:text -d:text -v --rules:text -r:text --exclude-rules:text -e:text --config:script -f --force -n
          --nofail --format:text -p:text --processes:text --templater:text -q`,
        operands: 'write*',
      },
    },
  },
};

const coverageOptions = `-h --help --rcfile:script --data-file:write --omit:text --include:text -i --ignore-errors --contexts:text
  --debug:text -q --quiet`;

const tests: Programs = {
  // Operands name tests too: `test_a.py::TestB::test_c`.
  ...each('pytest py.test', { options: pytestOptions, operands: 'directory*' }),
  ...each('ptw pytest-watch', { options: '-h --help --runner!code/unseen -c --clear -n --nobeep', operands: 'text*' }),
  tox: {
    options: `-h --help --version -e:text -m:text -f:text -r --recreate -p:text? --parallel:text? -o --parallel-live --parallel-no-spinner
      -l --listenvs -a --listenvs-all -q -v -vv --quiet --verbose -c:script --conf:script --root:directory --workdir:write --notest -n
      --skip-missing-interpreters:text? -s:text? --sdistonly --skip-pkg-install --develop --showconfig --colored:text --result-json:write
      --stderr-color:text --no-provision:text? --skip-env:text -x!code/injected --override!code/injected`,
    operands: 'directory*',
    subcommands: {
      'exec|e': { options: '-h --help -e:text -r -q -v -c:script --root:directory', operands: 'command', optionsFirst: true },
      'run|run-parallel|r|p|list|l|config|c|devenv|depends|legacy|quickstart': {
        options: `-h --help -e:text -m:text -f:text -r --recreate -q -v -p:text --notest -n --colored:text -c:script --root:directory
          --workdir:write --skip-pkg-install -s:text --no-desc -k:text -o`,
        operands: 'directory*',
      },
    },
  },
  nox: {
    options: `-h --help --version -l --list -s:text --session:text --sessions:text -e:text -p:script --python:script --pythons:script -k:text
      --keywords:text -t:text --tags:text -v --verbose -r --reuse-existing-virtualenvs -R -x --stop-on-first-error --no-venv -N
      --no-reuse-existing-virtualenvs -f:script --noxfile:script --envdir:write --non-interactive --no-install --install-only
      --report:write --color --nocolor --force-color --error-on-missing-interpreters --error-on-external-run -db:text
      --default-venv-backend:text -P:script --force-python:script -y --no-error-on-external-run`,
    operands: 'directory*',
  },
  coverage: {
    options: '-h --help --version',
    subcommands: {
      run: {
        options: `${coverageOptions} -a --append --branch --concurrency:text --context:text -L --pylib -p --parallel-mode --source:text
          --source-pkgs:text --source-dirs:text --timid -m:module`,
        operands: 'script text*',
        optionsFirst: true,
      },
      'report|html|xml|json|lcov|combine|erase|annotate|debug|help': {
        options: `${coverageOptions} -m --show-missing --skip-covered --no-skip-covered --skip-empty --fail-under:text --precision:text
          --sort:text --format:text --show-contexts -d:write --directory:write --title:text -o:write --pretty-print -a --append --keep`,
        operands: 'directory*',
      },
    },
  },
  behave: {
    options: `-h --help --version -t:text --tags:text -n:text --name:text -k --no-skipped --no-capture --stop -f:script --format:script
      -o:write --dry-run -d -v -q -w --junit --junit-directory:write`,
    operands: 'script*',
  },
};

const builds: Programs = {
  cython: {
    options: `${help} -3 -2 -a --annotate -o:write --output-file:write -f --force -X:text --cplus -I:read --include-dir:read -v`,
    operands: 'read+',
  },
  cythonize: { options: `${help} -3 -i --inplace -b --build -a --annotate -f --force -j:text -q`, operands: 'write+' },
  pyinstaller: {
    options: `${help} -v -F --onefile -D --onedir -w --windowed --noconsole -c --console -n:text --name:text --distpath:write
      --workpath:write --specpath:write -y --noconfirm --clean --add-data:text --hidden-import:text --collect-all:text
      --exclude-module:text -i:read --icon:read --log-level:text -p:script --paths:script`,
    operands: 'script+',
  },
  maturin: {
    options: help,
    subcommands: {
      'develop|build|new|init|list-python|sdist': {
        options: `${help} -r --release -m:script --manifest-path:script -F:text --features:text -E:text --extras:text -o:write --out:write
          -i:script --interpreter:script --strip -v -q -b:text --bindings:text --mixed --name:text --uv`,
        operands: 'write*',
      },
      'publish|upload': { asks: 'packages/publish' },
    },
  },
  ...each('pyproject-build', {
    options: `${help} -s --sdist -w --wheel -o:write --outdir:write -n --no-isolation`,
    operands: 'directory?',
  }),
  ...each('bump2version bumpversion bump-my-version', {
    options: `${help} --dry-run -n --verbose --list --allow-dirty --tag --no-tag --commit --no-commit --new-version:text
      --current-version:text`,
    operands: 'text write*',
  }),
  ...each('cz commitizen', {
    options: help,
    subcommands: {
      'check|version|info|schema|ls|changelog|bump|commit|c': {
        options: `${help} --dry-run --yes --rev-range:text -m:text --message:text --commit-msg-file:read -p --project --incremental
          --changelog -ch`,
        operands: 'text*',
      },
    },
  }),
};

export const pythonTools: Programs = { ...checks, ...tests, ...pythonWebTools, ...builds };
