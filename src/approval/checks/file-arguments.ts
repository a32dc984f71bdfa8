import { readOptions } from '../shell/options.ts';
import { fromNetwork, isFromNetwork, isUnknown, unknown } from '../shell/values.ts';
import { candidates, patternOf } from './candidates.ts';
import type { Invocation } from './invocation.ts';
import { resolvePaths } from './resolve.ts';
import { touchRead, touchTreeRead, touchWrite } from './touch.ts';

/** Their arguments are texts, names or places, and show nothing of a file. */
const blind =
  /^(?:echo|printf|cd|pushd|ls|ll|dir|stat|test|\[|\[\[|mkdir|touch|chmod|chown|chgrp|ssh|ssh-add|ssh-keygen|ssh-copy-id|git|basename|dirname|realpath|readlink|which|type|file|du|df|export|declare|local|alias|unset|set|find|fd|tree|rm|rmdir|unlink|shred|mv|ln|source|\.|sudo|doas|env|command|exec|nohup|timeout|time|xargs|su|docker|podman|kubectl|npm|npx|yarn|pnpm|make|mktemp|umask|trap|eval|sh|bash|zsh|dash|fish|kill|pkill|curl|wget|getfacl|namei|test|true|false|case|read|man|tldr|hermetic|systemctl|awk-x|chattr|lsattr|crontab|code|open|xdg-open)$/;
/** They print or copy what they read. */
const shows =
  /^(?:cat|tac|head|tail|less|more|most|bat|nl|grep|egrep|fgrep|rg|ag|ack|sed|awk|gawk|base64|base32|basenc|xxd|od|hexdump|strings|rev|sort|uniq|cut|paste|fold|cp|scp|rsync|sftp|ftp|tar|zip|7z|gzip|bzip2|xz|zstd|cpio|dd|tee|diff|cmp|comm|column|jq|yq|vim?|nvim|nano|emacs|view|ex|ed|pbcopy|xclip|mail|mutt|sendmail|nc|ncat|http|aws|gsutil|rclone|s3cmd|gpg|install|shar|uuencode|split|join|pr|fmt|python[\d.]*|node|ruby|perl|git-add|pandoc|highlight|pygmentize|qrencode|magic-wormhole|wormhole|croc|transfer|gist|pastebinit)$/;
const writersOfLast = /^(?:cp|gcp|install|scp)$/;
const writersOfAll =
  /^(?:tee|touch|mkdir|mkfifo|mknod|vim?|nvim|nano|emacs|ed|ex|pico|micro|joe|sponge|patch|crudini|augtool|sudoedit|visudo|vipw|gedit|kate)$/;
const inPlace = /^-[a-zA-Z0-9]*i|^--in-?place|^--inline$/;
const readsTrees = /^(?:tar|zip|cp|gcp|rsync|scp|7z|cpio|dump|restic|borg|duplicity|rclone)$/;

/** Credentials that are read, and system or startup files that are written. */
export function pathRules(invocation: Invocation): void {
  reads(invocation);
  writes(invocation);
  unpacks(invocation);
}

const unpackers = /^(?:tar|bsdtar|unzip|7z|cpio|unar|gunzip)$/;
const installers =
  /^(?:dpkg|rpm|apt|apt-get|dnf|yum|zypper|installer|pip[\d.]*|gem|snap|flatpak|brew|npm|apk|pacman|insmod|docker|ansible-playbook|psql|make)$/;

/** Archives and packages that the script just fetched. */
function unpacks({ program, args, state, stdin }: Invocation): void {
  const isUnpacker = unpackers.test(program);
  if (!isUnpacker && !installers.test(program)) return;
  const fetched = args.some((arg) =>
    resolvePaths(arg, state).some((path) => path !== undefined && (state.files.get(path)?.some(isFromNetwork) ?? false)),
  );
  if (isUnpacker && (fetched || stdin.some(isFromNetwork))) {
    const [directory = '.'] = readOptions(args, { short: 'Cd', long: ['directory'] }).valuesOf('C', 'd', 'directory');
    for (const path of resolvePaths(directory, state)) if (path !== undefined) state.files.set(`${path}/*`, [fromNetwork]);
  } else if (!isUnpacker && fetched) state.judgement.report('network/download-then-run', program);
}

function reads({ program, args, state }: Invocation): void {
  const gitAdd = program === 'git' && args[0] === 'add';
  if (blind.test(program) && !gitAdd) return;
  const words = readOptions(args, { short: program === 'tar' ? 'f' : '' }).rest;
  const skipped = patternOf(program, args, words);
  for (const [index, arg] of args.entries()) {
    if (
      arg === skipped ||
      /\s/.test(arg) ||
      args[index - 1] === '--env-file' ||
      arg.startsWith('--env-file=') ||
      (args[index - 1] === '-i' && /^(?:scp|sftp|rsync)$/.test(program))
    )
      continue;
    const last = index === args.length - 1 && writersOfLast.test(program);
    for (const text of candidates(arg)) if (!last) touchRead(text, gitAdd ? 'git' : program, state, gitAdd || shows.test(program));
  }
  if (!readsTrees.test(program) && !searchesHidden(program, args)) return;
  for (const text of writersOfLast.test(program) ? words.slice(0, -1) : words) if (text !== skipped) touchTreeRead(text, program, state);
}

/** Whether it shows what stands in files of a whole tree, also of those whose names begin with a dot. */
function searchesHidden(program: string, args: readonly string[]): boolean {
  if (/^[ef]?grep$/.test(program)) return args.some((arg) => /^-[a-zA-Z]*[rR]|^--(?:dereference-)?recursive$/.test(arg));
  return program === 'rg' && args.some((arg) => /^(?:--hidden|-[a-zA-Z]*\.|-uu+|--unrestricted)$/.test(arg));
}

function writes({ program, args, state, stdin }: Invocation): void {
  const write = (path: string | undefined): void => {
    if (path !== undefined && path !== '') touchWrite(path, program, state);
  };
  if (writersOfLast.test(program)) {
    const options = readOptions(args, {
      short: program === 'scp' ? 'iPoFclSJ' : 'tSmgo',
      long: ['target-directory', 'suffix', 'mode', 'owner', 'group'],
    });
    const [directory] = options.valuesOf('t', 'target-directory');
    const target = directory ?? options.rest.at(-1);
    const sources = directory === undefined ? options.rest.slice(0, -1) : options.rest;
    const [, elsewhere] = /^[\w.@-]+:(\/(?:etc|usr|bin|sbin|boot|lib|root)\/.*)$/.exec(target ?? '') ?? [];
    write(elsewhere);
    if (target !== undefined && !/^[\w.@-]+:/.test(target)) for (const path of intoDirectory(target, sources)) write(path);
    copyContents(sources, target, state, stdin);
    const remote = sources.filter((source) => /^[\w.@-]+:/.test(source));
    for (const source of program === 'scp' && target !== undefined ? remote : []) {
      for (const place of intoDirectory(target ?? '', [source.slice(source.indexOf(':') + 1)])) {
        for (const path of resolvePaths(place, state)) if (path !== undefined) state.files.set(path, [fromNetwork]);
      }
    }
    const mode = program === 'install' ? options.valuesOf('m', 'mode')[0] : undefined;
    if (mode !== undefined && /^0?[2-7]\d{3}$|s|[2367]$/.test(mode)) state.judgement.report('permissions/privileged-file', program);
  } else if (program === 'mv') {
    const { rest } = readOptions(args, { short: 'tS' });
    copyContents(rest.slice(0, -1), rest.at(-1), state, stdin);
  } else if (writersOfAll.test(program)) {
    for (const path of readOptions(args, {
      short:
        program === 'patch' ? 'pidoBDFgrVYz' : program === 'mkdir' ? 'm' : program === 'touch' ? 'drt' : program === 'mknod' ? 'm' : 'cu',
    }).rest) {
      write(path);
      if (program === 'tee') for (const one of resolvePaths(path, state)) if (one !== undefined) state.files.set(one, stdin);
      if (program === 'patch' || program === 'sponge') forget(path, state);
    }
  } else if (/^(?:sed|perl|ruby|yq|awk|gawk|sd|rpl|prettier|jq)$/.test(program) && args.some((arg) => inPlace.test(arg))) {
    for (const path of readOptions(args, { short: 'eEfl' }).rest) {
      if (looksLikePath(path)) write(path);
      forget(path, state);
    }
  } else if (program === 'tar' || program === 'bsdtar') {
    const options = readOptions(
      args.map((arg, index) => (index === 0 && /^[a-zA-Z]+$/.test(arg) ? `-${arg}` : arg)),
      { short: 'fCTXbKNVgHI', long: ['file', 'directory'] },
    );
    if (options.has('x', 'extract', 'get')) for (const path of options.valuesOf('C', 'directory')) write(path);
    else for (const path of options.valuesOf('f', 'file')) write(path === '-' ? '' : path);
    if (options.has('remove-files'))
      state.judgement.report(
        'files/recursive-delete',
        program,
        options.rest.flatMap((path) => resolvePaths(path, state)),
      );
    if (options.has('P', 'absolute-names') && options.has('x')) state.judgement.report('files/system-write', program, [undefined]);
  } else if (program === 'unzip' || program === 'sort' || program === 'gcc' || program === 'cc' || program === 'gpg' || program === 'ld') {
    const options = readOptions(args, { short: program === 'unzip' ? 'dxP' : 'oktTS', long: ['output'] });
    for (const path of options.valuesOf(program === 'unzip' ? 'd' : 'o', 'output')) write(path);
  } else if (program === 'sudo' && args.some((arg) => /^-e$|^--edit$/.test(arg)))
    for (const path of readOptions(args, { short: 'ug' }).rest) write(path);
  else if (/^(?:gunzip|unxz|bunzip2|unzstd)$/.test(program)) {
    for (const path of readOptions(args).rest) copyContents([path], path.replace(/\.(?:gz|xz|bz2|zst)$/, ''), state, stdin);
  }
}

function looksLikePath(text: string): boolean {
  return /^[~/.\w\uE000-\uE004*-]/.test(text) && !/[\s;{}()|]/.test(text) && !/^s?([/|#,]).*\1/.test(text.replace(/^\//, 'x'));
}

/** Where the copies of files end up. */
function intoDirectory(target: string, sources: readonly string[]): readonly string[] {
  const names = sources
    .map((source) => source.replace(/\/+$/, '').split('/').at(-1) ?? '')
    .filter((name) => name !== '' && !isUnknown(name));
  return [target, ...names.slice(0, 20).map((name) => `${target.replace(/\/$/, '')}/${name}`)];
}

/** A copy of a file the script wrote is as known as the file. */
function copyContents(sources: readonly string[], target: string | undefined, state: Invocation['state'], stdin: readonly string[]): void {
  if (target === undefined) return;
  for (const source of sources) {
    for (const path of resolvePaths(source, state)) {
      const contents = path === '/dev/stdin' ? stdin : path === undefined ? undefined : state.files.get(path);
      if (contents === undefined) continue;
      for (const place of intoDirectory(target, [source]))
        for (const one of resolvePaths(place, state)) if (one !== undefined) state.files.set(one, contents);
    }
  }
}

function forget(path: string, state: Invocation['state']): void {
  for (const one of resolvePaths(path, state)) if (one !== undefined && state.files.has(one)) state.files.set(one, [unknown]);
}
