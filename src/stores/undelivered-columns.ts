import type { Transaction } from 'kysely';

/** The conversation of a message, and dropped messages that it was not told of. Released: never changes. */
export async function undeliveredColumns(db: Transaction<unknown>): Promise<void> {
  await db.schema.alterTable('outbox').addColumn('session', 'text').execute();
  await db.schema.alterTable('sessions').addColumn('undelivered', 'text').execute();
}
