import { isPattern, matchesParent } from './glob.ts';
import {
  holdsOwn,
  isBesideSession,
  isCredential,
  isDoubtfulCredential,
  isOfSession,
  isOwn,
  isPlainDevice,
  isProtectedRoot,
  isRawDisk,
  isSystemPath,
  isWholeSession,
  normalised,
  startupRule,
} from './paths.ts';
import type { Shell } from './shell.ts';
import type { RuleId } from './tables/rules.ts';
import { below, isUnknown, temporary } from './values.ts';

const patternCost = 6;

/** No file has a longer name. */
export const maxPath = 4_200;

/** The absolute paths a text may mean; undefined for one that is not known. */
export function resolvePaths(text: string, shell: Shell): readonly (string | undefined)[] {
  // Long texts take the patterns below too long.
  if (text === '' || text.length > maxPath || isUnknown(text)) return [undefined];
  // A pattern is compared with many places, from each directory the shell may be in.
  shell.judgement.step((isPattern(text) ? patternCost : 1) * (text.startsWith('/') ? 1 : shell.workingDirectories.length));
  if (text.startsWith(temporary)) return [text.includes('..') ? undefined : normalised(`${shell.context.sessionPaths?.[0] ?? ''}/${text}`)];
  const directories = shell.workingDirectories;
  // Security: where `..` leads from a link, and from places of the system that are links, is not known.
  const leadsUp = /[^/.][^/]*\/+\.\.(?:\/|$)/.test(text) && (text.startsWith('/') || shell.judgement.makesLink);
  const unsure = leadsUp ? [undefined] : [];
  if (text.startsWith('/')) {
    const elsewhere = /\/proc\/.*cwd/.test(text) ? directories.map((directory) => normalised(text, directory)) : [];
    return [...climbs(text, shell), ...elsewhere, ...unsure];
  }
  const paths = directories.flatMap((directory): readonly (string | undefined)[] =>
    directory.startsWith('/') && !isUnknown(directory) && !(directory.includes(temporary) && text.includes('..'))
      ? climbs(`${directory}/${text}`, shell)
      : [undefined],
  );
  return [...paths, ...unsure];
}

/** The path itself, and what it is when patterns in it that match `..` do lead up. */
function climbs(path: string, shell: Shell): readonly string[] {
  const paths = [normalised(path)];
  const segments = path.split('/');
  for (const [index, segment] of segments.entries()) {
    if (!matchesParent(segment)) continue;
    shell.judgement.step(segments.length / 10);
    segments[index] = '..';
    paths.push(normalised(segments.join('/')));
  }
  return paths;
}

type Look = (path: string, report: (rule: RuleId) => undefined) => void;

/** Other machines, as programs that copy take them. */
const elsewhere = /^\w+:\/\/|^[\w.-]+@[\w.-]+:|^[\w.-]+::/;

function touch(
  text: string,
  program: string | undefined,
  shell: Shell,
  look: Look,
  unresolved: RuleId = 'shell/unresolved-argument',
): undefined {
  // Nothing has an empty name.
  if (text === '') return;
  if (elsewhere.test(text) || (/^(?:rsync|g?tar|bsdtar|cpio)\b/.test(program ?? '') && /^[^/]+:/.test(text)))
    return shell.judgement.report('network/remote', program, text);
  for (const path of pathsIn(text).flatMap((one) => resolvePaths(one, shell))) {
    if (path === undefined) shell.judgement.report(unresolved, program);
    else look(path, (rule) => shell.judgement.report(rule, program, path, path));
  }
}

/** Security: some programs read the file behind an `@`, and some take a list with colons. */
function pathsIn(text: string): readonly string[] {
  if (/^@[./~]/.test(text)) return [text, text.slice(1)];
  return /:(?:\/|\.\.)/.test(text) ? [text, ...text.split(':').filter((part) => part !== '')] : [text];
}

/** Looks at what it means that a program makes or changes the file at a path. */
export function touchWrite(text: string, program: string | undefined, shell: Shell): undefined {
  touch(text, program, shell, (path, report) => lookAtWrite(path, report, shell));
}

