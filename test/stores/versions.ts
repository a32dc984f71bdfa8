import { DatabaseSync } from 'node:sqlite';
import type { Transaction } from 'kysely';
import { migrations } from '../../src/stores/migrations.ts';
import { queries } from '../../src/stores/sqlite/connection.ts';

/** The one sandbox of the database that `makeVersionOne` makes. */
export const versionOneKey = { backend: 'docker', name: 'old' };

/** A state database as the first version wrote it, by hand, so that it stays what it was while the schema grows. */
export function makeVersionOne(path: string, more = ''): void {
  const database = new DatabaseSync(path);
  database.exec(`
    pragma application_id = ${0x484d5443};
    create table sandboxes (
      backend text not null, name text not null, session text not null, image text, spec_hash text not null, directory text not null,
      persistent integer not null, created_at bigint not null, last_used_at bigint not null, state text not null, owner text,
      lease_until bigint, primary key (backend, name));
    insert into sandboxes values ('docker', 'old', '["cli","default"]', null, 'hash', '/old', 1, 1000, 2000, 'open', 'me', 3000);
    ${more};
    pragma user_version = 1;
  `);
  database.close();
}

/** A state database as an earlier version left it, with these rows. */
export async function makeVersion(path: string, version: number, rows: string): Promise<void> {
  const database = new DatabaseSync(path);
  const db = queries(database);
  await db.transaction().execute(async (transaction) => {
    for (const migration of migrations.slice(0, version)) await migration(transaction as unknown as Transaction<unknown>);
  });
  database.exec(`pragma application_id = ${0x484d5443}; pragma user_version = ${version}; ${rows}`);
  database.close();
}
