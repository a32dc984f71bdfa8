import { globExpression, isPattern } from './glob.ts';
import type { Shell } from './shell.ts';
import {
  credentialFiles,
  doubtful,
  examples,
  keyName,
  plainDevices,
  rawDisk,
  startup,
  system,
  systemDirectories,
  systemExamples,
  systemRoots,
} from './tables/paths.ts';
import type { RuleId } from './tables/rules.ts';

/**
 * Without `.`, `..`, doubled slashes and the other names a Mac and Linux give to the same places. With a directory: to a process that
 * works there.
 */
export function normalised(path: string, directory?: string): string {
  if (/^\/[^/]/.test(path) && !/\/(?:\.|\/|$)|^\/(?:proc|private|System)/.test(path)) return path;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
    if (directory !== undefined && /^proc\/[^/]+\/cwd$/.test(segments.join('/'))) segments.splice(0, 3, ...directory.slice(1).split('/'));
  }
  const clean = `/${segments.join('/')}`;
  const [, other] = /^\/proc\/(?:self|thread-self|\d+)\/root(\/.*)?$/.exec(clean) ?? [];
  if (other !== undefined || /^\/proc\/(?:self|\d+)\/root$/.test(clean)) return other ?? '/';
  return clean.replace(/^\/private(?=\/(?:etc|var|tmp)(?:\/|$))/, '').replace(/^\/System\/Volumes\/Data(?=\/|$)/, '') || '/';
}

function isInside(path: string, directory: string): boolean {
  return directory === '/' || path === directory || path.startsWith(`${directory}/`);
}

/** Whether a path, perhaps a pattern, may be this one. */
function mayBe(path: string, concrete: string): boolean {
  if (!isPattern(path)) return path === concrete;
  return globExpression(path, false)?.test(concrete) ?? true;
}

/** Whether a path, perhaps a pattern, is or may be inside of a directory. */
function mayBeInside(path: string, directory: string): boolean {
  if (isInside(path, directory)) return true;
  if (!isPattern(path)) return false;
  const depth = directory.split('/').length;
  return mayBe(path.split('/').slice(0, depth).join('/'), directory);
}

/** A pattern for (nearly) everything in a directory. */
const everything = /^(?:[*?]+|\.\*|\.\[[!^]\.\]\*|\.\?+\*?|\*\.\*|\[[!^]?\.?[^\]]*\]\*|\{[^}]*\*[^}]*\}|\.\.\?\*)$/;

/** The directory whose whole contents a pattern means, or the path itself. */
function wholeDirectory(path: string): string {
  let result = path;
  while (result !== '/' && everything.test(result.slice(result.lastIndexOf('/') + 1))) {
    result = result.slice(0, result.lastIndexOf('/')) || '/';
  }
  return result;
}

/** Whether removing it would remove the system or a home. */
export function isProtectedRoot(path: string, shell: Shell): boolean {
  const home = normalised(shell.context.home || '/root');
  const whole = wholeDirectory(path);
  const candidates = new Set([path, whole]);
  for (const candidate of candidates) {
    if (isInside(home, candidate) || /^\/(?:home|Users)\/[^/]+$/.test(candidate)) return true;
    if (systemRoots.some((root) => mayBe(candidate, root) && !(isPattern(candidate) && root === '/'))) return true;
    if (isPattern(candidate) && mayBe(candidate, home)) return true;
  }
  return false;
}

export function isRawDisk(path: string): boolean {
  return rawDisk.test(path) || (isPattern(path) && ['/dev/sda', '/dev/nvme0n1', '/dev/vda'].some((disk) => mayBe(path, disk)));
}

/** Streams and devices that keep nothing. */
export function isPlainDevice(path: string): boolean {
  return plainDevices.test(path);
}

export function isSystemPath(path: string): boolean {
  if (path === '/' || systemDirectories.includes(path)) return true;
  return system.test(path) || (isPattern(path) && systemDirectories.some((directory) => mayBeInside(path, directory)));
}

export function isCredential(path: string, shell: Shell): boolean {
  if (keyName.test(path) || credentialFiles.test(path)) return true;
  if (!isPattern(path)) return false;
  const home = normalised(shell.context.home || '/root');
  return [...examples.map((name) => `${home}/${name}`), ...systemExamples].some((example) => mayBe(path, example));
}

export function isDoubtfulCredential(path: string): boolean {
  return doubtful.test(path) || (isPattern(path) && mayBe(path.slice(path.lastIndexOf('/') + 1), '.env'));
}

/** The session's own places, such as its workspace. */
export function isOfSession(path: string, shell: Shell): boolean {
  return (shell.context.sessionPaths ?? []).some((own) => isInside(path, normalised(own)));
}

/** Whether it is, or may be, the whole of one of the session's places. */
export function isWholeSession(path: string, shell: Shell): boolean {
  return (shell.context.sessionPaths ?? []).some((own) => isInside(normalised(own), wholeDirectory(path)));
}

export function isOwn(path: string, shell: Shell): boolean {
  const { ownPaths, sessionPaths = [] } = shell.context;
  return ownPaths
    .map((own) => normalised(own))
    .some((own) => {
      if (!mayBeInside(path, own)) return false;
      // Security: only a place of the session inside Hermetic's home is the session's; one around it is not.
      return !sessionPaths
        .map((place) => normalised(place))
        .some((place) => isInside(place, own) && place !== own && isInside(path, place));
    });
}

/** Files of Hermetic beside the session's directories. */
const beside = /^(?:sandbox\.json|state\.json|run|received)(?:\/|$)/;

/** Whether it is where the session's places are, or lies there and is nothing of Hermetic's: `../lib` of a workspace. */
export function isBesideSession(path: string, shell: Shell): boolean {
  return (shell.context.sessionPaths ?? []).some((own) => {
    const directory = normalised(own).replace(/\/[^/]+$/, '');
    const isOwnDirectory = shell.context.ownPaths.some((base) => directory !== normalised(base) && isInside(directory, normalised(base)));
    if (!isOwnDirectory || !isInside(path, directory)) return false;
    const name = path.slice(directory.length + 1);
    return !beside.test(name) && !isPattern(name.split('/')[0] ?? '');
  });
}

/** Whether a directory has Hermetic's own files somewhere below it. */
export function holdsOwn(path: string, shell: Shell): boolean {
  if (isOfSession(path, shell)) return false;
  const whole = wholeDirectory(path);
  const places = [...shell.context.ownPaths, ...(shell.context.sessionPaths ?? [])].map((own) => normalised(own));
  return places.some((own) => isInside(own, whole) || mayBeInside(path, own));
}

/** The rule for changing a file that programs read when they start; undefined for other files. */
export function startupRule(path: string): RuleId | undefined {
  return startup.find(([expression]) => expression.test(path))?.[1];
}
