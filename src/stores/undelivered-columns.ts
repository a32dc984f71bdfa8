import type { Transaction } from 'kysely';

/** Which conversation a message belongs to, and what it was not told of messages that were dropped. Released: never changes. */
export async function undeliveredColumns(db: Transaction<unknown>): Promise<void> {
  await db.schema.alterTable('outbox').addColumn('session', 'text').execute();
  await db.schema.alterTable('sessions').addColumn('undelivered', 'text').execute();
}
