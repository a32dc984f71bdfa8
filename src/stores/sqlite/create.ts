import { linkSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from '../../lib/sync-path.ts';
import { connect, queries } from './connection.ts';
import { corrupt } from './failures.ts';
import { draftOf, makePrivateFile, removeAbandonedDrafts, removeDraft, unmovedBytes } from './files.ts';
import { applicationId } from './inspect.ts';
import { migrate } from './migrate.ts';

/**
 * Puts a complete database in place at once, so that an empty or unfinished one is never ours and can be told from a damaged one. When
 * another process was quicker, its database stays.
 */
export async function create(path: string): Promise<void> {
  if (unmovedBytes(path) > 0) throw corrupt(path, `is gone, but ${path}-wal still holds what was written to it last`);
  removeAbandonedDrafts(path);
  const draft = draftOf(path);
  makePrivateFile(draft);
  try {
    const database = connect(draft);
    try {
      // Takes effect only before there is a table.
      database.exec('pragma auto_vacuum = incremental');
      database.exec(`pragma application_id = ${applicationId}`);
      await migrate(draft, database, queries(database));
      database.exec('pragma journal_mode = wal');
    } finally {
      database.close();
    }
    syncPath(draft);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    removeDraft(draft);
  }
  syncPath(dirname(path));
}
