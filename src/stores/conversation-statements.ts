import { type Selectable, sql } from 'kysely';
import { nextNumber } from './counter.ts';
import type { Tables } from './schema.ts';
import { Statement } from './statement.ts';

export type SessionRow = Selectable<Tables['sessions']>;

export const sessionRow = new Statement<{ session: string }, SessionRow>((db, { session }) =>
  db.selectFrom('sessions').selectAll().where('session', '=', session).compile(),
);

/** With the summary of its present epoch, if there is one. */
export const presentRow = new Statement<{ session: string }, SessionRow & { up_to: number | string | null; summary: string | null }>(
  (db, { session }) =>
    db
      .selectFrom('sessions')
      .leftJoin('summaries', (join) =>
        join.onRef('summaries.session', '=', 'sessions.session').onRef('summaries.epoch', '=', 'sessions.epoch'),
      )
      .selectAll('sessions')
      .select(['summaries.up_to', 'summaries.message as summary'])
      .where('sessions.session', '=', session)
      .compile(),
);

interface Part {
  session: string;
  epoch: number;
  from: number;
  last: number;
}

/** How many messages an epoch has after `from`, as the message of the first row, and those after `last`, in order. */
export const countAndRest = new Statement<Part, { seq: number | string; message: string }>((db, { session, epoch, from, last }) =>
  sql<{ seq: number | string; message: string }>`select -1 as seq, cast(count(*) as text) as message from transcript
      where session = ${session} and epoch = ${epoch} and seq > ${from}
    union all select seq, message from transcript where session = ${session} and epoch = ${epoch} and seq > ${last}
    order by seq`.compile(db),
);

/** Moves no time back. */
export const activity = new Statement<{ session: string; at: number }>((db, { session, at }) =>
  sql`update sessions set last_active_at = case when last_active_at < ${at} then ${at} else last_active_at end
    where session = ${session}`.compile(db),
);

interface Consumption {
  session: string;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  writtenTokens: number;
  cost: number | null;
}

/** A cost that is not known adds nothing. */
export const consumption = new Statement<Consumption>((db, { session, inputTokens, outputTokens, cachedTokens, writtenTokens, cost }) =>
  sql`update sessions set input_tokens = input_tokens + ${inputTokens}, output_tokens = output_tokens + ${outputTokens},
    cached_tokens = cached_tokens + ${cachedTokens}, written_tokens = written_tokens + ${writtenTokens}, cost = coalesce(coalesce(cost, 0) + ${cost}, cost)
    where session = ${session}`.compile(db),
);

export const factsOfEpoch = new Statement<{ session: string; epoch: number; facts: string }>((db, { session, epoch, facts }) =>
  db.updateTable('sessions').set({ facts }).where('session', '=', session).where('epoch', '=', epoch).compile(),
);

interface Addition {
  session: string;
  turn: string;
  at: number;
  message: string;
}

/** In the epoch of the first message of the turn. Adds nothing to a session that does not exist. */
export const addition = new Statement<Addition>((db, { session, turn, at, message }) =>
  sql`insert into transcript (seq, session, epoch, turn, at, message)
    select ${nextNumber('transcript')}, session, coalesce(
      (select earlier.epoch from transcript as earlier where earlier.session = ${session} and earlier.turn = ${turn} limit 1), epoch
    ), ${turn}, ${at}, ${message} from sessions where session = ${session}`.compile(db),
);

/** Only after `rememberNumbers`. */
export const removalOfTurn = new Statement<{ session: string; turn: string }>((db, { session, turn }) =>
  db.deleteFrom('transcript').where('session', '=', session).where('turn', '=', turn).compile(),
);
