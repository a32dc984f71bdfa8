import { readOptions, startsUnknown } from '../shell/options.ts';
import { isUnknown } from '../shell/values.ts';
import type { Invocation } from './invocation.ts';
import { isOwn, isProtectedRoot, isSystemPath, wholeDirectory } from './paths.ts';
import { resolvePaths } from './resolve.ts';
import { touchTree, touchWrite } from './touch.ts';

/** What deletes, overwrites or changes the rights of files. */
export const fileRules: Readonly<Record<string, (invocation: Invocation) => void>> = {
  rm: remove,
  grm: remove,
  unlink: remove,
  rmdir: ({ program, args, state }) => {
    for (const path of readOptions(args).rest) touchWrite(path, program, state);
  },
  srm: shred,
  shred,
  wipe: shred,
  scrub: shred,
  trash: remove,
  'trash-put': remove,
  'trash-empty': ({ program, state }) => state.judgement.report('files/recursive-delete', program),
  find,
  gfind: find,
  mv: move,
  gmv: move,
  rsync: synchronise,
  chmod: changeMode,
  chown: changeOwner,
  chgrp: changeOwner,
  setfacl: ({ program, args, state }) =>
    state.judgement.report(args.includes('-R') ? 'permissions/recursive' : 'permissions/privileged-file', program, pathsOf(args, state)),
  chattr: ({ program, args, state }) => state.judgement.report('permissions/privileged-file', program, pathsOf(args, state)),
  setcap: ({ program, args, state }) => state.judgement.report('permissions/privileged-file', program, pathsOf(args, state)),
  umask: ({ program, args, state }) => {
    if (args.some((arg) => /^0{1,4}$|^0?00?[0-7]?$/.test(arg) && !/[2367]$/.test(arg)))
      state.judgement.report('permissions/world-writable', program);
  },
  cp: ({ program, args, state }) => {
    const { rest } = readOptions(args, { short: 'tS' });
    if (rest[0] === '/dev/null')
      state.judgement.report(
        'files/shred',
        program,
        rest.slice(1).flatMap((path) => resolvePaths(path, state)),
      );
  },
  dd: ({ program, args, state }) => {
    for (const arg of args) if (arg.startsWith('of=')) touchWrite(arg.slice(3), program, state);
    if (startsUnknown(args)) state.judgement.report('shell/unresolved-argument', program);
  },
  truncate: ({ program, args, state }) => {
    const options = readOptions(args, { short: 'rs', long: ['reference', 'size'] });
    for (const path of options.rest) touchWrite(path, program, state);
    const empties = options.valuesOf('s', 'size').some((size) => /^0+$/.test(size));
    if (empties)
      state.judgement.report(
        'files/shred',
        program,
        options.rest.flatMap((path) => resolvePaths(path, state)),
      );
  },
  ln: link,
};

/** Security: what is written through a link looks as if it were written where the link is. */
function link({ program, args, state }: Invocation): void {
  const options = readOptions(args, { short: 'tS', long: ['target-directory', 'suffix'] });
  const [directory] = options.valuesOf('t', 'target-directory');
  const last = options.rest.length > 1 ? options.rest.at(-1) : undefined;
  const place = directory ?? last;
  if (place !== undefined) touchWrite(place, program, state);
  for (const source of directory === undefined && last !== undefined ? options.rest.slice(0, -1) : options.rest) {
    const symbolic = options.has('s', 'symbolic') && !options.has('r', 'relative');
    const targets = symbolic && place !== undefined && !/^[/~]/.test(source) ? [`${place}/../${source}`, `${place}/${source}`] : [source];
    for (const target of targets) if (!isSystemLink(target, state)) touchWrite(target, program, state);
  }
}

/** A link to a program or library is no change of it. */
function isSystemLink(path: string, state: Invocation['state']): boolean {
  return /^\/(?:usr|opt|bin|lib|mnt|srv)\//.test(path) && !resolvePaths(path, state).some((one) => one !== undefined && isOwn(one, state));
}

function pathsOf(args: readonly string[], state: Invocation['state']): readonly (string | undefined)[] {
  return readOptions(args).rest.flatMap((path) => resolvePaths(path, state));
}

function remove({ program, args, state }: Invocation): void {
  const options = readOptions(args, { long: ['interactive', 'preserve-root'] });
  const targets = options.rest;
  const recursive = options.has('r', 'R', 'recursive') || program.startsWith('trash');
  if (startsUnknown(args)) state.judgement.report('shell/unresolved-argument', program, [undefined]);
  for (const target of targets) {
    const paths = resolvePaths(target, state);
    if (recursive) {
      touchTree(target, program, state);
      state.judgement.report('files/recursive-delete', program, paths);
      continue;
    }
    touchWrite(target, program, state);
    for (const path of paths) {
      // A pattern for everything in a directory removes as much as the directory.
      if (path === undefined || wholeDirectory(path) === path) continue;
      state.judgement.report('files/recursive-delete', program, [path]);
      if (isProtectedRoot(path, state)) touchTree(target, program, state);
    }
  }
  if (recursive && targets.length === 0 && args.length > 0) state.judgement.report('files/recursive-delete', program);
}

function shred({ program, args, state }: Invocation): void {
  const targets = readOptions(args, { short: 'ns', long: ['iterations', 'size'] }).rest;
  for (const target of targets) touchTree(target, program, state);
  if (targets.length > 0)
    state.judgement.report(
      'files/shred',
      program,
      targets.flatMap((target) => resolvePaths(target, state)),
    );
}

