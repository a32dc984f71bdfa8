import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Kysely, Transaction } from 'kysely';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { syncPath } from '../../lib/sync-path.ts';
import { migrations } from '../migrations.ts';
import type { Tables } from '../schema.ts';
import { connect, pragma } from './connection.ts';
import { explained, failed } from './failures.ts';
import { draftOf, makePrivateFile, removeAbandonedDrafts, removeDraft } from './files.ts';
import { latestVersion, refuseNewer, versionOf } from './inspect.ts';
import { missingColumns } from './shape.ts';

/** All or nothing, and once: of two processes that come at the same time the second finds the work done. */
export async function migrate(path: string, database: DatabaseSync, db: Kysely<Tables>): Promise<void> {
  // A migration may replace a table that others refer to. This cannot be changed within a transaction.
  database.exec('pragma foreign_keys = off');
  try {
    await db.transaction().execute(async (transaction) => {
      const version = versionOf(database);
      if (version === latestVersion) return;
      refuseNewer(path, version);
      const backup = version > 0 ? writeBackup(path, version) : undefined;
      try {
        for (const migration of migrations.slice(version)) await migration(transaction as unknown as Transaction<unknown>);
        if (pragma(database, 'foreign_key_check') !== undefined) throw new Error('a reference would lead nowhere');
        const missing = missingColumns(database);
        if (missing.length > 0) throw new Error(`it would lack ${missing[0]}`);
        database.exec(`pragma user_version = ${latestVersion}`);
      } catch (error) {
        // Nothing has changed, and a start that fails again and again must not fill the disk.
        if (backup) rmSync(backup, { force: true });
        const reason = explained(path, error);
        if (reason instanceof HermeticError) throw reason;
        const versions = `from version ${version} to ${latestVersion}`;
        throw failed(path, `could not be migrated ${versions} (${errorText(error)})`, 'It was left as it is. Report this.', error);
      }
    });
  } finally {
    database.exec('pragma foreign_keys = on');
  }
}

/** Writes the database as it is now beside it. Another connection's transaction does not matter. */
function writeBackup(path: string, version: number): string {
  removeAbandonedDrafts(path);
  const date = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-');
  const backup = `${path}.v${version}-${date}.bak`;
  const draft = draftOf(path);
  const reader = connect(path, { readOnly: true });
  try {
    makePrivateFile(draft);
    reader.prepare('vacuum into ?').run(draft);
    syncPath(draft);
    renameSync(draft, backup);
    syncPath(dirname(path));
    return backup;
  } finally {
    reader.close();
    removeDraft(draft);
  }
}
