import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from './sync-path.ts';

/**
 * Makes a file for its owner alone, whole and on disk or not at all. One that exists is left as it is: of several processes that make it at
 * once, all find the same afterwards.
 */
export function createFile(path: string, makeText: () => string): void {
  if (lstatSync(path, { throwIfNoEntry: false })) return;
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, makeText(), { mode: 0o600, flag: 'wx', flush: true });
    // A link, unlike a rename, keeps the file of a process that was quicker.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  syncPath(dirname(path));
}
