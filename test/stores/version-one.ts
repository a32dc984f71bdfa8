import { DatabaseSync } from 'node:sqlite';

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
