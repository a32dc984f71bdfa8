import {
  closeSync,
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
import { withFileLockSync } from './file-lock.ts';
import { syncPath } from './sync-path.ts';

export interface ReplaceOptions {
  /** For a file that does not exist yet; one that exists keeps its mode and owner. */
  mode: number;
  /** How long to wait for another program's change to the same file. */
  deadlineMs?: number;
}

/**
 * Changes a text file all at once: a reader, or a crash at any moment, sees the old text or the new one. Changes by several
 * processes follow each other and none is lost. A symbolic link stays one; what it points to is replaced. Writes nothing when
 * `change` throws or gives back the same text or undefined.
 */
export function replaceFile(path: string, options: ReplaceOptions, change: (text: string | undefined) => string | undefined): void {
  const target = followLinks(path);
  withFileLockSync(`${target}.lock`, options.deadlineMs ?? 5_000, () => replaceLocked(target, options.mode, change));
}

function replaceLocked(target: string, mode: number, change: (text: string | undefined) => string | undefined): void {
  const existing = statSync(target, { throwIfNoEntry: false });
  const before = existing && decode(readFileSync(target));
  const after = change(before);
  if (after === undefined || after === before) return;
  const draft = `${target}.lock.new`;
  // A crash may have left one.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeFileSync(descriptor, after);
    if (existing && (existing.uid !== process.getuid?.() || existing.gid !== process.getgid?.())) {
      fchownSync(descriptor, existing.uid, existing.gid);
    }
    fchmodSync(descriptor, existing ? existing.mode & 0o7777 : mode);
    fsyncSync(descriptor);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  syncPath(dirname(target));
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

/** Throws on bytes that are not UTF-8: writing them back would change them. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}
