import { type Insertable, type Selectable, sql, type Transaction } from 'kysely';
import type { OutgoingFile, Place } from '../core/channel.ts';
import type { OutboxEntry, OutboxItem, OutboxLedger, OutboxState } from '../core/conversation.ts';
import { canonicalJson, digestOf } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import { takeNumbers } from './counter.ts';
import { placeJson, placeOf, readJson } from './json-columns.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';

const underWay: readonly OutboxState[] = ['waiting', 'sending'];
const over: readonly OutboxState[] = ['sent', 'dropped'];
/** Characters about messages that were dropped. */
const maxUndelivered = 2000;

export class SqlOutboxLedger implements OutboxLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async add(place: Place, items: readonly OutboxItem[], at: Date): Promise<boolean> {
    if (items.length === 0) return true;
    if (new Set(items.map(({ key }) => key)).size < items.length) return false;
    return await this.#access.transaction(async (db) => {
      const first = await takeNumbers(db, 'outbox', items.length);
      const rows = items.map((item, index) => rowOf(first + index, place, item, at));
      const added = await db
        .insertInto('outbox')
        .values(rows)
        .onConflict((conflict) => conflict.column('identity').doNothing())
        .returning('seq')
        .execute();
      if (added.length < items.length) {
        await db.deleteFrom('outbox').where('seq', '>=', first).execute();
        return false;
      }
      const replaced = items.flatMap(({ replaces }) => (replaces === undefined ? [] : [replaces]));
      await withdraw(db, replaced, 'something else took its place', at, first);
      return true;
    }, 'later');
  }

  async places(): Promise<Place[]> {
    const rows = await this.#access.read((db) =>
      db
        .selectFrom('outbox')
        .select(['place', (select) => select.fn.min('seq').as('first')])
        .where('state', 'in', underWay)
        .groupBy('place')
        .orderBy('first')
        .execute(),
    );
    return rows.map((row) => placeOf(row.place));
  }

  async head(place: Place): Promise<OutboxEntry | undefined> {
    return await this.#head(place, [0, 1]);
  }

  async headOfLasting(place: Place): Promise<OutboxEntry | undefined> {
    return await this.#head(place, [0]);
  }

  async #head(place: Place, isDraft: readonly number[]): Promise<OutboxEntry | undefined> {
    const row = await this.#access.read((db) =>
      db
        .selectFrom('outbox')
        .selectAll()
        .where('place', '=', placeJson(place))
        .where('state', 'in', underWay)
        .where('is_draft', 'in', isDraft)
        .orderBy('seq')
        .limit(1)
        .executeTakeFirst(),
    );
    return row && entryOf(row);
  }

  async find(key: string): Promise<OutboxEntry | undefined> {
    const row = await this.#access.read((db) =>
      db.selectFrom('outbox').selectAll().where('identity', '=', digestOf(key)).executeTakeFirst(),
    );
    return row && entryOf(row);
  }

  async outcome(key: string): Promise<Pick<OutboxEntry, 'state' | 'failure'> | undefined> {
    const row = await this.#access.read((db) =>
      db.selectFrom('outbox').select(['state', 'failure']).where('identity', '=', digestOf(key)).executeTakeFirst(),
    );
    return row && { state: row.state as OutboxState, failure: row.failure === null ? undefined : readJson(row.failure) };
  }

  async begin(seq: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#access.run((db) =>
      db
        .updateTable('outbox')
        .set((set) => ({ state: 'sending', attempts: set('attempts', '+', 1) }))
        .where('seq', '=', seq)
        .where('state', '=', 'waiting')
        .executeTakeFirstOrThrow(),
    );
    return numUpdatedRows > 0n;
  }

  async sent(seq: number, id: string, at: Date): Promise<void> {
    await this.#access.run(
      (db) =>
        db
          .updateTable('outbox')
          .set({ state: 'sent', sent_id: JSON.stringify(id), settled_at: at.getTime(), failure: null, file: null })
          .where('seq', '=', seq)
          .where('state', 'in', underWay)
          .execute(),
      'later',
    );
  }

  async retry(seq: number, dueAt: Date, failure: string, inDoubt: boolean): Promise<void> {
    await this.#access.run((db) =>
      db
        .updateTable('outbox')
        .set((set) => ({
          state: 'waiting',
          due_at: dueAt.getTime(),
          failure: JSON.stringify(failure),
          doubts: set('doubts', '+', Number(inDoubt)),
        }))
        .where('seq', '=', seq)
        .where('state', 'in', underWay)
        .execute(),
    );
  }

  async drop(...[seq, failure, at, { inDoubt = false, notice } = {}]: Parameters<OutboxLedger['drop']>): Promise<void> {
    await this.#access.transaction(async (db) => {
      const [dropped] = await db
        .updateTable('outbox')
        .set((set) => ({
          state: 'dropped',
          settled_at: at.getTime(),
          failure: JSON.stringify(failure),
          file: null,
          doubts: set('doubts', '+', Number(inDoubt)),
        }))
        .where('seq', '=', seq)
        .where('state', 'in', underWay)
        .returning(['place', 'session'])
        .execute();
      if (!dropped || !notice) return;
      const row = rowOf(await takeNumbers(db, 'outbox', 1), placeOf(dropped.place), notice, at);
      await db
        .insertInto('outbox')
        .values(row)
        .onConflict((conflict) => conflict.column('identity').doNothing())
        .execute();
      if (dropped.session !== null) await tellConversation(db, dropped.session, notice.message.text);
    });
  }

  async withdraw(keys: readonly string[], failure: string, at: Date): Promise<void> {
    await this.#access.transaction((db) => withdraw(db, keys, failure, at));
  }

  async recover(at: Date): Promise<void> {
    const failure = 'the process that had it ended';
    await this.#access.transaction(async (db) => {
      await db
        .updateTable('outbox')
        .set((set) => ({ doubts: set('doubts', '+', 1) }))
        .where('state', '=', 'sending')
        .execute();
      await db
        .updateTable('outbox')
        .set({ state: 'dropped', settled_at: at.getTime(), failure: JSON.stringify(failure), file: null })
        .where('is_draft', '=', 1)
        .where('state', 'in', underWay)
        .execute();
      await db
        .updateTable('outbox')
        .set({ state: 'waiting', failure: JSON.stringify(failure) })
        .where('state', '=', 'sending')
        .execute();
    });
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    const age = { column: 'settled_at', before } as const;
    await removeOld(this.#access, { table: 'outbox', age, only: sql`state in (${sql.join(over)})` }, signal);
  }
}

