import { each, type Programs } from './program.ts';

const help = '--help --version';

/** Options that only change what is shown. */
const showing: Programs = {
  ...each('cat gcat', { operands: 'read*', anyOption: true, prints: 'input' }),
  ...each('tac rev', { options: '-s:text --separator:text', operands: 'read*', anyOption: true }),
  ...each('head tail ghead gtail', {
    options: `-n:text --lines:text -c:text --bytes:text -s:text --sleep-interval:text --pid:text --max-unchanged-stats:text -b:text`,
    operands: 'read*',
    anyOption: true,
  }),
  // Security: `+!command` runs a command of the shell, and looks like a file. So they are for what they read from others.
  less: {
    options: `${help} -NSRFXiIneErMmgGqQswWKcCuUaAJL -#:text -p:text -P:text -j:text -x:text -y:text -z:text -b:text -h:text +F +G +g
      --quit-if-one-screen --no-init --RAW-CONTROL-CHARS --raw-control-chars --chop-long-lines --LINE-NUMBERS --line-numbers --ignore-case
      --IGNORE-CASE --quit-at-eof --QUIT-AT-EOF --squeeze-blank-lines --pattern:text --tabs:text --no-lessopen`,
  },
  more: { options: `${help} -dflpcsu -n:text --lines:text --silent --squeeze --plain` },
  ...each('bat batcat', {
    options: `${help} -h -V -AnpPfuSLqd -l:text --language:text -r:text --line-range:text -H:text --highlight-line:text --file-name:text
      --style:text --color:text --theme:text --paging:text --tabs:text --wrap:text --terminal-width:text --decorations:text
      --italic-text:text -m:text --map-syntax:text --show-all --plain --number --diff --diff-context:text --list-languages --list-themes
      --force-colorization --unbuffered --squeeze-blank --no-pager --chop-long-lines`,
    operands: 'read*',
  }),
  wc: { options: '--files0-from:read --total:text', operands: 'read*', anyOption: true, prints: 'name' },
  nl: {
    options: `-b:text -d:text -f:text -h:text -i:text -l:text -n:text -s:text -v:text -w:text --body-numbering:text
      --starting-line-number:text --number-width:text --number-separator:text --number-format:text`,
    operands: 'read*',
    anyOption: true,
  },
  ...each('fold fmt pr', {
    options: '-w:text --width:text -p:text --prefix:text -g:text --goal:text -l:text -h:text --header:text -o:text -s:text? -S:text?',
    operands: 'read*',
    anyOption: true,
  }),
  ...each('expand unexpand', { options: '-t:text --tabs:text', operands: 'read*', anyOption: true }),
  column: {
    options: `-s:text --separator:text -o:text --output-separator:text -c:text --output-width:text -N:text --table-columns:text -R:text
      --table-right:text -H:text --table-hide:text -E:text --table-noextreme:text -O:text --table-order:text -n:text --table-name:text
      -W:text --table-wrap:text -T:text --table-truncate:text -l:text --table-columns-limit:text -i:text --tree-id:text -p:text
      --tree-parent:text -r:text --tree:text`,
    operands: 'read*',
    anyOption: true,
  },
  colrm: { operands: 'text*', anyOption: true },
  cut: {
    options: `-d:text --delimiter:text -f:text --fields:text -c:text --characters:text -b:text --bytes:text --output-delimiter:text`,
    operands: 'read*',
    anyOption: true,
  },
  tr: { operands: 'text*', anyOption: true },
  paste: { options: '-d:text --delimiters:text', operands: 'read*', anyOption: true },
  join: {
    options: '-t:text -1:text -2:text -j:text -o:text -e:text -a:text -v:text',
    operands: 'read*',
    anyOption: true,
  },
  comm: { options: '--output-delimiter:text', operands: 'read*', anyOption: true },
  tsort: { operands: 'read*', anyOption: true },
  uniq: {
    options: `${help} -cdDuiz -f:text --skip-fields:text -s:text --skip-chars:text -w:text --check-chars:text --count --repeated
      --all-repeated:text? --group:text? --unique --ignore-case --zero-terminated`,
    operands: 'read? write?',
    prints: 'input',
  },
  // `--compress-program` runs a program.
  ...each('sort gsort', {
    options: `${help} -bdfgiMhnRrVcCmsuz -k:text --key:text -t:text --field-separator:text -o:write --output:write -S:text
      --buffer-size:text -T:write --temporary-directory:write --parallel:text --batch-size:text --files0-from:read --random-source:read
      --sort:text --check:text? --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting
      --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --merge --stable --unique --zero-terminated
      --debug`,
    operands: 'read*',
    prints: 'input',
  }),
  shuf: {
    options: `${help} -erz -i:text --input-range:text -n:text --head-count:text -o:write --output:write --random-source:read --echo --repeat
      --zero-terminated`,
    operands: 'read?',
    operandsWith: { '-e': 'text*', '--echo': 'text*' },
  },
  // `-f` and `-s` print any text.
  ...each('seq gseq', { options: `${help} -w --equal-width -#`, operands: 'text*', prints: 'name' }),
  numfmt: {
    options: `--from:text --to:text --from-unit:text --to-unit:text --format:text --field:text -d:text --delimiter:text --suffix:text
      --padding:text --round:text --invalid:text --header:text?`,
    operands: 'text*',
    anyOption: true,
  },
  ...each('strings', {
    options: `-afwedoSTU -n:text --bytes:text -t:text --radix:text -e:text --encoding:text -s:text --all --print-file-name -#`,
    operands: 'read*',
  }),
  ...each('od hexdump hd hexyl', {
    options: `-A:text --address-radix:text -j:text --skip-bytes:text -N:text --read-bytes:text -t:text --format:text -w:text? -n:text
      -s:text -e:text -f:read -l:text --length:text --color:text --border:text`,
    operands: 'read*',
    anyOption: true,
  }),
  xxd: {
    options: `-a -b -e -E -i -p -ps -plain -postscript -r -revert -u -v -version -h -autoskip -bits -include -uppercase -C -d -c:text
      -cols:text -g:text -groupsize:text -l:text -len:text -n:text -name:text -o:text -s:text -seek:text -R:text`,
    operands: 'read? write?',
    words: true,
  },
  ...each('base64 base32 basenc', {
    options: `${help} -dDi -w:text --wrap:text -b:text --break:text --decode --ignore-garbage --base64 --base64url --base32 --base32hex
      --base16 --z85`,
    operands: 'read?',
  }),
  ...each('md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum sum md5 shasum crc32 xxhsum xxh64sum', {
    options: '-a:text --algorithm:text -l:text --length:text -s:text',
    operands: 'read*',
    anyOption: true,
  }),
  ...each('diff gdiff', {
    options: `-C:text --context:text? -U:text --unified:text? -I:text --ignore-matching-lines:text -F:text --show-function-line:text
      -L:text --label:text -W:text --width:text -D:text --ifdef:text -x:text --exclude:text -X:read --exclude-from:read -S:text
      --starting-file:text --from-file:read --to-file:read --color:text? --palette:text --tabsize:text --horizon-lines:text
      --line-format:text --old-line-format:text --new-line-format:text --unchanged-line-format:text --old-group-format:text
      --new-group-format:text --changed-group-format:text`,
    operands: 'read*',
    anyOption: true,
  }),
  ...each('cmp', { options: '-i:text --ignore-initial:text -n:text --bytes:text', operands: 'read*', anyOption: true }),
  sdiff: {
    options: `${help} -abBdEilstWHv -w:text --width:text -o:write --output:write -I:text --suppress-common-lines --ignore-case`,
    operands: 'read read',
  },
  diff3: {
    options: `${help} -aAeEimTxX3 -L:text --label:text --merge --text --show-all --easy-only --overlap-only`,
    operands: 'read read read',
  },
  ...each('colordiff icdiff wdiff', {
    options: '-u -r -N -w -b -i -y -n -1 -2 -3 -U:text --color:text? --version --help',
    operands: 'read*',
  }),
  ...each('difft difftastic', {
    options: `${help} --color:text --display:text --context:text --width:text --tab-width:text --background:text --syntax-highlight:text
      --language:text --override:text --check-only --ignore-comments --skip-unchanged --exit-code --list-languages --strip-cr:text`,
    operands: 'read*',
  }),
  delta: {
    options: `${help} -sn --side-by-side --line-numbers --light --dark --color-only --navigate --raw --diff-so-fancy --diff-highlight
      --keep-plus-minus-markers --syntax-theme:text --width:text -w:text --paging:text --tabs:text --list-languages --list-syntax-themes
      --hyperlinks --features:text`,
    operands: 'read*',
  },
  diffstat: { options: '-p:text -w:text -n:text', operands: 'read*', anyOption: true },
  ...each('ts', { options: '-isrm', operands: 'text?' }),
  pv: {
    options: `${help} -ptrebanWfIqlLcT0 -s:text -L:text -i:text -N:text -w:text -B:text --size:text --name:text --rate-limit:text
      --line-mode`,
    operands: 'read*',
  },
  ...each('figlet toilet', { options: '-f:text -w:text -ctkpsSW --gay --metal', operands: 'text*' }),
  // A picture of `-f` is code in Perl.
  cowsay: { options: '-bdgpstwynlh -e:text -T:text -W:text', operands: 'text*' },
  lolcat: { options: '-aitfhv -p:text -F:text -S:text -d:text -s:text', operands: 'read*' },
};

