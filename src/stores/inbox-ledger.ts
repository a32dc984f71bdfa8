import { type Selectable, sql } from 'kysely';
import type { Incoming } from '../core/channel.ts';
import type { InboxEntry, InboxLedger, InboxState, UnreadableEntry } from '../core/conversation.ts';
import { canonicalJson, digestOf } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import { nextNumber } from './counter.ts';
import { placeJson } from './json-columns.ts';
import { noteHeard } from './people-ledger.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';
import { Statement, type Statements } from './statement.ts';

type Row = Selectable<Tables['inbox']>;

export class SqlInboxLedger implements InboxLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async accept(session: readonly string[], incoming: Incoming, receivedAt: Date): Promise<number | undefined> {
    const row = {
      identity: digestOf([placeJson(incoming.place), incoming.id]),
      session: JSON.stringify(session),
      incoming: canonicalJson(incoming),
      received_at: receivedAt.getTime(),
    };
    return await this.#access.prepared.transaction((statements) => {
      const added = statements.first(insertion, row);
      if (added && incoming.kind === 'message' && !incoming.report) noteHeard(statements, incoming, receivedAt);
      return added && Number(added.seq);
    });
  }

  async list(state: InboxState, session?: readonly string[]): Promise<InboxEntry[]> {
    const rows = await this.#access.prepared.read((statements) =>
      session === undefined
        ? statements.all(inState, { state })
        : statements.all(inStateOfSession, { state, session: JSON.stringify(session) }),
    );
    return rows.flatMap((row) => {
      const entry = entryOf(row);
      return entry instanceof Error ? [] : [entry];
    });
  }

  async unreadable(): Promise<UnreadableEntry[]> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('inbox').selectAll().where('state', 'in', ['waiting', 'running']).orderBy('seq').execute(),
    );
    return rows.flatMap((row) => {
      const entry = entryOf(row);
      return entry instanceof Error ? [{ seq: Number(row.seq), content: row.incoming, reason: entry.message }] : [];
    });
  }

  async trying(seq: number): Promise<void> {
    await this.#access.prepared.run((statements) => statements.run(countTry, { seq }), 'later');
  }

  async excuse(seqs: readonly number[]): Promise<void> {
    await this.#changeEach(seqs, (statements, seq) => statements.run(excuse, { seq }));
  }

  async begin(seqs: readonly number[], turn: string, role?: InboxEntry['role']): Promise<number[]> {
    const about = { turn: JSON.stringify(turn), role: role ?? null };
    const begun = await this.#changeEach(seqs, (statements, seq) => statements.run(beginning, { seq, ...about }));
    return begun.sort((a, b) => a - b);
  }

  async release(turn: string): Promise<void> {
    await this.#access.run((db) =>
      db
        .updateTable('inbox')
        .set({ state: 'waiting', turn: null })
        .where('state', '=', 'running')
        .where('turn', '=', JSON.stringify(turn))
        .execute(),
    );
  }

  async done(seqs: readonly number[]): Promise<void> {
    await this.#changeEach(seqs, (statements, seq) => statements.run(completion, { seq }));
  }

  /** All or none. Resolves with those that were changed. */
  async #changeEach(seqs: readonly number[], change: (statements: Statements, seq: number) => number): Promise<number[]> {
    // One statement is a transaction of its own.
    const together = seqs.length > 1 ? 'transaction' : 'run';
    return await this.#access.prepared[together]((statements) => seqs.filter((seq) => change(statements, seq) > 0), 'later');
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    const age = { column: 'received_at', before } as const;
    await removeOld(this.#access, { table: 'inbox', age, only: sql`state in ('done', 'aside')` }, signal);
  }
}

const insertion = new Statement<Record<'identity' | 'session' | 'incoming', string> & { received_at: number }, { seq: number | string }>(
  (db, { identity, session, incoming, received_at }) =>
    db
      .insertInto('inbox')
      .values({ seq: nextNumber('inbox'), identity, session, incoming, state: 'waiting', received_at, turn: null, role: null })
      .onConflict((conflict) => conflict.column('identity').doNothing())
      .returning('seq')
      .compile(),
);
const inState = new Statement<{ state: string }, Row>((db, { state }) =>
  db.selectFrom('inbox').selectAll().where('state', '=', state).orderBy('seq').compile(),
);
const inStateOfSession = new Statement<{ state: string; session: string }, Row>((db, { state, session }) =>
  db.selectFrom('inbox').selectAll().where('state', '=', state).where('session', '=', session).orderBy('seq').compile(),
);
const countTry = new Statement<{ seq: number }>((db, { seq }) =>
  db
    .updateTable('inbox')
    .set((set) => ({ tries: set('tries', '+', 1) }))
    .where('seq', '=', seq)
    .compile(),
);
const excuse = new Statement<{ seq: number }>((db, { seq }) => db.updateTable('inbox').set({ tries: 0 }).where('seq', '=', seq).compile());
const beginning = new Statement<{ seq: number; turn: string; role: string | null }>((db, { seq, turn, role }) =>
  db
    .updateTable('inbox')
    .set((set) => ({ state: 'running', turn, role: set.fn.coalesce(set.val(role), 'role'), tries: set('tries', '+', 1) }))
    .where('seq', '=', seq)
    .where('state', '=', 'waiting')
    .compile(),
);
const completion = new Statement<{ seq: number }>((db, { seq }) =>
  db.updateTable('inbox').set({ state: 'done', tries: 0 }).where('seq', '=', seq).compile(),
);

/** An error, which says why, for what is not what this version writes. */
function entryOf(row: Row): InboxEntry | Error {
  try {
    return {
      seq: Number(row.seq),
      session: sessionOf(row.session),
      incoming: incomingOf(row.incoming),
      state: row.state as InboxState,
      receivedAt: new Date(Number(row.received_at)),
      turn: row.turn === null ? undefined : JSON.parse(row.turn),
      role: row.role === 'admin' || row.role === 'user' ? row.role : undefined,
      tries: row.tries,
    };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function sessionOf(text: string): readonly string[] {
  const parts: unknown = JSON.parse(text);
  if (Array.isArray(parts) && parts.every((part) => typeof part === 'string')) return parts;
  throw new Error('It belongs to no session.');
}

/** JSON has neither dates nor undefined. */
function incomingOf(text: string): Incoming {
  const stored = JSON.parse(text) as Incoming;
  const { platform, workspace, chat, thread } = stored.place;
  if (typeof platform !== 'string' || typeof chat !== 'string' || typeof stored.from.id !== 'string')
    throw new Error('It does not say who sent it, or where.');
  const common = { at: new Date(stored.at), place: { platform, workspace, chat, thread } };
  if (stored.kind === 'press') return { ...stored, ...common };
  if (stored.kind !== 'message' || typeof stored.text !== 'string') throw new Error('It is neither a message nor a press.');
  const files = stored.files.map((file) => ({ ...file, mimeType: file.mimeType, bytes: file.bytes }));
  return { ...stored, ...common, quoted: stored.quoted, files };
}