/** In its next turn. What is longer than a model needs to know is left out. */
async function tellConversation(db: Transaction<Tables>, session: string, text: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ undelivered: sql<string>`coalesce(undelivered || ${'\n'}, '') || ${text}` })
    .where('session', '=', session)
    .where(sql<number>`coalesce(length(undelivered), 0)`, '<', maxUndelivered)
    .execute();
}

/** `before`: of the entries before this one. */
async function withdraw(db: Transaction<Tables>, keys: readonly string[], failure: string, at: Date, before?: number): Promise<void> {
  for (const key of keys) {
    await db
      .updateTable('outbox')
      .set({ state: 'dropped', settled_at: at.getTime(), failure: JSON.stringify(failure), file: null })
      .where('identity', '=', digestOf(key))
      .where('state', '=', 'waiting')
      .$if(before !== undefined, (query) => query.where('seq', '<', before ?? 0))
      .execute();
  }
}

function rowOf(seq: number, place: Place, item: OutboxItem, at: Date): Insertable<Tables['outbox']> {
  const { key, message, replaces, isRemoval = false, isDraft = false, dueAt = at, session } = item;
  const { file, ...rest } = message;
  return {
    ...{
      seq,
      identity: digestOf(key),
      key: JSON.stringify(key),
      place: placeJson(place),
      message: canonicalJson(isRemoval ? { ...rest, isRemoval } : rest),
    },
    file: file ? JSON.stringify({ name: file.name, data: Buffer.from(file.data).toString('base64') }) : null,
    replaces: replaces === undefined ? null : JSON.stringify(replaces),
    is_draft: Number(isDraft),
    ...{ state: 'waiting', added_at: at.getTime(), due_at: dueAt.getTime(), attempts: 0, doubts: 0 },
    ...{ failure: null, sent_id: null, settled_at: null },
    session: session === undefined ? null : JSON.stringify(session),
  };
}

function entryOf(row: Selectable<Tables['outbox']>): OutboxEntry {
  const text = (json: string | null): string | undefined => (json === null ? undefined : readJson(json));
  const { isRemoval = false, ...message } = readJson(row.message) as OutboxEntry['message'] & { isRemoval?: boolean };
  return {
    seq: Number(row.seq),
    place: placeOf(row.place),
    key: readJson(row.key),
    message: row.file === null ? message : { ...message, file: fileOf(row.file) },
    replaces: text(row.replaces),
    isRemoval,
    isDraft: Number(row.is_draft) === 1,
    state: row.state as OutboxState,
    addedAt: new Date(Number(row.added_at)),
    dueAt: new Date(Number(row.due_at)),
    attempts: Number(row.attempts),
    doubts: Number(row.doubts),
    failure: text(row.failure),
    sentId: text(row.sent_id),
  };
}

function fileOf(json: string): OutgoingFile {
  const { name, data } = readJson(json) as { name: string; data: string };
  return { name, data: new Uint8Array(Buffer.from(data, 'base64')) };
}
