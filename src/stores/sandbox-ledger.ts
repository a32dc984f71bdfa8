import { type Selectable, sql, type UpdateObject } from 'kysely';
import { HermeticError } from '../core/errors.ts';
import type {
  SandboxBeginning,
  SandboxEntry,
  SandboxFilter,
  SandboxKey,
  SandboxLedger,
  SandboxOpening,
  SandboxState,
} from '../core/store.ts';
import type { Access } from './access.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';

/** The session of a spare. */
const noSession = '[]';

export class SqlSandboxLedger implements SandboxLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async begin(sandbox: SandboxBeginning): Promise<void> {
    const at = sandbox.createdAt.getTime();
    const leaseUntil = sandbox.leaseUntil?.getTime() ?? null;
    const described = {
      session: JSON.stringify(sandbox.session),
      image: sandbox.image ?? null,
      directory: sandbox.directory,
      state: 'opening',
      owner: sandbox.owner ?? null,
    };
    const fresh = {
      backend: sandbox.backend,
      name: sandbox.name,
      spec_hash: sandbox.specHash,
      persistent: Number(sandbox.persistent),
      created_at: at,
      last_used_at: at,
      lease_until: leaseUntil,
    };
    await this.#access.transaction(async (db) => {
      const other = await db
        .selectFrom('sandboxes')
        .select('name')
        .where('backend', '=', sandbox.backend)
        .where('session', '=', described.session)
        .where('session', '!=', noSession)
        .where('name', '!=', sandbox.name)
        .executeTakeFirst();
      if (other) throw new HermeticError('sandbox/in-use', `The session has the ${sandbox.backend} sandbox ${other.name} already.`);
      await db
        .insertInto('sandboxes')
        .values({ ...described, ...fresh })
        .onConflict((conflict) =>
          conflict.columns(['backend', 'name']).doUpdateSet({
            ...described,
            ...(sandbox.persistent ? { persistent: 1 } : {}),
            last_used_at: later('last_used_at', at),
            ...(leaseUntil === null ? {} : { lease_until: later('lease_until', leaseUntil) }),
          }),
        )
        .execute();
    });
  }

  async claim({ backend, name }: SandboxKey, session: readonly string[]): Promise<boolean> {
    const parts = JSON.stringify(session);
    return await this.#access.transaction(async (db) => {
      const taken = await db.selectFrom('sandboxes').select('name').where('session', '=', parts).executeTakeFirst();
      if (taken) return false;
      const { numUpdatedRows } = await db
        .updateTable('sandboxes')
        .set({ session: parts })
        .where('backend', '=', backend)
        .where('name', '=', name)
        .where('session', '=', noSession)
        .where('state', '=', 'open')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0;
    });
  }

  async opened(key: SandboxKey, { specHash, owner, leaseUntil }: SandboxOpening): Promise<void> {
    const { numUpdatedRows } = await this.#update(key, {
      state: 'open',
      spec_hash: specHash,
      owner,
      lease_until: later('lease_until', leaseUntil.getTime()),
    });
    if (numUpdatedRows > 0) return;
    throw new HermeticError('sandbox/not-found', `The ${key.backend} sandbox ${key.name} was forgotten while it was being opened.`);
  }

  async used(key: SandboxKey, at: Date, leaseUntil: Date): Promise<void> {
    await this.#update(key, {
      last_used_at: later('last_used_at', at.getTime()),
      lease_until: later('lease_until', leaseUntil.getTime()),
    });
  }

  async closed(key: SandboxKey, at: Date, owner?: string): Promise<void> {
    await this.#update(key, { state: 'closed', owner: null, lease_until: null, last_used_at: later('last_used_at', at.getTime()) }, owner);
  }

  async forget({ backend, name }: SandboxKey): Promise<void> {
    await this.#access.run((db) => db.deleteFrom('sandboxes').where('backend', '=', backend).where('name', '=', name).execute());
  }

  async find({ backend, name }: SandboxKey): Promise<SandboxEntry | undefined> {
    const row = await this.#access.run((db) =>
      db.selectFrom('sandboxes').selectAll().where('backend', '=', backend).where('name', '=', name).executeTakeFirst(),
    );
    return row && entryOf(row);
  }

  async list({ backend, session, state, usedBefore }: SandboxFilter = {}): Promise<SandboxEntry[]> {
    const rows = await this.#access.run((db) => {
      let query = db.selectFrom('sandboxes').selectAll();
      if (backend !== undefined) query = query.where('backend', '=', backend);
      if (session !== undefined) query = query.where('session', '=', JSON.stringify(session));
      if (state !== undefined) query = query.where('state', '=', state);
      if (usedBefore !== undefined) query = query.where('last_used_at', '<', usedBefore.getTime());
      return query.orderBy('created_at').orderBy('backend').orderBy('name').execute();
    });
    return rows.map(entryOf);
  }

  #update({ backend, name }: SandboxKey, changes: UpdateObject<Tables, 'sandboxes'>, owner?: string) {
    return this.#access.run((db) => {
      let query = db.updateTable('sandboxes').set(changes).where('backend', '=', backend).where('name', '=', name);
      if (owner !== undefined) query = query.where('owner', '=', owner);
      return query.executeTakeFirstOrThrow();
    });
  }
}

/** The later of the time in the column, if any, and this one. */
function later(column: 'last_used_at' | 'lease_until', time: number) {
  const stored = sql.ref<number>(`sandboxes.${column}`);
  return sql<number>`case when ${stored} > ${time} then ${stored} else ${time} end`;
}

function entryOf(row: Selectable<Tables['sandboxes']>): SandboxEntry {
  return {
    backend: row.backend,
    name: row.name,
    session: readJson(row.session),
    image: row.image ?? undefined,
    specHash: row.spec_hash,
    directory: row.directory,
    persistent: Number(row.persistent) === 1,
    createdAt: new Date(Number(row.created_at)),
    lastUsedAt: new Date(Number(row.last_used_at)),
    state: row.state as SandboxState,
    owner: row.owner ?? undefined,
    leaseUntil: row.lease_until === null ? undefined : new Date(Number(row.lease_until)),
  };
}