const filters = /^-(?:i?name|i?path|i?regex|newer\w*|[acm]time|[acm]min|size|empty|user|group|perm|inum|links|samefile|wholename)$/;

function find({ program, args, state }: Invocation): void {
  const at = args.findIndex((arg) => /^-(?![HLPDO])|^[(!]$/.test(arg));
  const starts = args.slice(0, at === -1 ? args.length : at).filter((arg) => !/^-/.test(arg));
  const deletes =
    args.includes('-delete') ||
    args.some((arg, index) => /^-(?:exec|execdir|ok|okdir)$/.test(arg) && /(?:^|\/)(?:rm|shred|unlink|srm)$/.test(args[index + 1] ?? ''));
  for (const [index, arg] of args.entries()) if (/^-(?:fprint0?|fprintf|fls)$/.test(arg)) touchWrite(args[index + 1] ?? '', program, state);
  if (!deletes) return;
  for (const start of starts.length > 0 ? starts : ['.']) {
    state.judgement.report('files/recursive-delete', program, resolvePaths(start, state));
    if (!args.some((arg) => filters.test(arg))) touchTree(start, program, state);
  }
  if (starts.some((start) => isUnknown(start))) state.judgement.report('shell/unresolved-argument', program, [undefined]);
}

function move({ program, args, state }: Invocation): void {
  const options = readOptions(args, { short: 'tS', long: ['target-directory', 'suffix'] });
  const [directory] = options.valuesOf('t', 'target-directory');
  const target = directory ?? options.rest.at(-1);
  const sources = directory === undefined ? options.rest.slice(0, -1) : options.rest;
  for (const source of sources) touchTree(source, program, state);
  if (target !== undefined) touchWrite(target, program, state);
  if (target === '/dev/null')
    state.judgement.report(
      'files/recursive-delete',
      program,
      sources.flatMap((source) => resolvePaths(source, state)),
    );
}

function synchronise({ program, args, state }: Invocation): void {
  const options = readOptions(args, {
    short: 'efBTM',
    long: [
      'rsh',
      'exclude',
      'include',
      'filter',
      'bwlimit',
      'port',
      'files-from',
      'exclude-from',
      'include-from',
      'rsync-path',
      'log-file',
      'chmod',
      'chown',
      'backup-dir',
    ],
  });
  const target = options.rest.at(-1);
  if (options.has('n', 'dry-run') || target === undefined) return;
  const deletes = args.some((arg) => /^--(?:del|delete(?:-\w+)*|remove-source-files)$/.test(arg));
  if (deletes) {
    state.judgement.report('files/mirror-delete', program, resolvePaths(target, state));
    if (!target.includes(':')) touchTree(target, program, state);
    if (args.includes('--remove-source-files')) for (const source of options.rest.slice(0, -1)) touchTree(source, program, state);
  } else if (!/^[\w.@-]+:/.test(target)) touchWrite(target, program, state);
}

function changeMode({ program, args, state }: Invocation): void {
  const words = args.filter((arg) => !/^--|^-[RvfcHLP]+$/.test(arg));
  const reference = args.some((arg) => arg.startsWith('--reference'));
  const [mode = '', ...targets] = reference ? ['', ...words] : words;
  const paths = targets.flatMap((target) => resolvePaths(target, state));
  const report = (rule: Parameters<typeof state.judgement.report>[0]): void => state.judgement.report(rule, program, paths);
  if (isUnknown(mode)) report('shell/unresolved-argument');
  const octal = /^0*([0-7]{1,4})$/.exec(mode)?.[1];
  if (
    octal !== undefined && octal !== ''
      ? /[2367]$/.test(octal) && octal.length > 0
      : /(?:^|,)(?:[ugo]*[oa][ugoa]*)[+=][rwxXst]*w/.test(mode)
  )
    report('permissions/world-writable');
  if ((octal !== undefined && octal.length === 4 && /^[2-7]/.test(octal) && octal[0] !== '1') || /(?:^|,)[ugoa]*[+=][rwxX]*s/.test(mode))
    report('permissions/privileged-file');
  const recursive = args.some((arg) => /^-\w*R|^--recursive$/.test(arg));
  if (
    recursive &&
    (paths.some((path) => path === undefined || isProtectedRoot(path, state) || isSystemPath(path, state)) ||
      /^0*0?$|^0*[0-3]?0{2,3}$|[ua]-[rwx]*[rx]/.test(mode))
  )
    report('permissions/recursive');
  for (const target of targets) {
    if (/\/\.ssh(?:\/|$)/.test(target) && /^0?[67]00$/.test(mode)) continue;
    touchWrite(target, program, state);
  }
}

function changeOwner({ program, args, state }: Invocation): void {
  const { rest, has } = readOptions(args, { long: ['from', 'reference'] });
  const [owner = '', ...targets] = rest;
  const paths = targets.flatMap((target) => resolvePaths(target, state));
  const wide = paths.some(
    (path) =>
      path === undefined ||
      isProtectedRoot(path, state) ||
      isSystemPath(path, state) ||
      !state.workingDirectories.some((directory) => path.startsWith(directory)),
  );
  if (has('R', 'recursive') && (wide || /^root\b|^0(?::|$)/.test(owner))) state.judgement.report('permissions/recursive', program, paths);
  for (const target of targets) touchWrite(target, program, state);
}
