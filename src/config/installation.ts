import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../core/errors.ts';

/** The id of this installation, made once. It marks what is ours on an engine that others use too. */
export function installationId(home: string): string {
  const path = join(home, 'installation');
  try {
    writeFileSync(path, `${randomBytes(8).toString('hex')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const id = readFileSync(path, 'utf8').trim();
  if (/^[0-9a-f]{16}$/.test(id)) return id;
  throw new HermeticError('config/unreadable', `${path} does not hold an installation id.`, {
    hint: 'Restore it from a backup. A new one makes Hermetic lose sight of its sandboxes.',
  });
}
