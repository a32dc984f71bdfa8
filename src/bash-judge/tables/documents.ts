import { each, type Programs } from './program.ts';

const help = '-h --help -v --version';

// Left out: `-shell-escape` and `-e` of the TeX family, filters of pandoc, plugins of protoc, whatever else runs a program.
const tex = `-version --version -help --help -interaction:text? --interaction:text -output-directory:write --output-directory:write
  -outdir:write -jobname:text -halt-on-error --halt-on-error -file-line-error --file-line-error -no-shell-escape -synctex:text? -draftmode
  -recorder -output-format:text -8bit -quiet -silent -no-file-line-error`;

const typesetting: Programs = {
  ...each('pdflatex xelatex lualatex latex pdftex tex luatex xetex', { options: tex, operands: 'script', words: true }),
  latexmk: {
    options: `${tex} -pdf -pdfxe -pdflua -pdfdvi -xelatex -lualatex -dvi -ps -c -C -CA -f -g -gg -pv -pvc -view:text? -cd -bibtex -bibtex-
      -use-make- -norc -r:script -auxdir:write -outdir:write -output-directory:write -logfilewarnings -time -deps -diagnostics -commands
      -verbose -v`,
    operands: 'script*',
    words: true,
  },
  ...each('bibtex biber makeindex', {
    options: '--version --help -version -help -q --quiet -terse -min-crossrefs:text? -o:write -s:read -t:write -l -r -c',
    operands: 'read',
    words: true,
  }),
  tectonic: {
    options: `-h --help -V --version -o:write --outdir:write -k --keep-logs --keep-intermediates --synctex -r:text --reruns:text -p
      --print -C --only-cached --outfmt:text`,
    operands: 'script',
    subcommands: { compile: { options: '-o:write --outdir:write -k --keep-logs', operands: 'script' } },
  },
  ...each('chktex lacheck latexindent texcount', {
    options: `${help} -q -n:text -w -s -l:read -o:write -m -merge -inc -total -sum -brief -1 -d -local`,
    operands: 'write*',
  }),
  ...each('texdoc kpsewhich', { options: `${help} -l -s -all`, operands: 'text*', words: true }),
  pandoc: {
    options: `-h --help -v --version -f:script -r:script --from:script --read:script -t:script -w:script --to:script --write:script
      -o:write --output:write -s --standalone --toc --table-of-contents --toc-depth:text --template:read -c:text --css:text -M:text --metadata:text
      --metadata-file:read -V:text --variable:text --variable-json:text -N --number-sections --number-offset:text --highlight-style:text
      --syntax-highlighting:text --no-highlight --mathjax:text? --katex:text? --mathml --webtex:text? --gladtex --self-contained
      --embed-resources --resource-path:read --extract-media:write --wrap:text --columns:text --eol:text --dpi:text -C --citeproc
      --bibliography:read --csl:read --citation-abbreviations:read --reference-doc:read --reference-links --reference-location:text
      -H:read --include-in-header:read -B:read --include-before-body:read -A:read --include-after-body:read -L:script --lua-filter:script
      -d:script --defaults:script --data-dir:script --pdf-engine:script --shift-heading-level-by:text --base-header-level:text
      --top-level-division:text --section-divs --id-prefix:text --title-prefix:text -T:text --epub-cover-image:read --epub-metadata:read
      --epub-embed-font:read --split-level:text --slide-level:text -i --incremental --markdown-headings:text --atx-headers --list-tables
      --ascii --strip-comments --no-check-certificate!network/remote -p --preserve-tabs --tab-stop:text --track-changes:text --file-scope
      --sandbox:text? --html-q-tags --email-obfuscation:text --list-input-formats --list-output-formats --list-extensions:text?
      --list-highlight-languages --list-highlight-styles -D:text --print-default-template:text --verbose --quiet --trace
      --fail-if-warnings:text? --log:write`,
    operands: 'read*',
  },
  typst: {
    options: `${help} -V --color:text`,
    subcommands: {
      'compile|c|watch|w|fonts|query|init': {
        options: `-h --help --root:read --font-path:read --input:text -f:text --format:text --pages:text --ppi:text
          --diagnostic-format:text --open --timings:write? --field:text --one --ignore-system-fonts -j:text --jobs:text`,
        operands: 'read write?',
      },
    },
  },
  quarto: {
    options: `${help}`,
    subcommands: {
      'render|preview|check|convert|list|help': {
        options: `--to:text -t:text -o:text --output:text --output-dir:write --execute --no-execute --no-browser --port:text --no-clean
          --quiet`,
        operands: 'script?',
      },
      'publish|install|add|use|update|remove|run': { asks: 'program/subcommand' },
    },
  },
  ...each('asciidoctor asciidoctor-pdf', {
    options: `-h --help -V --version -b:text --backend:text -d:text --doctype:text -o:write --out-file:write -D:write
      --destination-dir:write -a:text --attribute:text -n --section-numbers -s --no-header-footer -e -q --quiet -v --verbose -w --warnings
      -r:script --require:script -I:script -T:script -B:directory --base-dir:directory -R:directory --trace -t --timings -S:text
      --safe-mode:text --safe --failure-level:text`,
    operands: 'read+',
  }),
  ...each('rst2html rst2latex rst2pdf rst2html5 docutils markdown_py markdown cmark marked', {
    options: `-h --help --version -o:write --output:write -i:read -s --gfm -t:text --to:text --unsafe --smart -e:text -x:text
      --stylesheet:read --config:read --no-toc-backlinks -q`,
    operands: 'read? write?',
  }),
  hugo: {
    options: `-h --help -D --buildDrafts -E --buildExpired -F --buildFuture -d:write --destination:write -s:directory --source:directory
      -b:text --baseURL:text -e:text --environment:text --minify --gc --cleanDestinationDir --config:script --configDir:script -t:text
      --theme:text -w --watch -v --verbose --quiet --logLevel:text --debug --templateMetrics --printPathWarnings --panicOnWarning
      --cacheDir:write -c:read --contentDir:read`,
    operands: '',
    subcommands: {
      'server|serve|build|version|env|list|config|mod|convert|gen': {
        options: `-h --help -D --buildDrafts -E -F --buildFuture -p:text --port:text --bind:text -b:text --baseURL:text
          --disableFastRender --navigateToChanged --noHTTPCache --renderToMemory --minify -d:write --destination:write -s:directory
          --source:directory -e:text --environment:text -w --watch:text? -t:text --theme:text -k:text --kind:text --format:text -f --force
          --gc --logLevel:text --openBrowser -O`,
        operands: 'text*',
      },
      new: {
        options: '-h --help -k:text --kind:text --format:text -f --force -s:directory --source:directory -t:text --theme:text',
        operands: 'write',
        subcommands: { 'site|theme|content': { options: '-h --help -k:text --kind:text --format:text -f --force', operands: 'write' } },
      },
      deploy: { asks: 'packages/publish' },
    },
  },
  ...each('zola cobalt', {
    options: `${help} -V -r:directory --root:directory -c:script --config:script`,
    subcommands: {
      'build|serve|check|init|new': {
        options: `-h --help -o:write --output-dir:write -f --force -u:text --base-url:text -i:text --interface:text -p:text --port:text
          --drafts -O --open --fast --skip-external-links`,
        operands: 'write?',
      },
    },
  }),
  ...each('eleventy @11ty/eleventy', {
    options: `${help} --input:directory --output:write --serve --watch --port:text --dryrun --quiet --incremental --config:script
      --formats:text --pathprefix:text --to:text`,
    operands: '',
  }),
  mmdc: {
    options: `-h --help -V --version -i:read --input:read -o:write --output:write -t:text --theme:text -w:text --width:text -H:text
      --height:text -b:text --backgroundColor:text -c:read --configFile:read -C:read --cssFile:read -s:text --scale:text -f --pdfFit -q
      --quiet -e:text --outputFormat:text -p:script --puppeteerConfigFile:script`,
  },
  plantuml: {
    options: `-version -help -h -tsvg -tpng -tpdf -ttxt -tutxt -o:write -output:write -charset:text -v -verbose -nometadata -checkonly
      -syntax -failfast2 -pipe -p`,
    operands: 'read*',
    words: true,
  },
  ...each('dot neato fdp sfdp twopi circo osage patchwork', {
    options: '-V -? -T:text? -o:write -O -K:text? -G:text? -N:text? -E:text? -l:text? -s:text? -n:text? -x -y -q -v',
    operands: 'read*',
    words: true,
  }),
  gnuplot: {
    options: '-h --help -V --version -p --persist -d --default-settings -e:code -c:script',
    operands: 'script text*',
    operandsWith: { '-V': '', '--version': '', '-h': '', '--help': '', '-e': 'text*', '-c': 'text*' },
  },
  ...each('marp slidev', {
    options: `${help} -o:write --output:write --pdf --pptx --html --images:text --theme:text -w --watch -s --server -p --preview
      --allow-local-files -c:script --config-file:script --port:text --open`,
    operands: 'read*',
    subcommands: {
      'build|export|format': { options: '--out:write -o:write --output:write --base:text --format:text --dark', operands: 'read*' },
    },
  }),
};

