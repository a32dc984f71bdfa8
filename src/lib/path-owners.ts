import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** A directory, link or file through which another user decides what is found at a path. */
export interface ForeignPart {
  path: string;
  why: 'owner' | 'writable';
  owner: number;
  mode: number;
}

const maxLinks = 40;
/** The owner that the kernel shows for users who have no number in this user namespace. */
const unmappedUser = 65_534;

/**
 * The first part of a path that a user other than this one and root controls: every directory above it, every link on the way and what is
 * at its end have to belong to one of the two, and directories above it may be written by others only with the sticky bit. What does not
 * exist is not looked at. The mode of what is at the end is for the caller to judge. `from` is a directory above that was looked at before.
 */
export function foreignPart(path: string, from = '/'): ForeignPart | undefined {
  const own = process.geteuid?.();
  if (own === undefined) return undefined;
  const ahead = relative(from, resolve(path)).split('/').filter(Boolean);
  let current = from === '/' ? from : join(from, ahead.shift() ?? '');
  let links = 0;
  for (;;) {
    const found = lstatSync(current, { throwIfNoEntry: false });
    if (!found) return undefined;
    const isEnd = ahead.length === 0 && !found.isSymbolicLink();
    const why = flaw(found, own, isEnd);
    if (why) return { path: current, why, owner: found.uid, mode: found.mode };
    if (found.isSymbolicLink()) {
      if (++links > maxLinks) return undefined;
      const target = readlinkSync(current);
      ahead.unshift(...resolve(dirname(current), target).split('/').filter(Boolean));
      current = '/';
    } else if (isEnd) return undefined;
    current = join(current, ahead.shift() ?? '');
  }
}

function flaw(found: Stats, own: number, isEnd: boolean): ForeignPart['why'] | undefined {
  const isForeign = found.uid !== own && found.uid !== 0;
  // In a user namespace of its own even `/` may belong to a user who cannot be named. Above the home that is taken for the administrator.
  if (isForeign && (isEnd || !isUnmapped(found.uid))) return 'owner';
  const isSticky = (found.mode & 0o1000) !== 0;
  return found.isDirectory() && !isEnd && !isSticky && (found.mode & 0o022) !== 0 ? 'writable' : undefined;
}

function isUnmapped(owner: number): boolean {
  if (owner !== unmappedUser) return false;
  try {
    const [inside, , count] = readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\s+/).map(Number);
    return !(inside === 0 && (count ?? 0) > unmappedUser);
  } catch {
    return false;
  }
}

/** The name of a user with the number, or the number alone where no list of users has it. */
export function userName(id: number): string {
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((entry) => entry.split(':')[2] === String(id));
    const name = line?.split(':')[0];
    return name ? `${name} (uid ${id})` : `uid ${id}`;
  } catch {
    return `uid ${id}`;
  }
}
