import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Access } from './access.ts';
import { rememberNumbersOf } from './counter.ts';
import type { Tables } from './schema.ts';

/** So many rows are looked at, or removed, by one statement: few enough to hold up neither this thread nor other processes that write. */
export const maxRows = 500;

interface Old<Table extends keyof Tables> {
  table: Table;
  /** Rows are old whose `column` has a time before this one. An index begins with it, so that finding the next rows reads no others. Default: all rows. */
  age?: { column: keyof Tables[Table] & string; before: Date };
  /** Of the old ones only these. */
  only?: RawBuilder<SqlBool>;
  /** So many are removed at once. Default: 500. */
  atOnce?: number;
}

interface Candidate {
  time: number | string;
  row: number | string;
  fits: number | string;
}

/** The next rows that are old, after the last one that was looked at. */
function nextOldRows<Table extends keyof Tables>(
  { table, age, only = sql`true` }: Old<Table>,
  after: Pick<Candidate, 'time' | 'row'> | undefined,
): RawBuilder<Candidate> {
  const time = age ? sql.ref(age.column) : sql`rowid`;
  const rest = after ? sql`(${time}, rowid) > (${after.time}, ${after.row})` : sql`true`;
  return sql<Candidate>`select ${time} as time, rowid as row, (${only}) as fits from ${sql.table(table)}
    where ${isOld(age)} and ${rest} order by ${time}, rowid limit ${maxRows}`;
}

/**
 * Removes rows in portions, the oldest first. Each is a transaction of its own, and between two of them everything else has its turn. Ends early, with the
 * rest still there, when the signal aborts.
 */
export async function removeOld<Table extends keyof Tables>(access: Access, old: Old<Table>, signal?: AbortSignal): Promise<void> {
  // Rows that come from now on are not old.
  await rememberNumbersOf(access, old.table);
  let candidates: Candidate[] = [];
  do {
    ({ rows: candidates } = await access.read((db) => nextOldRows(old, candidates.at(-1)).execute(db)));
    const fitting = candidates.filter(({ fits }) => Number(fits) === 1).map(({ row }) => row);
    while (fitting.length > 0) {
      if (signal?.aborted) return;
      const some = fitting.splice(0, old.atOnce ?? maxRows);
      await access.run((db) => removal(old, some).execute(db));
      await turnOfLoop();
    }
    // Also after rows of which none was removed.
    await turnOfLoop();
  } while (candidates.length === maxRows && !signal?.aborted);
}

/** What was found is not taken for granted: others may have written since. */
function removal<Table extends keyof Tables>(old: Old<Table>, rows: readonly Candidate['row'][]): RawBuilder<unknown> {
  const { table, age, only = sql`true` } = old;
  return sql`delete from ${sql.table(table)} where rowid in (${sql.join(rows)}) and ${isOld(age)} and (${only})`;
}

function isOld(age: { column: string; before: Date } | undefined): RawBuilder<unknown> {
  return age ? sql`${sql.ref(age.column)} < ${age.before.getTime()}` : sql`true`;
}
