import { sql, type Transaction } from 'kysely';

/** The tries of a message are kept with it: they are counted and forgotten with every message. Released: never changes. */
export async function inboxTries(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .alterTable('inbox')
    .addColumn('tries', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update inbox set tries = (select count from tries where source = 'inbox' and id = cast(seq as text))
    where cast(seq as text) in (select id from tries where source = 'inbox')`.execute(db);
  await sql`delete from tries where source = 'inbox'`.execute(db);
}
