import { each, type Program, type Programs } from './program.ts';

const help = '-h --help -V --version';

const sphinx = `-h --help --version -b:text --builder:text -M:text -a -E -d:write -j:text --jobs:text -c:script --conf-dir:script -C
  -D:text -A:text -t:text --tag:text -n --nitpicky -v --verbose -q --quiet -Q --silent -w:write --warning-file:write -W --fail-on-warning
  --keep-going -T --show-traceback -P --color -N --no-color --write-all --fresh-env --doctree-dir:write`;

const migrations: Program = {
  options: `-h --help -m:text --message:text -d:script --directory:script --sql --tag:text -x:text --autogenerate --head:text --splice
    --branch-label:text --rev-id:text`,
  operands: 'text*',
};

const documents: Programs = {
  'sphinx-build': { options: sphinx, operands: 'script write read*' },
  'sphinx-autobuild': {
    options: `${sphinx} --port:text --host:text --watch:read --ignore:text --re-ignore:text --open-browser --delay:text`,
    operands: 'script write read*',
  },
  'sphinx-apidoc': {
    options: `${help} -o:write --output-dir:write -f --force -e --separate -d:text --maxdepth:text -M --module-first -P --private -T
      --no-toc -E --no-headings -n --dry-run --implicit-namespaces -F --full -H:text -A:text -q -t:read`,
    operands: 'read text*',
  },
  'sphinx-quickstart': {
    options: `${help} -q --quiet --sep --no-sep -p:text --project:text -a:text --author:text -v:text -r:text --release:text -l:text
      --language:text --ext-autodoc --makefile --no-makefile --batchfile --no-batchfile`,
    operands: 'write?',
  },
  mkdocs: {
    options: '-h --help -V --version -q -v --color --no-color',
    subcommands: {
      'build|serve|get-deps': {
        options: `-h --help -c --clean --dirty -f:script --config-file:script -s --strict -t:text --theme:text -d:write --site-dir:write
          -q -v -a:text --dev-addr:text -o --open --no-livereload --livereload --dirtyreload -w:read`,
      },
      new: { operands: 'write' },
      'gh-deploy': { asks: 'packages/publish' },
    },
  },
  jupyter: {
    options: '-h --help --version --paths --json --config-dir --data-dir --runtime-dir',
    subcommands: {
      nbconvert: {
        options: `-h --help --to:script --execute --inplace --stdout --stdin --output:write --output-dir:write --no-input --no-prompt
          --clear-output --allow-errors --debug --template:script --embed-images --coalesce-streams --show-input
          --ExecutePreprocessor.timeout:text --ExecutePreprocessor.kernel_name:text -y`,
        operands: 'script*',
      },
      'notebook|lab|server': {
        options: '-h --help --no-browser --port:text --version --debug -y --notebook-dir:directory',
        operands: 'script?',
        subcommands: { 'list|version|path': { options: '--json' } },
      },
      kernelspec: { subcommands: { list: { options: '--json' } } },
      trust: { operands: 'write*' },
    },
  },
  nbstripout: { options: `${help} --dry-run -t --textconv --keep-output --keep-count --verify`, operands: 'write*' },
  papermill: {
    options: `${help} -p!code/inline -k:text --kernel:text --log-output --no-progress-bar --cwd:directory -f:script
      --parameters_file:script`,
    operands: 'script write?',
  },
};

const server = `${help} --reload --reload-dir:list --reload-include:text --reload-exclude:text --host:text --port:text --workers:text
  --log-level:text --app-dir:script --env-file:script --factory --proxy-headers --no-proxy-headers --forwarded-allow-ips:text --access-log
  --no-access-log --use-colors --no-use-colors --loop:text --http:text --ws:text --lifespan:text --interface:text --root-path:text
  --limit-concurrency:text --limit-max-requests:text --timeout-keep-alive:text --log-config:script --ssl-keyfile:read --ssl-certfile:read
  --timeout-graceful-shutdown:text --header:text --backlog:text`;

const gunicorn = `-h --help -v --version -w:text --workers:text -b:text --bind:text -k:text --worker-class:text -t:text --timeout:text
      --reload --log-level:text --threads:text --preload --access-logfile:write --error-logfile:write --log-file:write -c:script
      --config:script --chdir:directory -p:write --pid:write --max-requests:text --max-requests-jitter:text --keep-alive:text
      --graceful-timeout:text --worker-connections:text --check-config --print-config --capture-output -n:text --name:text`;

