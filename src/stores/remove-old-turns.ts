import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Access } from './access.ts';
import { rememberNumbersOf } from './counter.ts';
import { maxRows } from './remove-old.ts';

/** So many records are removed by one statement. Those of many chats at the same time are on a page each. */
const maxRecords = 250;
/** Text of so many bytes is removed by one statement: images are part of messages. */
const maxBytes = 8_000_000;

interface OldRecord {
  row: number | string;
  at: number | string;
  session: string;
  turn: string;
}

/** A turn, and one of its records, by which it is found. */
interface Turn {
  name: string;
  row: number;
}

/**
 * Removes whole turns that ended before, the oldest first: a model refuses a turn of which a part is missing. One statement removes turns that
 * have at most 250 records and 8 MB together, or one larger turn. Ends early, with the rest still there, when the signal aborts.
 */
export async function removeOldTurns(access: Access, before: Date, signal?: AbortSignal): Promise<void> {
  // Records that come from now on are not old.
  await rememberNumbersOf(access, 'transcript');
  /** Turns that are old in part only, or may be resumed. They are not judged again at each of their records. */
  const kept = new Set<string>();
  let records: OldRecord[] = [];
  do {
    ({ rows: records } = await access.read((db) => nextOldRecords(before, records.at(-1)).execute(db)));
    const turns = turnsOf(records).filter(({ name }) => !kept.has(name));
    for (const portion of await portionsOf(access, turns, recordsOf, maxRecords)) {
      for (const some of await portionsOf(access, portion, bytesOf, maxBytes)) {
        if (signal?.aborted) return;
        const { rows: removed } = await access.run((db) => removal(some, before).execute(db));
        const gone = new Set(removed.map(({ row }) => Number(row)));
        for (const { name, row } of some) if (!gone.has(row)) kept.add(name);
        await turnOfLoop();
      }
    }
    // Also after records of which none was removed.
    await turnOfLoop();
  } while (records.length === maxRows && !signal?.aborted);
}

function turnsOf(records: readonly OldRecord[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const { session, turn, row } of records) {
    const name = JSON.stringify([session, turn]);
    if (!turns.has(name)) turns.set(name, { name, row: Number(row) });
  }
  return [...turns.values()];
}

/** The next records that are old, after the last one that was looked at. */
function nextOldRecords(before: Date, after: OldRecord | undefined): RawBuilder<OldRecord> {
  const rest = after ? sql`(at, rowid) > (${after.at}, ${after.row})` : sql`true`;
  return sql`select rowid as row, at, session, turn from transcript where at < ${before.getTime()} and ${rest} order by at, rowid limit ${maxRows}`;
}

/** As many turns at once as are no larger together than the largest portion. */
async function portionsOf(access: Access, turns: readonly Turn[], size: RawBuilder<unknown>, max: number): Promise<Turn[][]> {
  if (turns.length === 0) return [];
  const { rows: sizes } = await access.read((db) =>
    sql<Size>`select rowid as row, (${size}) as size from transcript as one where ${among(turns)}`.execute(db),
  );
  const sizeOf = new Map(sizes.map(({ row, size }) => [Number(row), Number(size)]));
  const portions: Turn[][] = [];
  let left = 0;
  for (const turn of turns) {
    const turnSize = sizeOf.get(turn.row) ?? 0;
    if (turnSize > left || portions.length === 0) {
      portions.push([]);
      left = max;
    }
    portions.at(-1)?.push(turn);
    left -= turnSize;
  }
  return portions;
}

interface Size {
  row: number | string;
  size: number | string;
}

const ofTurn = sql`transcript as each where each.session = one.session and each.turn = one.turn`;
/** A turn that is too long for a portion is not counted to its end. */
const recordsOf = sql`select count(*) from (select 1 from ${ofTurn} limit ${maxRecords + 1})`;
/** SQLite knows it without reading the text. */
const bytesOf = sql`select sum(octet_length(each.message)) from ${ofTurn}`;

function among(turns: readonly Turn[]): RawBuilder<unknown> {
  return sql`rowid in (${sql.join(turns.map(({ row }) => row))})`;
}

/** What was found is not taken for granted: others may have written since. Each turn is judged once, however many records it has. */
function removal(turns: readonly Turn[], before: Date): RawBuilder<{ row: number | string }> {
  const isYoung = sql`exists (select 1 from transcript as later
    where later.session = one.session and later.turn = one.turn and later.at >= ${before.getTime()})`;
  // The records of an interrupted turn keep its commands from being run again.
  const isResumed = sql`turn in (select turn from inbox where state in ('waiting', 'running', 'aside') and turn is not null)`;
  return sql`delete from transcript where (session, turn) in (select session, turn from transcript as one
    where ${among(turns)} and not ${isYoung} and not ${isResumed}) returning rowid as row`;
}