const grepOptions = `${help} -EFGPwxivcLlqsobHhnTuZzarRIUyV -e:text --regexp:text --regex:text --rege:text --reg:text -f:read --file:read
  -m:text --max-count:text -A:text --after-context:text -B:text --before-context:text -C:text --context:text -d:text --directories:text
  -D:text --devices:text --include:text --exclude:text --exclude-dir:text --exclude-from:read --include-dir:text --la:text!program/option --lab:text!program/option --labe:text!program/option --label:text!program/option
  --color:text? --colour:text? --binary-files:text --group-separator:text -#`;
const withPattern = {
  '-e': 'read*',
  '--regexp': 'read*',
  '--regex': 'read*',
  '--rege': 'read*',
  '--reg': 'read*',
  '-f': 'read*',
  '--file': 'read*',
};

const searching: Programs = {
  ...each('grep egrep fgrep ggrep zgrep zegrep zfgrep bzgrep xzgrep zstdgrep', {
    options: grepOptions,
    operands: 'text read*',
    operandsWith: withPattern,
    anyOption: true,
    prints: { '-l': 'paths', '-L': 'paths', '--files-with-matches': 'paths', '--files-without-match': 'paths' },
  }),
  // `--pre` and `--hostname-bin` run programs.
  rg: {
    options: `${help} -h -V -.0aFHhIiLlNnopPqSsUuvwxz -c -b -e:text --regexp:text -f:read --file:read -A:text --after-context:text -B:text
      --before-context:text -C:text --context:text -g:text --glob:text --iglob:text -t:text --type:text -T:text --type-not:text -m:text
      --max-count:text -d:text --max-depth:text --maxdepth:text -j:text --threads:text -M:text --max-columns:text -r:text --replace:text
      -E:text --encoding:text --color:text --colors:text --sort:text --sortr:text --engine:text --max-filesize:text --path-separator:text
      --context-separator:text --field-match-separator:text --field-context-separator:text --type-add:text --type-clear:text
      --ignore-file:read --dfa-size-limit:text --regex-size-limit:text --generate:text --stop-on-nonmatch --hidden
      --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --no-ignore-exclude --no-ignore-files
      --no-ignore-messages --ignore --ignore-case --case-sensitive --smart-case --fixed-strings --no-fixed-strings --word-regexp
      --line-regexp --invert-match --count --count-matches --files --files-with-matches --files-without-match --line-number
      --no-line-number --column --no-column --heading --no-heading --with-filename --no-filename --null --null-data --only-matching
      --multiline --multiline-dotall --no-multiline --pcre2 --no-pcre2 --json --vimgrep --stats --no-stats --trim --follow --no-follow
      --text --binary --search-zip --unrestricted --pretty --quiet --passthru --passthrough --max-columns-preview --no-messages
      --no-config --no-mmap --mmap --one-file-system --crlf --line-buffered --block-buffered --byte-offset --debug --trace --type-list
      --glob-case-insensitive --include-zero --auto-hybrid-regex --no-unicode --unicode --no-require-git --require-git --pcre2-version`,
    operands: 'text read*',
    operandsWith: { ...{ '-e': 'read*', '--regexp': 'read*', '-f': 'read*', '--file': 'read*' }, '--files': 'read*', '--type-list': '' },
    prints: {
      '--json': 'input',
      '--vimgrep': 'input',
      '-c': 'input',
      '--count': 'input',
      '--count-matches': 'input',
      '-l': 'paths',
      '--files-with-matches': 'paths',
      '--files-without-match': 'paths',
      '--files': 'paths',
    },
  },
  rga: {
    options: `${help} -inlcwvFS -e:text -A:text -B:text -C:text -g:text -t:text -m:text`,
    operands: 'text read*',
    operandsWith: { '-e': 'read*' },
  },
  ...each('ag ack', {
    options: `${help} -acHhiLlnoQqrRSsUuvwxz0fF -A:text --after:text -B:text --before:text -C:text --context:text -G:text -g:text -m:text
      --max-count:text --depth:text --ignore:text --ignore-dir:text --ignore-case --literal --word-regexp --hidden --column --nocolor
      --color --count --files-with-matches --files-without-matches --nogroup --group --noheading --heading --nofilename --filename
      --numbers --nonumbers --js --ts --py --python --ruby --go --rust --java --cpp --cc --html --css --json --yaml --md --markdown
      --shell --php --sql --xml --type:text -t:text --vimgrep --stats --all-types --all-text --unrestricted --smart-case --case-sensitive
      --silent --follow --nofollow --print0 --null`,
    operands: 'text read*',
    operandsWith: { '-g': 'read*', '-f': 'read*' },
  }),
  ...each('pdfgrep', {
    options: `${help} -inHhcoFPrRqZ -e:text -A:text -B:text -C:text -m:text --include:text --exclude:text --color:text`,
    operands: 'text read*',
  }),
  fzf: {
    options: `${help} -f:text --filter:text -q:text --query:text -m --multi:text? -e --exact -i +i -x +x -s:text? +s -n:text --nth:text
      --with-nth:text -d:text --delimiter:text -0 --exit-0 -1 --select-1 --height:text --layout:text --reverse --border:text?
      --prompt:text --header:text --tac --no-sort --ansi --print0 --read0 --print-query --cycle --algo:text --tiebreak:text --no-mouse
      --color:text`,
  },
};