const applications =
  `app|app:app|main:app|wsgi:app|wsgi|wsgi:application|app.main:app|app.wsgi:app|run:app|server:app|api:app|src.main:app|src.app:app|app.app:app|
  config.wsgi|config.wsgi:application|core.wsgi|core.wsgi:application|mysite.wsgi|mysite.wsgi:application|project.wsgi:application|backend.wsgi:application|
  app:create_app()|wsgi:create_app()|main:create_app()|app:server`.replace(/\s+/g, '');

const web: Programs = {
  ...each('uvicorn hypercorn daphne granian', { options: `${server} -b:text --bind:text -w:text -p:text`, operands: 'text' }),
  // `module:function("text")` is called, so only usual names are known.
  gunicorn: { options: gunicorn, operands: '', subcommands: { [applications]: { options: gunicorn } } },
  fastapi: {
    options: help,
    subcommands: {
      'dev|run': {
        options: '-h --help --host:text --port:text --reload --no-reload --workers:text --root-path:text --app:text',
        operands: 'script?',
      },
    },
  },
  flask: {
    options: '-h --help --version -A:script --app:script --debug --no-debug -e:script --env-file:script',
    operands: 'text?',
    subcommands: {
      run: {
        options: `-h --help -h:text --host:text -p:text --port:text --reload --no-reload --debugger --no-debugger --with-threads
          --without-threads --debug --cert:read --key:read --extra-files:list --exclude-patterns:text`,
      },
      routes: { options: '-h --help -s:text --sort:text --all-methods' },
      db: {
        subcommands: {
          'init|migrate|upgrade|revision|current|history|heads|show|check|branches|merge|stamp': migrations,
          downgrade: { asks: 'database/destroy' },
        },
      },
      shell: { asks: 'code/inline' },
    },
  },
  alembic: {
    options: '-h --help --version -c:script --config:script -n:text --name:text -x:text --raiseerr -q',
    subcommands: {
      'upgrade|revision|current|history|heads|branches|check|stamp|merge|show|list_templates': {
        ...migrations,
        options: `${migrations.options} -r:text --rev-range:text -v --verbose -i --indicate-current --purge --version-path:write
          --depends-on:text`,
      },
      init: { options: '-h --help -t:text --template:text --package', operands: 'write' },
      downgrade: { asks: 'database/destroy' },
    },
  },
  'django-admin': {
    options: '-h --help --version',
    subcommands: {
      'startproject|startapp': { options: '-h --help -e:text --extension:text -n:text --name:text', operands: 'text write?' },
      'check|makemigrations|migrate|showmigrations|makemessages|compilemessages|version|help|test|diffsettings': {
        options: '-h --help --settings:text --pythonpath:script -l:text -a --all -v:text --deploy --check --dry-run',
        operands: 'directory*',
      },
      'flush|sqlflush': { asks: 'database/destroy' },
      'shell|dbshell': { asks: 'code/inline' },
    },
  },
  celery: {
    options: '-h --help --version -A:text --app:text --workdir:directory -q --quiet -C --no-color',
    subcommands: {
      'worker|beat|status|inspect|events|report|result|list': {
        options: `-h --help -A:text -l:text --loglevel:text -c:text --concurrency:text -Q:text --queues:text -P:text --pool:text -n:text
          --hostname:text -B -E -s:write -O:text --without-gossip --without-mingle -f:write --logfile:write`,
        operands: 'text*',
      },
      purge: { asks: 'database/destroy' },
    },
  },
  streamlit: {
    options: '-h --help --version',
    subcommands: {
      run: {
        options: `--server.port:text --server.headless:text --server.address:text --browser.gatherUsageStats:text --server.runOnSave:text
          --server.fileWatcherType:text`,
        operands: 'script text*',
      },
      'version|help|hello': { operands: '' },
      cache: { operands: 'text' },
    },
  },
  scrapy: {
    options: '-h --help',
    subcommands: {
      startproject: { options: '-h --help', operands: 'text write?' },
      'crawl|list|check|version|genspider': {
        options: '-h --help -o:write -O:write -a:text -L:text --loglevel:text --nolog -t:text -v',
        operands: 'text*',
      },
    },
  },
  cookiecutter: { asks: 'packages/install' },
};

/** Documents, notebooks, servers and their databases. */
export const pythonWebTools: Programs = { ...documents, ...web };
