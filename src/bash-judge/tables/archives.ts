import { each, type Program, type Programs } from './program.ts';

const help = '--help --version';

// Left out: what runs programs (`-I`, `--to-command`, `--checkpoint-action`, `-F`, `--rsh-command`), what leads out of the directory
// (`-P`, `--transform`), and what removes whole directories (`--recursive-unlink`).
const tarOptions = `${help} -vvzjJaZhpkmwSUWlOR -C:into --directory:into -X:read --exclude-from:read -T:read --files-from:read
  -b:text -N:text --exclude:text --exclude-vcs --exclude-vcs-ignores --exclude-backups --exclude-caches --strip-components:text
  --strip:text --one-top-level:into? --owner:text --group:text --mode:mode --mtime:text --sort:text --format:text -H:text --posix
  --numeric-owner --gzip --gunzip --ungzip --bzip2 --xz --zstd --lzma --lzip --lzop --compress --auto-compress --no-auto-compress
  --verbose --totals --wildcards --no-wildcards --wildcards-match-slash --anchored --no-anchored --ignore-case --no-recursion --recursion
  --dereference --hard-dereference --preserve-permissions --same-permissions --no-same-permissions --same-owner --no-same-owner
  --keep-old-files --keep-newer-files --skip-old-files --overwrite --no-overwrite-dir --unlink-first --touch --sparse --verify --to-stdout
  --null --full-time --show-transformed-names --index-file:write --newer:text --newer-mtime:text --after-date:text --ignore-failed-read
  --one-file-system --no-xattrs --xattrs --acls --no-acls --no-selinux --warning:text --no-mac-metadata --disable-copyfile
  --quote-chars:text --remove-files!files/recursive-delete --test-label --occurrence:text? --force-local --delay-directory-restore`;

const members = { operands: 'text*', noPatterns: true } as const;

/** tar with letters that stand together, such as `xzf`: the archive is the first operand. */
const oldTar: Readonly<Record<string, Program>> = {
  'xf|xzf|xjf|xJf|xvf|xzvf|xvzf|xjvf|xvjf|xJvf|xvJf|zxf|zxvf|jxf|jxvf|vxf|zvxf|vxzf|xpf|xzpf|xpzf|xvpf|xzvpf|xpvf|xof|xzof|xavf|xaf': {
    options: tarOptions,
    operands: 'read text*',
    noPatterns: true,
    brings: 'unpacked',
  },
  'tf|tzf|tjf|tJf|tvf|tzvf|tvzf|tjvf|tvjf|tJvf|tvJf|ztf|ztvf|vtf|taf|tavf': {
    options: tarOptions,
    operands: 'read text*',
    noPatterns: true,
  },
  'cf|czf|cjf|cJf|cvf|czvf|cvzf|cjvf|cvjf|cJvf|cvJf|zcf|zcvf|caf|cavf|cvaf|chf|czhf|cpf|czpf|rf|rvf|uf|uvf': {
    options: tarOptions,
    operands: 'write read*',
    noPatterns: true,
  },
  'x|xz|xj|xJ|xv|xzv|xvz|xjv|xvj|xJv|xvJ|xp|xzp|zx|zxv': { options: tarOptions, ...members, brings: 'unpacked' },
  't|tz|tj|tJ|tv|tzv|tvz': { options: tarOptions, ...members },
  'c|cz|cj|cJ|cv|czv|cvz|zc': { options: tarOptions, operands: 'read*', noPatterns: true },
};

/** The same with a dash: the archive that is only read may lie anywhere. */
const [unpacking = [], listing = []] = Object.keys(oldTar)
  .slice(0, 2)
  .map((names) => names.split('|').map((name) => `-${name}`));
const dashed = [...unpacking, ...listing].map((name) => `${name}:read`).join(' ');

const modes = '-c -x -t -r -u -A -d --create --extract --get --list --append --update --catenate --concatenate --diff --compare --delete';

// Only with one of these are there operands: letters without a dash that are not named above could hold any option. The archive of `-f`
// alone may be written, so it may not lie outside the workspace.
const tar: Program = {
  options: `${tarOptions} ${dashed} ${modes} -f:write --file:write`,
  operands: '',
  operandsWith: Object.fromEntries(`${modes} ${dashed.replaceAll(':read', '')}`.split(' ').map((mode) => [mode, 'read*'])),
  noPatterns: true,
  firstNamed: true,
  subcommands: oldTar,
  brings: Object.fromEntries([...unpacking, '-x', '--extract', '--get'].map((name) => [name, 'unpacked'])),
};

