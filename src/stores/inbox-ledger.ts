import type { Selectable } from 'kysely';
import type { Incoming } from '../core/channel.ts';
import type { InboxEntry, InboxLedger, InboxState } from '../core/conversation.ts';
import { canonicalJson, digestOf } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import { takeNumbers } from './counter.ts';
import { noteHeard } from './people-ledger.ts';
import { placeJson } from './place-json.ts';
import type { Tables } from './schema.ts';

/** Databases bound the values of one statement. */
const mostAtOnce = 500;

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
    return rows.map(entryOf);
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
    }, 'later');
  }

  async prune(before: Date): Promise<void> {
    await this.#access.run((db) =>
      db.deleteFrom('inbox').where('state', '=', 'done').where('received_at', '<', before.getTime()).execute(),
    );
  }
}

function portions(seqs: readonly number[]): number[][] {
  return Array.from({ length: Math.ceil(seqs.length / mostAtOnce) }, (_, index) =>
    seqs.slice(index * mostAtOnce, (index + 1) * mostAtOnce),
  );
}

function entryOf(row: Selectable<Tables['inbox']>): InboxEntry {
  return {
    seq: Number(row.seq),
    session: JSON.parse(row.session),
    incoming: incomingOf(row.incoming),
    state: row.state as InboxState,
    receivedAt: new Date(Number(row.received_at)),
    turn: row.turn === null ? undefined : JSON.parse(row.turn),
    role: row.role === 'admin' || row.role === 'user' ? row.role : undefined,
  };
}

/** JSON has neither dates nor undefined. */
function incomingOf(text: string): Incoming {
  const stored = JSON.parse(text) as Incoming;
  const { platform, workspace, chat, thread } = stored.place;
  const common = { at: new Date(stored.at), place: { platform, workspace, chat, thread } };
  if (stored.kind === 'press') return { ...stored, ...common };
  const files = stored.files.map((file) => ({ ...file, mimeType: file.mimeType, bytes: file.bytes }));
  return { ...stored, ...common, quoted: stored.quoted, files };
}
