import { each, type Programs } from './program.ts';

const help = '--help --version';

// Hard and symbolic links to files elsewhere (`-l`, `-s`) are left out: what is then written through them lands there.
const copies = `${help} -aprRfinuvxbdTLHP -t:write --target-directory:write -S:text --suffix:text --archive --recursive --force
  --interactive --no-clobber --update:text? --verbose --one-file-system --backup:text? --no-target-directory --dereference
  --no-dereference --preserve:text? --no-preserve:text --parents --reflink:text? --sparse:text --strip-trailing-slashes --attributes-only
  --remove-destination --copy-contents --debug --exchange --no-copy`;

/** What only looks at names, kinds, sizes and dates, and where only reading options exist. */
const looking: Programs = {
  ls: {
    // A format of dates prints any text.
    options: `-I:text --ignore:text --hide:text -w:text --width:text -T:text --tabsize:text --block-size:text -D:text!program/option
      --time-style=iso --time-style=long-iso --time-style=full-iso --time-style=locale --time-:text!program/option
      --time-s:text!program/option --time-st:text!program/option --time-sty:text!program/option --time-styl:text!program/option
      --time-style:text!program/option`,
    operands: 'list*',
    anyOption: true,
    prints: 'names',
  },
  ...each('dir vdir exa eza lsd', {
    options: `${help} -1aAlhHFGRrtSXxgGodmiLUTsB@ -I:text --ignore-glob:text -L:text --level:text -s:text --sort:text --tree --all --long
      --git --git-ignore --icons:text? --color:text? --group-directories-first --header --recurse --reverse --oneline --no-user --no-time
      --time:text --time-style:text --depth:text --total-size --only-dirs --only-files`,
    operands: 'list*',
  }),
  stat: { options: '-c:text --format:text --printf:text -f -t:text', operands: 'list*', anyOption: true },
  file: {
    options: `${help} -bcdEhikLlNnprsSvzZ0 -e:text --exclude:text -F:text --separator:text -f:read --files-from:read -P:text
      --parameter:text --brief --mime --mime-type --mime-encoding --dereference --no-dereference --keep-going --raw --uncompress --no-pad
      --extension --print0 --special-files --list`,
    operands: 'list*',
  },
  du: {
    options: `-d:text --max-depth:text -t:text --threshold:text -B:text --block-size:text --exclude:text -X:read --exclude-from:read
      --files0-from:read --time-style:text --time:text?`,
    operands: 'list*',
    anyOption: true,
  },
  df: {
    options: '-B:text --block-size:text -t:text --type:text -x:text --exclude-type:text --output:text?',
    operands: 'list*',
    anyOption: true,
  },
  ...each('dust duf ncdu', {
    options: `${help} -hrbcnsx -d:text --depth:text -n:text --number-of-lines:text -X:text --ignore-directory:text --all --hide:text
      --only:text --json`,
    operands: 'list*',
  }),
  tree: {
    options: `${help} -adfiglpshuDFQqNxCnArtUcSvXJ -L:text -P:text -I:text -o:write --noreport --dirsfirst --filesfirst --sort:text
      --prune --du --si --inodes --device --gitignore --gitfile:read --matchdirs --ignore-case --filelimit:text --timefmt:text
      --charset:text --metafirst -T:text -H:text`,
    operands: 'list*',
  },
  ...each('realpath readlink', { options: '--relative-to:list --relative-base:list', operands: 'list*', anyOption: true }),
  basename: { options: '-s:text --suffix:text', operands: 'text*', anyOption: true },
  dirname: { operands: 'text*', anyOption: true },
  namei: { operands: 'list*', anyOption: true },
  pathchk: { operands: 'text*', anyOption: true },
  ...each('lsattr getfacl getcap', {
    options: `${help} -RVadlvpnrcest --recursive --absolute-names --numeric --omit-header --tabular`,
    operands: 'list*',
  }),
  ...each('locate plocate mlocate', {
    options: `${help} -ibcewrAqS0N -l:text -n:text --limit:text -d:read --database:read --ignore-case --basename --count --existing --regex
      --regexp:text -r:text --null --all --quiet --statistics --wholename`,
    operands: 'text*',
  }),
  mdfind: { options: '-name:text -onlyin:list -count -0', operands: 'text*', words: true },
  which: { options: '-as --all --skip-alias --skip-functions --version --help', operands: 'text*' },
  ...each('whereis', { options: '-bmsulBMSf --help --version', operands: 'text*' }),
};

