import { type Selectable, sql } from 'kysely';
import type { Incoming } from '../core/channel.ts';
import type { InboxEntry, InboxLedger, InboxState, UnreadableEntry } from '../core/conversation.ts';
import { canonicalJson, digestOf } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import { takeNumbers } from './counter.ts';
import { placeJson } from './json-columns.ts';
import { noteHeard } from './people-ledger.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';
import { countTry, forgetTries, inboxSource } from './set-aside-ledger.ts';

/** Databases bound the values of one statement. */
const maxAtOnce = 500;

export class SqlInboxLedger implements InboxLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async accept(session: readonly string[], incoming: Incoming, receivedAt: Date): Promise<number | undefined> {
    const identity = digestOf([placeJson(incoming.place), incoming.id]);
    return await this.#access.transaction(async (db) => {
      const known = await db.selectFrom('inbox').select('seq').where('identity', '=', identity).executeTakeFirst();
      if (known) return undefined;
      const seq = await takeNumbers(db, 'inbox');
      const row = { seq, identity, session: JSON.stringify(session), incoming: canonicalJson(incoming) };
      await db
        .insertInto('inbox')
        .values({ ...row, state: 'waiting', received_at: receivedAt.getTime(), turn: null, role: null })
        .execute();
      if (incoming.kind === 'message' && !incoming.report) await noteHeard(db, incoming, receivedAt);
      return seq;
    });
  }

  async list(state: InboxState, session?: readonly string[]): Promise<InboxEntry[]> {
    const rows = await this.#access.read((db) => {
      let query = db.selectFrom('inbox').selectAll().where('state', '=', state);
      if (session !== undefined) query = query.where('session', '=', JSON.stringify(session));
      return query.orderBy('seq').execute();
    });
    const tries = await this.#tries();
    return rows.flatMap((row) => {
      const entry = entryOf(row, tries.get(String(row.seq)) ?? 0);
      return entry instanceof Error ? [] : [entry];
    });
  }

  async unreadable(): Promise<UnreadableEntry[]> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('inbox').selectAll().where('state', 'in', ['waiting', 'running']).orderBy('seq').execute(),
    );
    return rows.flatMap((row) => {
      const entry = entryOf(row, 0);
      return entry instanceof Error ? [{ seq: Number(row.seq), content: row.incoming, reason: entry.message }] : [];
    });
  }

  async trying(seq: number): Promise<void> {
    await this.#access.transaction((db) => countTry(db, inboxSource, String(seq)), 'later');
  }

  async excuse(seqs: readonly number[]): Promise<void> {
    await this.#access.transaction(async (db) => {
      for (const seq of seqs) await forgetTries(db, inboxSource, String(seq));
    }, 'later');
  }

  async #tries(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('tries').select(['id', 'count']).where('source', '=', inboxSource).execute(),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  async begin(seqs: readonly number[], turn: string, role?: InboxEntry['role']): Promise<number[]> {
    const taken = await this.#access.transaction(async (db) => {
      const begun: number[] = [];
      for (const some of portions(seqs)) {
        const rows = await db
          .updateTable('inbox')
          .set({ state: 'running', turn: JSON.stringify(turn), ...(role && { role }) })
          .where('seq', 'in', some)
          .where('state', '=', 'waiting')
          .returning('seq')
          .execute();
        begun.push(...rows.map(({ seq }) => Number(seq)));
      }
      for (const seq of begun) await countTry(db, inboxSource, String(seq));
      return begun;
    }, 'later');
    return taken.sort((a, b) => a - b);
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
    await this.#access.transaction(async (db) => {
      for (const some of portions(seqs)) await db.updateTable('inbox').set({ state: 'done' }).where('seq', 'in', some).execute();
      for (const seq of seqs) await forgetTries(db, inboxSource, String(seq));
    }, 'later');
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    const age = { column: 'received_at', before } as const;
    await removeOld(this.#access, { table: 'inbox', age, only: sql`state in ('done', 'aside')` }, signal);
  }
}

function portions(seqs: readonly number[]): number[][] {
  return Array.from({ length: Math.ceil(seqs.length / maxAtOnce) }, (_, index) => seqs.slice(index * maxAtOnce, (index + 1) * maxAtOnce));
}

/** An error, which says why, for what is not what this version writes. */
function entryOf(row: Selectable<Tables['inbox']>, tries: number): InboxEntry | Error {
  try {
    return {
      seq: Number(row.seq),
      session: sessionOf(row.session),
      incoming: incomingOf(row.incoming),
      state: row.state as InboxState,
      receivedAt: new Date(Number(row.received_at)),
      turn: row.turn === null ? undefined : JSON.parse(row.turn),
      role: row.role === 'admin' || row.role === 'user' ? row.role : undefined,
      tries,
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
