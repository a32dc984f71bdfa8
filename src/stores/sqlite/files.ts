import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, constants, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeDirectory } from '../../lib/make-directory.ts';

const abandonedAfterMs = 60 * 60 * 1000;

/** Makes the directory of the database for its owner alone; one that exists is left as it is. */
export function prepareDirectory(path: string): void {
  makeDirectory(dirname(path), 0o700);
}

/** Creates an empty file that only its owner can read. Fails when there is one. */
export function makePrivateFile(path: string): void {
  closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600));
}

/** Security: a database that was copied into place may be readable by others. SQLite gives the files beside it the same mode. */
export function makePrivate(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found && (found.mode & 0o077) !== 0) chmodSync(file, 0o600);
  }
}

/** SQLite keeps the latest changes in a file beside the database, until a checkpoint moves them over. */
export function unmovedBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

export function draftOf(path: string): string {
  return `${path}.${randomUUID()}.partial`;
}

/** Removes drafts whose writer died. */
export function removeAbandonedDrafts(path: string): void {
  const directory = dirname(path);
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.partial(-journal|-wal|-shm)?$/.test(name)) continue;
    const found = statSync(join(directory, name), { throwIfNoEntry: false });
    if (found && Date.now() - found.mtimeMs > abandonedAfterMs) rmSync(join(directory, name), { force: true });
  }
}

export function removeDraft(draft: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(draft + suffix, { force: true });
}
