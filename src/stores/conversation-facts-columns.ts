import type { Transaction } from 'kysely';

/** What a conversation was told of its surroundings, and the tokens that its provider wrote to its cache. Released: never changes. */
export async function conversationFacts(db: Transaction<unknown>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('facts', 'text').execute();
  await db.schema
    .alterTable('sessions')
    .addColumn('written_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
}