function lookAtWrite(path: string, report: (rule: RuleId) => undefined, shell: Shell): undefined {
  if (isPlainDevice(path)) return;
  if (isRawDisk(path)) return report('disk/raw-write');
  if (path === '/proc/sysrq-trigger') return report('system/shutdown');
  if (/^\/dev\/(?:tcp|udp)\//.test(path)) return report('network/remote-shell');
  if (isOwn(path, shell)) return report(isBesideSession(path, shell) ? 'files/outside' : 'hermetic/files');
  const tree = parentOf(path);
  if (tree !== undefined && holdsOwn(tree, shell)) return report('hermetic/files');
  const startup = startupRule(path);
  if (startup) return report(startup);
  if (isCredential(path, shell)) return report('credentials/write');
  if (isOfSession(path, shell)) return;
  if (/\/\.?(?:bash|zsh|python|mysql|psql|node_repl|sh)_?history$|^\/var\/log\//.test(path)) report('system/erase-traces');
  else report(isSystemPath(path) ? 'files/system-write' : 'files/outside');
}

/** Looks at what it means that a program sees what is in a file, or in everything below a directory. */
export function touchRead(text: string, program: string | undefined, shell: Shell): undefined {
  touch(text, program, shell, (path, report) => {
    if (/^\/dev\/(?:tcp|udp)\//.test(path)) report('network/remote-shell');
    if (/^\/proc\/(?:.*\/(?:environ|mem|root|fd|maps)|(?!self\/).*\/cwd)(?:\/|$)/.test(path)) report('credentials/read');
    const tree = parentOf(path);
    if (tree !== undefined) {
      if (holdsOwn(tree, shell)) report('hermetic/read');
      if (holdsSecrets(tree, shell)) report('credentials/read');
    }
    if (isOwn(path, shell)) report('hermetic/read');
    else if (isRawDisk(path) || isCredential(path, shell) || isDoubtfulCredential(path) || holdsSecrets(path, shell))
      report('credentials/read');
  });
}

/** Looks at what it means that a program shows names, sizes and dates. */
export function touchList(text: string, program: string | undefined, shell: Shell): undefined {
  touch(text, program, shell, (path, report) => {
    if (isOwn(path, shell)) report('hermetic/read');
  });
}

/** Looks at what it means that everything at a path goes: deleted, moved away or made unusable. */
export function touchDelete(text: string, program: string | undefined, shell: Shell): undefined {
  const withHostFiles = shell.context.hostPaths.length > 0;
  touch(
    text,
    program,
    shell,
    (given, report) => {
      const tree = parentOf(given);
      const path = tree ?? given;
      if (isPlainDevice(path)) return report('files/system-write');
      if (isProtectedRoot(path, shell) && !isOfSession(path, shell)) return report('files/delete-system');
      if (holdsOwn(path, shell) && !(isOwn(path, shell) && isBesideSession(path, shell) && !isWholeSession(path, shell)))
        return report('hermetic/files');
      if (tree === undefined && isWholeSession(path, shell)) return report('files/delete-workspace');
      if (/\/\.git(?:\/|$)/.test(path)) report('git/discard');
      lookAtWrite(path, report, shell);
      if (withHostFiles) report('files/recursive-delete');
    },
    withHostFiles ? 'files/recursive-delete' : undefined,
  );
}

/** The directory, of a path that stands for something below it. */
function parentOf(path: string): string | undefined {
  return path.endsWith(`/${below}`) ? path.slice(0, -2) || '/' : undefined;
}

/** Looks at what it means that a program works in a directory, reading and writing there. */
export function touchDirectory(text: string, program: string | undefined, shell: Shell): undefined {
  touch(text, program, shell, (path, report) => {
    if (isOwn(path, shell)) return report(isBesideSession(path, shell) ? 'files/outside' : 'hermetic/files');
    if (!isOfSession(path, shell)) report('files/outside');
    const startup = startupRule(`${path}/x`);
    if (startup) report(startup);
  });
}

/** Looks at a word of which it is not known what the program does with it. */
export function touchMention(text: string, program: string | undefined, shell: Shell): undefined {
  const value = text.replace(/^-{1,2}[\w-]*=|^-\w(?=[/~.])|^@/, '');
  if (isUnknown(value) || value === '' || value.length > maxPath || /^https?:\/\//.test(value)) return;
  for (const path of resolvePaths(value, shell)) {
    if (path === undefined) continue;
    if (isOwn(path, shell)) shell.judgement.report(isBesideSession(path, shell) ? 'files/outside' : 'hermetic/read', program, path, path);
    else if (isCredential(path, shell) || (isDoubtfulCredential(path) && /[/.]/.test(value)))
      shell.judgement.report('credentials/read', program, path, path);
  }
}

/** Directories below which credentials usually lie. */
function holdsSecrets(path: string, shell: Shell): boolean {
  const home = normalised(shell.context.home || '/root');
  if (isOfSession(path, shell)) return false;
  return (
    path === home ||
    /^\/(?:home(?:\/[^/]+)?|root|etc|proc|Users(?:\/[^/]+)?)?$/.test(path) ||
    (isPattern(path) && /^\/(?:\*|home|root|etc\/?\*?)/.test(path))
  );
}