/** Languages of their own. */
const languages: Programs = {
  // With `-e` and `-i` together all are written; the files of `-e` alone are then looked at as if they were, too.
  ...each('sed gsed', {
    options: `${help} -nErsuz -e:sed --expression:sed -f:script --file:script -i:write? --in-place:write? -l:text --line-length:text --quiet
      --silent --regexp-extended --posix --debug --sandbox --separate --unbuffered --null-data --follow-symlinks`,
    operands: 'sed read*',
    operandsWith: {
      '-e': 'write*',
      '--expression': 'write*',
      '-f': 'write*',
      '--file': 'write*',
      '-i': 'sed write*',
      '--in-place': 'sed write*',
    },
  }),
  ...each('awk gawk mawk nawk', {
    options: `${help} -V -F:text --field-separator:text -v:text --assign:text -f:script --file:script -e:awk --source:awk -b -c -n -N -r
      -S -P -t --posix --traditional --sandbox --characters-as-bytes --re-interval --use-lc-numeric --non-decimal-data --csv -k
      --lint:text?`,
    operands: 'awk read*',
    operandsWith: { '-f': 'read*', '--file': 'read*', '-e': 'read*', '--source': 'read*', '--version': '', '-V': '' },
  }),
  // `--arg name value` has two values: the name belongs to the option, the value stands before the filter.
  ...each('jq gojq jaq', {
    options: `${help} -h -V -renNcsSajCMR0 -f:script --from-file:script --indent:text --tab --arg:text --argjson:text --seq --stream
      --stream-errors --raw-output --raw-output0 --join-output --raw-input --null-input --compact-output --slurp --sort-keys
      --ascii-output --color-output --monochrome-output --exit-status --unbuffered --binary -b --build-configuration`,
    operands: 'jq read*',
    operandsWith: {
      '--arg': 'text jq read*',
      '--argjson': 'text jq read*',
      '-f': 'read*',
      '--from-file': 'read*',
      '--version': '',
      '-V': '',
      '--help': '',
      '-h': '',
    },
  }),
  // `-s` of the one in Go names files that it writes.
  yq: {
    options: `${help} -h -V -rNnPCMejcSy -i --inplace --in-place -o:text --output-format:text -p:text --input-format:text -I:text
      --indent:text --arg:text --argjson:text --null-input --prettyPrint --colors --no-colors --no-doc --exit-status --unwrapScalar:text?
      --raw-output --yaml-output --yaml-roundtrip --compact-output --sort-keys -t -x --xml-output --toml-output --tojson --from-file:script`,
    operands: 'jq read*',
    operandsWith: {
      '-i': 'jq write+',
      '--inplace': 'jq write+',
      '--in-place': 'jq write+',
      '--arg': 'text jq read*',
      '--argjson': 'text jq read*',
      '--from-file': 'read*',
      '--version': '',
      '-V': '',
      '--help': '',
      '-h': '',
    },
    subcommands: {
      'eval|e|eval-all|ea': {
        options: `-rNnPCMeji -o:text --output-format:text -p:text --input-format:text -I:text --indent:text --null-input --prettyPrint
          --colors --no-colors --no-doc --exit-status --inplace`,
        operands: 'jq read*',
        operandsWith: { '-i': 'jq write+', '--inplace': 'jq write+' },
      },
    },
  },
  xmllint: {
    options: `${help} --format --noout --xpath:text --schema:read --relaxng:read --dtdvalid:read --valid --html --recover --nonet
      --noblanks --nsclean --c14n --encode:text --pretty:text --output:write -o:write --nowarning --timing --stream --huge --noenc --quiet
      --nocdata --dropdtd`,
    operands: 'read*',
  },
  // A stylesheet may write files.
  xsltproc: {
    options: `${help} -o:write --output:write --noout --nonet --html --novalid --nowrite --nomkdir --timing --verbose -v`,
    operands: 'script read*',
  },
  ...each('xmlstarlet xml', {
    subcommands: {
      'sel|select': {
        options: '-tnTIRBCDEQ -N:text -m:text -v:text -c:text -o:text -i:text -e:text -a:text -s:text -f',
        operands: 'read*',
      },
      'val|validate|fo|format|el|elements|c14n': { options: '-wqbeoRDHtasuvn -d:read -s:text -r:read -x:read', operands: 'read*' },
    },
  }),
  ...each('csvcut csvgrep csvlook csvstat csvsort csvjoin csvstack csvclean csvformat csvjson in2csv csvtool', {
    options: `${help} -h -V -tHSvznxlLaricKIyUDTMN -d:text --delimiter:text -q:text --quotechar:text -u:text -e:text --encoding:text
      -c:text --columns:text -C:text --not-columns:text -m:text --match:text -r:text --regex:text -f:text -i -n --names --tabs
      --no-header-row --skip-lines:text -K:text --invert-match --max-rows:text --max-columns:text --max-column-width:text --no-inference
      -k:text --key:text --sheet:text --format:text --outer --left --right --count --sum --mean --median --min --max --freq --len --nulls
      --unique --type --stdev --csv --json --reverse`,
    operands: 'read*',
  }),
  xsv: {
    options: help,
    subcommands: {
      'cat|count|fixlengths|flatten|fmt|frequency|headers|index|input|join|sample|search|select|slice|sort|stats|table': {
        options: `-hnirvRNjls -d:text --delimiter:text -s:text --select:text -o:write --output:write --no-headers --limit:text -e:text
          -l:text --len:text --start:text -i:text --index:text -j:text --jobs:text --everything --median --cardinality --mode --nulls
          --numeric --reverse --just-names`,
        operands: 'read*',
      },
    },
  },
};

