import { lstatSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { HermeticError } from '../../core/errors.ts';
import { migrations } from '../migrations.ts';
import { connect, pragma } from './connection.ts';
import { corrupt, failed } from './failures.ts';
import { unmovedBytes } from './files.ts';
import { missingColumns, refuseForeignParts } from './shape.ts';

/** Marks a file as a state database: "HMTC". */
export const applicationId = 0x484d5443;
export const latestVersion = migrations.length;

/** Reading every page of a larger database would slow down each start; damage in one shows when it is met, or before a migration. */
const checkedBytes = 8 * 1024 * 1024;
const maxNamed = 5;

/**
 * Before anything of it is opened or changed: SQLite would wait for the other end of a pipe, and keep the log of a database that is reached by a link
 * elsewhere.
 */
export function refuseNoFile(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`]) {
    const found = lstatSync(each, { throwIfNoEntry: false });
    if (found && !found.isFile()) throw failed(each, `is ${found.isSymbolicLink() ? 'a link' : 'not a file'}`, 'Move it away.');
  }
}

/** Throws unless this is a sound database of ours that this version understands. Never changes it. */
export function inspect(path: string): void {
  const found = statSync(path);
  if (found.size === 0) throw corrupt(path, 'is empty');
  // A connection that may write would, when it ends, move what is still beside the database into it.
  const database = connect(path, { readOnly: unmovedBytes(path) > 0 });
  try {
    if (pragma(database, 'application_id') !== applicationId) throw corrupt(path, 'is a database, but not one of Hermetic');
    const version = versionOf(database);
    refuseNewer(path, version);
    if (version < 1) throw corrupt(path, 'has no version');
    if (version < latestVersion || found.size <= checkedBytes) {
      const answer = pragma(database, 'quick_check(1)');
      if (answer !== 'ok') throw corrupt(path, `is damaged (${String(answer).replaceAll('\n', ' ')})`);
    }
    refuseForeignParts(path, database);
    const missing = version === latestVersion ? missingColumns(database) : [];
    if (missing.length > 0) throw corrupt(path, `lacks ${missing.slice(0, maxNamed).join(', ')}`);
  } finally {
    database.close();
  }
}

export function versionOf(database: DatabaseSync): number {
  return Number(pragma(database, 'user_version'));
}

export function refuseNewer(path: string, version: number): void {
  if (version <= latestVersion) return;
  throw new HermeticError('store/newer', `${path} was written by a newer Hermetic (version ${version}; this one knows ${latestVersion}).`, {
    hint: `Update Hermetic, or go back with a backup from before the update: ${path}.v*.bak`,
  });
}