const compressing = `${help} -cdfhklnNqrtvVz123456789L -0 -S:text --suffix:text -p:text --processes:text -b:text --blocksize:text -T:text
  --threads:text -M:text --memlimit:text --memory:text -F:text --format:text -C:text --check:text -e --extreme --stdout --to-stdout
  --decompress --uncompress --compress --force --keep --list --name --no-name --quiet --recursive --test --verbose --fast --best
  --rsyncable --small --license -R -i --ignore-crc32`;
const toOutput = {
  '-c': 'read*',
  '--stdout': 'read*',
  '--to-stdout': 'read*',
  '-t': 'read*',
  '--test': 'read*',
  '-l': 'read*',
  '--list': 'read*',
};

const printing = { '-c': 'unpacked', '--stdout': 'unpacked', '--to-stdout': 'unpacked' } as const;

const uncompressing = { '-d': 'uncompressed', '--decompress': 'uncompressed', '--uncompress': 'uncompressed' } as const;

const zstd: Program = {
  options: `${help} -123456789 -10 -11 -12 -13 -14 -15 -16 -17 -18 -19 -20 -21 -22 -cdfhklmnqrtvVzCS -o:write --output:write -D:read
    -T:text --threads:text --rm --keep --force --stdout --decompress --uncompress --compress --test --list --quiet --verbose --ultra
    --long:text? --fast:text? --adapt --no-check --check --progress --no-progress --rsyncable --best -q:text? --quality:text -w:text
    --output-dir-flat:into --single-thread --patch-from:read`,
  operands: 'write*',
  operandsWith: { '-o': 'read*', '--output': 'read*', ...toOutput },
  prints: printing,
  bringsUnless: Object.keys(toOutput).join(' '),
};

