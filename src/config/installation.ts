import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import { createFile } from '../lib/create-file.ts';
import { unreadable, unwritable } from './home.ts';

/** The id of this installation, made once. It marks what is ours on an engine that others use too. */
export function installationId(home: string): string {
  const path = join(home, 'installation');
  try {
    createFile(path, () => `${randomBytes(8).toString('hex')}\n`);
  } catch (error) {
    throw unwritable(path, error);
  }
  const id = textOf(path).trim();
  if (/^[0-9a-f]{16}$/.test(id)) return id;
  throw new HermeticError('config/unreadable', `${path} does not hold an installation id.`, {
    hint: 'Restore it from a backup. A new one makes Hermetic lose sight of its sandboxes.',
  });
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, 'cannot be read', error);
  }
}
