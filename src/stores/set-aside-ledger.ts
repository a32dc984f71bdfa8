import type { Transaction } from 'kysely';
import type { SetAside, SetAsideLedger } from '../core/set-aside.ts';
import type { Access } from './access.ts';
import { removeOld } from './remove-old.ts';
import type { Tables } from './schema.ts';

/** The source of what waits in our own inbox. */
export const inboxSource = 'inbox';

export class SqlSetAsideLedger implements SetAsideLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async trying(source: string, ids: readonly string[], open: readonly string[] | 'all'): Promise<ReadonlyMap<string, number | undefined>> {
    return await this.#access.transaction(async (db) => {
      const kept = open === 'all' ? undefined : new Set([...ids, ...open]);
      const known = await db.selectFrom('tries').select(['id', 'count']).where('source', '=', source).execute();
      for (const { id } of known) if (kept?.has(id) === false) await forgetTries(db, source, id);
      const counts = new Map(known.map(({ id, count }) => [id, count]));
      const tries = new Map<string, number | undefined>();
      for (const id of ids) {
        const aside = await db.selectFrom('set_aside').select('id').where('source', '=', source).where('id', '=', id).executeTakeFirst();
        tries.set(id, aside ? undefined : (counts.get(id) ?? 0));
        if (!aside) await countTry(db, source, id);
      }
      return tries;
    }, 'later');
  }

  async add({ source, id, session, reason, content, tries, at }: SetAside): Promise<void> {
    const texts = { session: JSON.stringify(session), reason: JSON.stringify(reason), content: JSON.stringify(content) };
    await this.#access.transaction(async (db) => {
      await db
        .insertInto('set_aside')
        .values({ source, id, ...texts, tries, at: at.getTime() })
        .onConflict((conflict) => conflict.columns(['source', 'id']).doNothing())
        .execute();
      if (source === inboxSource) await db.updateTable('inbox').set({ state: 'aside' }).where('seq', '=', Number(id)).execute();
      await forgetTries(db, source, id);
    });
  }

  async list(): Promise<SetAside[]> {
    const rows = await this.#access.read((db) =>
      db.selectFrom('set_aside').selectAll().orderBy('at').orderBy('source').orderBy('id').execute(),
    );
    return rows.map(({ source, id, session, reason, content, tries, at }) => ({
      source,
      id,
      session: JSON.parse(session),
      reason: JSON.parse(reason),
      content: JSON.parse(content),
      tries,
      at: new Date(Number(at)),
    }));
  }

  async prune(before: Date, signal?: AbortSignal): Promise<void> {
    await removeOld(this.#access, { table: 'set_aside', age: { column: 'at', before } }, signal);
  }
}

export async function countTry(db: Transaction<Tables>, source: string, id: string): Promise<void> {
  await db
    .insertInto('tries')
    .values({ source, id, count: 1 })
    .onConflict((conflict) => conflict.columns(['source', 'id']).doUpdateSet((set) => ({ count: set('tries.count', '+', 1) })))
    .execute();
}

export async function forgetTries(db: Transaction<Tables>, source: string, id: string): Promise<void> {
  await db.deleteFrom('tries').where('source', '=', source).where('id', '=', id).execute();
}