export const archivePrograms: Programs = {
  ...each('tar gtar bsdtar', tar),
  ...each('gzip bzip2 xz lzma pigz pbzip2 compress lzip plzip', {
    options: compressing,
    operands: 'write*',
    operandsWith: toOutput,
    prints: printing,
    brings: uncompressing,
    bringsUnless: Object.keys(toOutput).join(' '),
  }),
  ...each('gunzip bunzip2 unxz unlzma unpigz uncompress', {
    options: compressing,
    operands: 'write*',
    operandsWith: toOutput,
    prints: printing,
    brings: 'uncompressed',
    bringsUnless: Object.keys(toOutput).join(' '),
  }),
  // Its `-p` names a directory.
  lzop: {
    options: compressing.replace('-p:text ', ''),
    operands: 'write*',
    operandsWith: toOutput,
    prints: printing,
    brings: uncompressing,
  },
  ...each('zcat gzcat bzcat xzcat lzcat zstdcat lz4cat bz2cat', { operands: 'read*', anyOption: true, prints: 'unpacked' }),
  ...each('zdiff zcmp bzdiff bzcmp xzdiff xzcmp', { options: '-uqrwbBiNy -U:text --brief --color:text?', operands: 'read read?' }),
  ...each('zstd zstdmt lz4 brotli', { ...zstd, brings: uncompressing }),
  ...each('unzstd unlz4', { ...zstd, brings: 'uncompressed' }),
  // `-TT` and `--unzip-command` run a program; `-m` removes what was packed.
  zip: {
    options: `-h -v -r -q -j -y -u -f -d -l -ll -D -X -o -e -9 -8 -7 -6 -5 -4 -3 -2 -1 -0 -A -F -FF -FS -g -k -z -c -S -@ -sf -x:text
      -i:text -n:text -P:text -t:text -tt:text -s:text -b:write -O:write --out:write --recurse-paths --quiet --junk-paths --symlinks
      --exclude:text --include:text --password:text --encrypt --verbose --update --freshen --delete --no-dir-entries --no-extra --filesync
      --latest-time --help --version`,
    operands: 'write? read*',
    noPatterns: true,
  },
  // `-:` lets names lead out of the directory.
  unzip: {
    options: '-abcCfjlLnopqtuvVXzZ1UMNDTshi -d:into -x:text -P:text -O:text -I:text --help --version',
    operands: 'read? text*',
    noPatterns: true,
    prints: { '-p': 'unpacked', '-c': 'unpacked' },
    brings: 'unpacked',
    bringsUnless: '-l -t -p -c -v -z -Z -1 -h --help --version',
  },
  ...each('zipinfo funzip', { options: '-12smlvhtTzCM -x:text', operands: 'read text*', prints: 'unpacked' }),
  ...each('zipgrep', { options: '-inlcvE', operands: 'text read text*' }),
  ...each('7z 7za 7zr 7zz p7zip', {
    options: '--help -h -bd',
    subcommands: {
      'x|e': {
        options: `-o:into? -p:text? -y -aoa -aos -aou -aot -r -bd -bb0 -bb1 -bso0 -bsp0 -bsp1 -so -t:text? -x:text? -i:text? -mmt:text?
          -spe`,
        operands: 'read text*',
        brings: 'unpacked',
        words: true,
        noPatterns: true,
      },
      'l|t|h': {
        options: '-p:text? -y -r -bd -slt -ba -t:text? -x:text? -i:text? -scrc:text?',
        operands: 'read*',
        words: true,
        noPatterns: true,
      },
      'a|u|d': {
        options: `-p:text? -y -r -r0 -bd -bb0 -bb1 -bso0 -bsp0 -bsp1 -t:text? -x:text? -i:text? -m:text? -v:text? -w:write? -mhe=on -mhe
          -spf2 -ssw`,
        operands: 'write read*',
        words: true,
        noPatterns: true,
      },
      'i|b': { words: true },
    },
  }),
  ...each('unrar rar', {
    subcommands: {
      'x|e': {
        options: '-o+ -o- -y -p:text? -idq -inul -r -ad',
        operands: 'read text* into',
        words: true,
        noPatterns: true,
        brings: 'unpacked',
      },
      'l|v|t|lb|vb|lt': { options: '-p:text? -idq -y', operands: 'read text*', words: true },
    },
  }),
  unar: {
    options: `${help} -fsDqrt -o:into -output-directory:into -p:text -e:text`,
    operands: 'read text*',
    brings: 'unpacked',
  },
  lsar: { options: `${help} -lLtj -p:text`, operands: 'read text*' },
  // `--plugin` loads code.
  ...each('ar llvm-ar gcc-ar', {
    options: '-rcsuqvtpxdDUToS --version --help',
    operands: 'write read*',
    brings: { '-x': 'unpacked' },
    subcommands: {
      'rcs|rc|cr|crs|rs|r|q|qc|cq|qcs|rcu|cru|ru|rv|rvs|rcv|crv|d|m|s|rcD|rcsD|csr|csrD': { operands: 'write read*' },
      't|tv|p|pv': { operands: 'read text*' },
      'x|xv|xo': { operands: 'read text*', brings: 'unpacked' },
    },
  }),
  ranlib: { options: `${help} -DUtvV`, operands: 'write+' },
  // Copying in writes to absolute names, too.
  cpio: {
    options: `${help} -otv0cB -H:text --format:text --list --create --null --quiet --verbose -i!files/outside -p!files/outside
      --extract!files/outside --pass-through!files/outside -d -m -u -F:read`,
    operands: 'text*',
  },
  // Security: a name such as `host:x` is another machine, which the kinds of paths do not see. `-e`, `--rsync-path` and the like run
  // programs.
  rsync: {
    options: `${help} -avrlptgoDzhnPuqcHAXSxRCiWIbEkKLJOmdyN0184 -f:text --filter:text --exclude:text --include:text --exclude-from:read
      --include-from:read --files-from:read -T:write --temp-dir:write --partial-dir:write --backup-dir:write --link-dest:read
      --compare-dest:read --copy-dest:read -B:text --block-size:text --bwlimit:text --max-size:text --min-size:text --timeout:text
      --chmod:mode --chown:text --info:text --debug:text --out-format:text --modify-window:text --suffix:text --archive --verbose
      --recursive --links --perms --times --group --owner --compress --human-readable --dry-run --progress --partial --update --quiet
      --checksum --hard-links --acls --xattrs --sparse --relative --no-relative --one-file-system --cvs-exclude --itemize-changes
      --whole-file --ignore-times --size-only --ignore-existing --existing --stats --copy-links --safe-links --copy-unsafe-links
      --no-perms --no-owner --no-group --no-times --omit-dir-times --prune-empty-dirs --mkpath --inplace --append --delay-updates
      --numeric-ids --list-only --backup --executability --from0 --no-motd --dirs --no-compress --delete!files/mirror-delete
      --delete-before!files/mirror-delete --delete-after!files/mirror-delete --delete-during!files/mirror-delete --del!files/mirror-delete
      --delete-delay!files/mirror-delete --delete-excluded!files/mirror-delete --remove-source-files!files/recursive-delete
      -e:shell!network/remote-shell --rsh:shell!network/remote-shell`,
    operands: 'read+ write',
    noPatterns: true,
    derives: true,
  },
};