/** What makes, changes and removes files. */
const changing: Programs = {
  cp: {
    options: copies,
    operands: 'read+ write',
    operandsWith: { '-t': 'read+', '--target-directory': 'read+' },
    derives: true,
  },
  gcp: {
    options: copies,
    operands: 'read+ write',
    operandsWith: { '-t': 'read+', '--target-directory': 'read+' },
    derives: true,
  },
  ...each('mv gmv', {
    options: copies,
    operands: 'move+ write',
    operandsWith: { '-t': 'move+', '--target-directory': 'move+' },
    derives: true,
  }),
  ...each('rm grm', {
    options: `${help} -rRfiIvd --recursive --force --interactive:text? --verbose --dir --one-file-system --preserve-root:text?`,
    operands: 'delete+',
  }),
  ...each('rmdir unlink', {
    options: `${help} -pv --parents --verbose --ignore-fail-on-non-empty`,
    operands: 'delete+',
  }),
  ...each('trash trash-put gio-trash', { options: `${help} -vrfid`, operands: 'delete+' }),
  mkdir: {
    options: `${help} -pv -m:mode --mode:mode --parents --verbose`,
    operands: 'attributes+',
  },
  mkfifo: { options: `${help} -m:mode --mode:mode`, operands: 'attributes+' },
  ...each('touch gtouch', {
    options: `${help} -acmhf -d:text --date:text -r:list --reference:list -t:text --time:text --no-create --no-dereference -A:text`,
    operands: 'attributes+',
  }),
  ln: {
    options: `${help} -sfnvirbTLP -t:write --target-directory:write -S:text --suffix:text --symbolic --force --no-dereference --verbose
      --interactive --relative --backup:text? --no-target-directory --logical --physical`,
    operands: 'target+ write',
    operandsWith: { '-t': 'target+', '--target-directory': 'target+' },
    derives: true,
  },
  link: { options: help, operands: 'target write', derives: true },
  // A mode such as `-x` looks like an option; then there is no other mode.
  chmod: {
    options: `${help} -Rcfv -rwxX --recursive --changes --quiet --silent --verbose --preserve-root -h`,
    operands: 'mode attributes+',
    operandsWith: { '-x': 'attributes+', '-w': 'attributes+', '-r': 'attributes+', '-X': 'attributes+' },
  },
  ...each('chown chgrp', {
    options: `${help} -cfvh -R!permissions/recursive --recursive!permissions/recursive --changes --quiet --silent --verbose --no-dereference
      --dereference --preserve-root --reference:list --from:text`,
    operands: 'text attributes+',
    operandsWith: { '--reference': 'attributes+' },
  }),
  ...each('install ginstall', {
    options: `${help} -bcCDvpT -d --directory -m:mode --mode:mode -o:text --owner:text -g:text --group:text -S:text --suffix:text -t:write
      --target-directory:write --compare --verbose --preserve-timestamps --no-target-directory --backup:text?`,
    operands: 'read+ write',
    operandsWith: { '-d': 'attributes+', '--directory': 'attributes+', '-t': 'read+', '--target-directory': 'read+' },
    derives: true,
  }),
  mktemp: {
    options: `${help} -dqut -p:write --tmpdir:write? --suffix:text --directory --dry-run --quiet`,
    operands: 'write?',
    prints: 'temporary',
  },
  ...each('truncate gtruncate', {
    options: `${help} -co -s:text --size:text -r:list --reference:list --no-create --io-blocks`,
    operands: 'write+',
  }),
  fallocate: { options: `${help} -nvxdz -l:text --length:text -o:text --offset:text --verbose --posix`, operands: 'write' },
  // `--filter` runs a command on each part.
  split: {
    options: `${help} -deux -a:text --suffix-length:text -b:text --bytes:text -C:text --line-bytes:text -l:text --lines:text -n:text
      --number:text --numeric-suffixes:text? --hex-suffixes:text? --additional-suffix:text --elide-empty-files --verbose -t:text
      --separator:text -#`,
    operands: 'read? write?',
    brings: 'written',
  },
  csplit: {
    options: `${help} -kqsz -f:write --prefix:write -n:text --digits:text --keep-files --quiet --silent --elide-empty-files
      --suppress-matched`,
    operands: 'read text+',
    brings: 'written',
  },
  sync: { options: `${help} -df --data --file-system`, operands: 'list*' },
  shred: {
    options: '-fuvxz -n:text --iterations:text -s:text --size:text --remove:text? --zero --force --verbose',
    operands: 'delete+',
    asks: 'files/shred',
  },
  ...each('srm wipe scrub', { operands: 'delete+', anyOption: true, asks: 'files/shred' }),
  // The one of Perl runs an expression, the one of util-linux changes names: which one is installed is not known.
  ...each('rename prename file-rename mmv vidir', { operands: 'text*', anyOption: true, asks: 'code/inline' }),
  ...each('chattr setcap chflags xattr', { operands: 'text*', anyOption: true, asks: 'permissions/privileged-file' }),
  setfacl: { operands: 'text*', anyOption: true, asks: 'permissions/recursive' },
  mknod: { operands: 'write text*', anyOption: true, asks: 'disk/change' },
};

