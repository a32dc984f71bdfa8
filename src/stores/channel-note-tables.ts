import type { Transaction } from 'kysely';

/** JSON text. */
type Json = string;

export interface ChannelNoteTables {
  channel_notes: { channel: string; key: Json; value: Json };
}

/** What channels remember. Released: never changes. */
export async function channelNoteTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('channel_notes')
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('channel_notes_key', ['channel', 'key'])
    .execute();
}
