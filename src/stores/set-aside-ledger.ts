import { sql } from 'kysely';
import type { SetAside, SetAsideLedger } from '../core/set-aside.ts';
import type { Access } from './access.ts';
import { removeOld } from './remove-old.ts';
import { Statement } from './statement.ts';

/** The source of what waits in our own inbox. */
const inboxSource = 'inbox';

export class SqlSetAsideLedger implements SetAsideLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async trying(source: string, ids: readonly string[], open: readonly string[] | 'all'): Promise<ReadonlyMap<string, number | undefined>> {
    // What is forgotten and what is counted do not depend on each other, so they are no transaction.
    return await this.#access.prepared.run((statements) => {
      if (open !== 'all') statements.run(forgetOthers, { source, ids: JSON.stringify([...ids, ...open]) });
      const counted = ids.length === 0 ? [] : statements.all(countTries, { source, ids: JSON.stringify(ids) });
      const counts = new Map(counted.map(({ id, count }) => [id, Number(count) - 1]));
      return new Map(ids.map((id) => [id, counts.get(id)]));
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
      if (source === inboxSource) await db.updateTable('inbox').set({ state: 'aside', tries: 0 }).where('seq', '=', Number(id)).execute();
      else await db.deleteFrom('tries').where('source', '=', source).where('id', '=', id).execute();
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

const forgetOthers = new Statement<{ source: string; ids: string }>((db, { source, ids }) =>
  sql`delete from tries where source = ${source} and id not in (select value from json_each(${ids}))`.compile(db),
);
const countTries = new Statement<{ source: string; ids: string }, { id: string; count: number }>((db, { source, ids }) =>
  sql<{ id: string; count: number }>`insert into tries (source, id, count)
    select ${source}, value, 1 from json_each(${ids})
    where not exists (select 1 from set_aside where source = ${source} and set_aside.id = value)
    on conflict (source, id) do update set count = tries.count + 1 returning id, count`.compile(db),
);
