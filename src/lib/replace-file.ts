import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncPath } from './sync-path.ts';

export interface ReplaceOptions {
  /** For a file that does not exist yet; one that exists keeps its mode and owner. */
  mode: number;
  /** How long to wait for somebody else's change to the same file. */
  patienceMs?: number;
}

const staleAfterMs = 10_000;

/**
 * Changes a text file all at once: a reader, or a crash at any moment, sees the old text or the new one. Changes by several
 * processes follow each other and none is lost. A symbolic link stays one; what it points to is replaced. Writes nothing when
 * `change` throws or gives back the same text or undefined.
 */
export function replaceFile(path: string, options: ReplaceOptions, change: (text: string | undefined) => string | undefined): void {
  const target = followLinks(path);
  // The new text is written to the lock itself, as git does, so that taking its place also ends the lock.
  const lock = `${target}.lock`;
  const descriptor = openLock(lock, options.patienceMs ?? 5_000);
  try {
    const existing = statSync(target, { throwIfNoEntry: false });
    const before = existing && decode(readFileSync(target));
    const after = change(before);
    if (after === undefined || after === before) {
      rmSync(lock);
      return;
    }
    writeFileSync(descriptor, after);
    if (existing && (existing.uid !== process.getuid?.() || existing.gid !== process.getgid?.())) {
      fchownSync(descriptor, existing.uid, existing.gid);
    }
    fchmodSync(descriptor, existing ? existing.mode & 0o7777 : options.mode);
    fsyncSync(descriptor);
    renameSync(lock, target);
  } catch (error) {
    rmSync(lock, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  syncPath(dirname(target));
}

function openLock(lock: string, patienceMs: number): number {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return openSync(lock, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      removeIfStale(lock);
      if (Date.now() > deadline) throw new Error(`${lock} exists: something else is changing the file`, { cause: error });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

/** A writer holds the lock for milliseconds; an old one was left by a crash. Renamed first, so that only one process removes it. */
function removeIfStale(lock: string): void {
  const found = statSync(lock, { throwIfNoEntry: false });
  if (!found || Date.now() - found.mtimeMs < staleAfterMs) return;
  const aside = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  rmSync(aside, { force: true });
}

/** Unlike `realpath`, also follows a link to a file that does not exist yet. */
function followLinks(path: string): string {
  let current = resolve(path);
  for (let hops = 0; hops < 40; hops++) {
    if (!lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink()) return current;
    current = resolve(dirname(current), readlinkSync(current));
  }
  throw new Error(`${path} is a symbolic link that leads to itself`);
}

/** Throws on what is not UTF-8: writing it back would change bytes nobody asked to change. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}