const schemas: Programs = {
  protoc: {
    options: `-h --help --version -I:read --proto_path:read --python_out:write --pyi_out:write --mypy_out:write --grpc_python_out:write
      --cpp_out:write --java_out:write --kotlin_out:write --csharp_out:write --ruby_out:write --php_out:write --objc_out:write
      --js_out:write --ts_out:write --es_out:write --go_out:write --go-grpc_out:write --grpc_out:write --grpc-web_out:write
      --grpc-gateway_out:write --openapiv2_out:write --swift_out:write --dart_out:write --rust_out:write --doc_out:write
      --validate_out:write --connect-go_out:write --connect-es_out:write --go_opt:text --go-grpc_opt:text --ts_opt:text --es_opt:text
      --js_opt:text --doc_opt:text --grpc-gateway_opt:text --openapiv2_opt:text --connect-go_opt:text --grpc-web_opt:text
      --descriptor_set_out:write -o:write --descriptor_set_in:read --include_imports --include_source_info --retain_options
      --experimental_allow_proto3_optional --error_format:text --fatal_warnings --dependency_out:write --deterministic_output
      --encode:text --decode:text --decode_raw`,
    operands: 'script*',
  },
  ...each('flatc thrift capnp', {
    options: `--version --help --cpp --python --go --java --ts --js --rust --csharp -o:write -I:read --gen:text -gen:text -out:write -r
      --gen-all --gen-object-api --schema -v --strict`,
    operands: 'read*',
    words: true,
  }),
  ...each('ajv check-jsonschema jsonschema jsonlint', {
    options: `${help} -s:read -d:read -i:read --spec:text --schemafile:read --builtin-schema:text --errors:text --all-errors -c:script
      --strict:text? --verbose -q --compact --instance:read -o:text --output:text`,
    operands: 'read*',
    subcommands: {
      'validate|compile|test|help': {
        options: '-s:read -d:read -r:read --spec:text -c:script --strict:text? --errors:text --all-errors --verbose',
        operands: 'read*',
      },
    },
  }),
  ...each('redocly spectral swagger-cli openapi', {
    options: help,
    subcommands: {
      'lint|bundle|validate|build-docs|stats|preview-docs|split|join': {
        options: `${help} -o:write --output:write --outfile:write --outDir:write -r:script --ruleset:script -f:text --format:text
          --config:script --extends:text --max-problems:text --ext:text -t:text --type:text --dereferenced -q -F:text --fail-severity:text`,
        operands: 'read*',
      },
    },
  }),
};