const changing: Programs = {
  tee: { options: `${help} -aip --append --ignore-interrupts --output-error:text?`, operands: 'write*' },
  sponge: { options: '-a', operands: 'write?' },
  // `-e` hands an old kind of patch to ed, which runs commands.
  patch: {
    options: `${help} -bcflnNRstTuvZE -p:text --strip:text -d:into --directory:into -i:read --input:read -o:write --output:write
      -r:write --reject-file:write -F:text --fuzz:text -V:text --version-control:text -z:write --suffix:write -B:write --prefix:write -Y:write
      --dry-run --backup --forward --reverse --force --batch --silent --quiet --verbose --unified --context --normal --merge:text?
      --binary --ignore-whitespace --remove-empty-files --no-backup-if-mismatch --reject-format:text --posix --read-only:text`,
    operands: 'write? read?',
    brings: 'patched',
    bringsUnless: '--dry-run --help --version',
  },
  iconv: {
    options: `${help} -lcs -f:text --from-code:text -t:text --to-code:text -o:write --output:write --list --silent --verbose`,
    operands: 'read*',
  },
  ...each('dos2unix unix2dos mac2unix', {
    options: `${help} -bcfkqsuvVlmhri --force --keepdate --quiet --safe --add-bom --remove-bom --info:text? --newfile -n -o`,
    operands: 'write*',
    operandsWith: { '-n': 'read write', '--newfile': 'read write' },
  }),
  recode: { operands: 'text write*', options: '-fqvl --list' },
  // It prints the values of variables, also of secret ones.
  envsubst: { options: '-v --variables', operands: 'text?', asks: 'credentials/environment' },
};

const reading: Programs = {
  man: {
    options: '-afkwKl --all --apropos --whatis -s:text -S:text --sections:text --path --where --location -L:text',
    operands: 'read*',
    operandsWith: { '-l': 'read*', '-k': 'text*', '--apropos': 'text*' },
  },
  info: { options: '-afkwO -n:text --node:text --all --where --location --subnodes --apropos', operands: 'read*' },
  ...each('apropos whatis tldr cheat', {
    options: `-afkwKl --all --apropos --whatis -s:text -S:text --sections:text --path --where --location -L:text -p:text --platform:text
      --list --update`,
    operands: 'text*',
  }),
};

export const textPrograms: Programs = { ...showing, ...searching, ...languages, ...changing, ...reading };