const finding: Programs = {
  // `-execdir` runs in other directories than the one that paths are seen from; `-printf` could print any path to xargs; `-fprintf` has two
  // values; with `-files0-from` it looks elsewhere. Without a directory it is about the one it runs in, which `-delete` would not show.
  ...each('find gfind', {
    options: `-H -L -P -E -x -X -s -O:text? -name:text -iname:text -path:text -ipath:text -wholename:text -iwholename:text -regex:text
      -iregex:text -regextype:text -type:text -xtype:text -size:text -mtime:text -atime:text -ctime:text -mmin:text -amin:text -cmin:text
      -Btime:text -newer:list -anewer:list -cnewer:list -newermt:text -newerct:text -newerat:text -newerBt:text -newermm:list
      -newercc:list -samefile:list -maxdepth:text -mindepth:text -depth -d -mount -xdev -daystart -noleaf -follow -ignore_readdir_race
      -noignore_readdir_race -warn -nowarn -empty -true -false -readable -writable -executable -user:text -group:text -uid:text -gid:text
      -nouser -nogroup -perm:text -links:text -inum:text -fstype:text -used:text -lname:text -ilname:text -and -a -or -o -not -prune -quit
      -print -print0 -ls -help --help -version --version -fprint:write -fprint0:write -fls:write -exec:exec -ok:exec
      -delete`,
    operands: 'list*',
    operandsWith: { '-delete': 'prunes*' },
    words: true,
    prints: 'paths',
  }),
  ...each('fd fdfind', {
    // What is found is put behind the command of `-x` also where no `{}` stands.
    options: `${help} -h -V -HIuspaLl0giFq1 -e:text --extension:text -E:text --exclude:text -t:text --type:text -d:text --max-depth:text
      --min-depth:text --exact-depth:text -S:text --size:text -c:text --color:text -j:text --threads:text -o:text --owner:text
      -C:directory --base-directory:directory --search-path:list --changed-within:text --changed-before:text --newer:text --older:text
      --max-results:text --path-separator:text --format:text --and:text --hidden --no-ignore --no-ignore-vcs --no-ignore-parent
      --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --relative-path --list-details --follow
      --full-path --print0 --prune --quiet --show-errors --one-file-system --strip-cwd-prefix:text? --hyperlink:text? --ignore-file:read
      -x:exec!program/launcher --exec:exec!program/launcher -X:exec!program/launcher --exec-batch:exec!program/launcher`,
    operands: 'text? list*',
  }),
};

export const filePrograms: Programs = { ...looking, ...changing, ...finding };