const checks: Programs = {
  shellcheck: {
    options: `-a -x -s:text -e:text -i:text -o:text -f:text -S:text -C:text? -P:read -W:text -V --version --help --check-sourced
      --external-sources --shell:text --exclude:text --include:text --enable:text --format:text --severity:text --color:text?
      --source-path:read --rcfile:read --norc --list-optional --wiki-link-count:text`,
    operands: 'read*',
  },
  shfmt: {
    options: `-h --help -version --version -w --write -l --list -d --diff -i:text --indent:text -i=2 -ci --case-indent -bn
      --binary-next-line -sr --space-redirects -kp --keep-padding -fn --func-next-line -s --simplify -mn --minify -ln:text
      --language-dialect:text -p --posix -f --find --filename:text -exp.recover:text`,
    operands: 'write*',
    words: true,
  },
  bashate: {
    options: '-h --help -i:text --ignore:text -w:text --warn:text -e:text --error:text --max-line-length:text -v',
    operands: 'read*',
  },
  hadolint: {
    options: `-h --help -V -v --version -c:read --config:read --ignore:text -f:text --format:text -t:text --failure-threshold:text
      --no-fail --no-color --verbose --trusted-registry:text --error:text --warning:text --info:text --style:text --require-label:text
      --strict-labels --disable-ignore-pragma`,
    operands: 'read*',
  },
  actionlint: {
    options: `-h -help --help -version --version -color -no-color -format:text -ignore:text -config-file:read -verbose -debug -oneline
      -stdin-filename:text -init-config`,
    operands: 'read*',
    words: true,
  },
  yamllint: {
    options: `-h --help -v --version -c:read --config-file:read -d:text --config-data:text -f:text --format:text -s --strict --no-warnings
      --list-files`,
    operands: 'read*',
  },
  'pre-commit': {
    options: '-h --help -V --version',
    operands: '',
    subcommands: {
      run: {
        options: `-h --help -c:script --config:script --color:text -v --verbose -a --all-files --files:write --show-diff-on-failure
          --hook-stage:text --from-ref:text -s:text --source:text --to-ref:text -o:text --origin:text --fail-fast`,
        operands: 'text*',
      },
      'autoupdate|validate-config|validate-manifest|clean|gc|sample-config|install-hooks|migrate-config|help': {
        options: '-h --help -c:script --config:script --color:text --freeze -j:text --bleeding-edge',
        operands: 'read*',
      },
      'install|uninstall|init-templatedir|hook-impl': { asks: 'persistence/git' },
      'try-repo': { asks: 'packages/install' },
    },
  },
  lefthook: {
    options: help,
    subcommands: {
      'run|validate|dump|version|check-install': {
        options: '--all-files --files:text --force --commands:text --verbose --no-tty',
        operands: 'text*',
      },
      'install|uninstall|add': { asks: 'persistence/git' },
    },
  },
  ...each('vale proselint alex write-good textlint typos codespell lychee linkchecker markdown-link-check remark', {
    options: `${help} -V -c:script --config:script -w --write-changes --format:text --output:text --minAlertLevel:text --no-progress
      --offline --exclude:text --include:text --diff --files --fix --glob:text --ignore:text --rule:text -q --quiet --verbose
      --max-concurrency:text --timeout:text --accept:text --no-exit --frail`,
    operands: 'write*',
  }),
  ...each('editorconfig-checker ec taplo dprint xmllint tidy', {
    options: `${help} -V -q --quiet --noout --format --encode:text --nonet --valid --schema:read --relaxng:read --dtdvalid:read
      --xpath:text --html --recover --output:write -o:write -exclude:text --exclude:text --check --config:read -c:read -i -m -e -errors
      -indent -quiet -xml -utf8 --pretty:text --colors:text --diff --dry-run -verbose`,
    operands: 'write*',
    subcommands: {
      'fmt|format|lint|check|get|output-file-paths|output-config': {
        options: `--check --diff -o:text --option:text --config:read -c:read --colors:text --force --excludes:text --incremental
          --stdin:text`,
        operands: 'write*',
      },
    },
  }),
  ...each('ansible-lint tflint checkov kubeconform kubeval kube-linter conftest djhtml cfn-lint', {
    options: `${help} -q --quiet -p --parseable --offline --fix:text? --write:text? -c:read --config:read --strict --recursive
      -d:directory --directory:directory -f:read --file:read -o:text --output:text --compact --framework:text --check:text
      --skip-check:text --soft-fail -s --summary --ignore-missing-schemas --kubernetes-version:text -t:text --template:text -r:text
      --regions:text --profile:text -x:text --exclude:text`,
    operands: 'read*',
    subcommands: {
      'lint|test|verify|checks|templates|version': {
        options: '--config:read --format:text -p:read --policy:read --all-namespaces -o:text',
        operands: 'read*',
      },
    },
  }),
  ...each('gitleaks trufflehog detect-secrets', {
    options: `${help}`,
    subcommands: {
      'detect|protect|dir|git|scan|filesystem|version': {
        options: `-h --help -s:read --source:read -v --verbose --no-git --redact:text? -r:write --report-path:write -f:text
          --report-format:text -c:read --config:read --staged --no-banner --baseline-path:read --exit-code:text -l:text --log-opts:text
          --only-verified --json --no-update --no-verification --all-files --baseline:read --exclude-files:text`,
        operands: 'read*',
      },
    },
  }),
  ...each('cloc tokei scc sloccount', {
    options: `${help} --vcs:package --exclude-dir:text --include-lang:text --exclude-lang:text --by-file --by-file-by-lang --json --yaml
      --csv --md --quiet --not-match-d:text --fullpath --git --hide-rate -e:text --exclude:text -f --files -s:text --sort:text -t:text
      --type:text -o:write --output:write -i:text --include-ext:text --no-cocomo --no-complexity -w --wide --format:text -c -n
      --progress-rate:text`,
    operands: 'read*',
  }),
  hyperfine: {
    options: `${help} -V -w:text --warmup:text -m:text --min-runs:text -M:text --max-runs:text -r:text --runs:text -p:shell
      --prepare:shell -s:shell --setup:shell -c:shell --cleanup:shell -i --ignore-failure -N -u:text --time-unit:text --style:text
      --export-json:write --export-markdown:write --export-csv:write --show-output -n:text --command-name:text`,
    operands: 'shell*',
  },
};

export const documentPrograms: Programs = { ...typesetting, ...schemas, ...checks };
