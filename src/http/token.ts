import { randomBytes } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { HermeticError } from '../core/errors.ts';
import { createFile } from '../lib/create-file.ts';
import { errorText } from '../lib/error-text.ts';
import { minSecretCharacters } from '../lib/same-secret.ts';

/** The token in a file for its owner alone; made when there is none. Of several processes that make it at once, all get the same. */
export function tokenIn(path: string): string {
  make(path);
  const found = lstatSync(path);
  // Security: a user who can read or replace it has the rights of its owner.
  if (!found.isFile() || (found.mode & 0o077) !== 0 || (process.getuid && found.uid !== process.getuid())) {
    throw new HermeticError('config/unreadable', `${path} is not a file that only you can read.`, { hint: `Run: chmod 600 ${path}` });
  }
  const token = readFileSync(path, 'utf8').trim();
  if (token.length < minSecretCharacters)
    throw new HermeticError('config/unreadable', `${path} holds no token.`, { hint: 'Remove it; a new one is made.' });
  return token;
}

function make(path: string): void {
  try {
    createFile(path, () => `${randomBytes(32).toString('base64url')}\n`);
  } catch (error) {
    throw new HermeticError('config/unreadable', `${path} cannot be written: ${errorText(error)}`, { cause: error });
  }
}
