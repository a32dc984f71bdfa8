import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { HermeticError } from '../core/errors.ts';

/** The token in a file for its owner alone; made when there is none. Of several processes that make it at once, all get the same. */
export function tokenIn(path: string): string {
  if (!lstatSync(path, { throwIfNoEntry: false })) create(path);
  const found = lstatSync(path);
  // Security: whoever can read or replace it can do what its owner can.
  if (!found.isFile() || (found.mode & 0o077) !== 0 || (process.getuid && found.uid !== process.getuid())) {
    throw new HermeticError('config/unreadable', `${path} is not a file that only you can read.`, { hint: `Run: chmod 600 ${path}` });
  }
  const token = readFileSync(path, 'utf8').trim();
  if (token.length < 32) throw new HermeticError('config/unreadable', `${path} holds no token.`, { hint: 'Remove it; a new one is made.' });
  return token;
}

function create(path: string): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true });
    // A link, unlike a rename, leaves the token of whoever was quicker.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw new HermeticError('config/unreadable', `${path} cannot be written: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(draft, { force: true });
  }
}
