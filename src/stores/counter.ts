import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Access } from './access.ts';
import type { Tables } from './schema.ts';
import { Statement, type Statements } from './statement.ts';

/**
 * The first of so many new numbers in a row. None is ever given out twice, also not after the rows that had them are gone; a program that takes
 * them in one transaction waits for the one before, so their order is that of the commits.
 */
export async function takeNumbers(db: Transaction<Tables>, name: 'outbox' | 'pairing', count = 1): Promise<number> {
  const { value } = await db
    .insertInto('counters')
    .values({ name, value: count })
    .onConflict((conflict) => conflict.column('name').doUpdateSet((set) => ({ value: set('counters.value', '+', count) })))
    .returning('value')
    .executeTakeFirstOrThrow();
  return Number(value) - count + 1;
}

/** Tables whose rows get the next number with the statement that adds them. */
const numberedTables = ['inbox', 'transcript'] as const;
type NumberedTable = (typeof numberedTables)[number];

/**
 * The next number of a row of this table, with the same promise: one more than the largest that is there, or that the counter remembers of rows that
 * are gone. Rows may be removed only after `rememberNumbers`.
 */
export function nextNumber(table: NumberedTable): RawBuilder<number> {
  return sql<number>`(select coalesce(max(seq), 0) + 1 from
    (select value as seq from counters where name = ${sql.lit(table)} union all select max(seq) from ${sql.table(table)}) as numbers)`;
}

const remember = new Map(numberedTables.map((table) => [table as string, remembering(table)]));

function remembering(table: NumberedTable): Statement<object> {
  return new Statement((db) =>
    sql`insert into counters (name, value) select ${sql.lit(table)}, coalesce(max(seq), 0) from ${sql.table(table)} where true
      on conflict (name) do update set value = excluded.value where excluded.value > counters.value`.compile(db),
  );
}

/** Before rows of this table are removed, in the same transaction or an earlier one. */
export function rememberNumbers(statements: Statements, table: NumberedTable): void {
  const statement = remember.get(table);
  if (statement) statements.run(statement, {});
}

/** The same for rows that were there before now. Does nothing for a table whose rows are numbered in another way. */
export async function rememberNumbersOf(access: Access, table: string): Promise<void> {
  const statement = remember.get(table);
  if (statement) await access.prepared.run((statements) => statements.run(statement, {}), 'later');
}
