import { sql, type Transaction } from 'kysely';

/** Indexes by which old rows are found without reading the others. Released: never changes. */
export async function ageTables(db: Transaction<unknown>): Promise<void> {
  const all = { inbox: 'received_at', set_aside: 'at', transcript: 'at', summaries: 'at', web_messages: 'at', web_chats: 'last_active_at' };
  for (const [table, column] of Object.entries(all)) await db.schema.createIndex(`${table}_age`).on(table).column(column).execute();
  for (const table of ['outbox', 'questions'])
    await db.schema.createIndex(`${table}_age`).on(table).column('settled_at').where(sql.ref('settled_at'), 'is not', null).execute();
  await db.schema.createIndex('web_files_age').on('web_files').columns(['added_at', 'message', 'chat']).execute();
}
