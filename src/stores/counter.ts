import type { Transaction } from 'kysely';
import type { Tables } from './schema.ts';

/**
 * The first of so many new numbers in a row. None is ever given out twice, also not after the rows that had them are gone; a program that takes
 * them in one transaction waits for the one before, so their order is that of the commits.
 */
export async function takeNumbers(
  db: Transaction<Tables>,
  name: 'inbox' | 'outbox' | 'transcript' | 'pairing',
  count = 1,
): Promise<number> {
  const { value } = await db
    .insertInto('counters')
    .values({ name, value: count })
    .onConflict((conflict) => conflict.column('name').doUpdateSet((set) => ({ value: set('counters.value', '+', count) })))
    .returning('value')
    .executeTakeFirstOrThrow();
  return Number(value) - count + 1;
}
