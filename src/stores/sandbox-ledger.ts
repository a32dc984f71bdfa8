import { type Selectable, sql, type UpdateObject } from 'kysely';
import { HermeticError } from '../core/errors.ts';
import {
  maxLeaseMs,
  type SandboxBeginning,
  type SandboxEntry,
  type SandboxFilter,
  type SandboxKey,
  type SandboxLease,
  type SandboxLedger,
  type SandboxOpening,
  type SandboxState,
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
    const described = {
      session: JSON.stringify(sandbox.session),
      image: sandbox.image ?? null,
      directory: sandbox.directory,
      state: 'opening',
      owner: sandbox.owner,
    };
    const fresh = {
      backend: sandbox.backend,
      name: sandbox.name,
      spec_hash: sandbox.specHash,
      persistent: Number(sandbox.persistent),
      created_at: at,
      last_used_at: at,
      lease_until: this.#access.leaseClock() + sandbox.leaseMs,
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
            last_used_at: laterUse(at),
            lease_until: this.#longer(sandbox.leaseMs),
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

  async opened(key: SandboxKey, { specHash, owner, leaseMs }: SandboxOpening): Promise<void> {
    const { numUpdatedRows } = await this.#update(key, {
      state: 'open',
      spec_hash: specHash,
      owner,
      lease_until: this.#longer(leaseMs),
    });
    if (numUpdatedRows > 0) return;
    throw new HermeticError('sandbox/not-found', `The ${key.backend} sandbox ${key.name} was forgotten while it was being opened.`);
  }

  async renew({ backend, name }: SandboxKey, { owner, leaseMs }: SandboxLease, at: Date): Promise<string | undefined> {
    const row = await this.#access.run(
      (db) =>
        db
          .updateTable('sandboxes')
          .set(({ fn, ref, val }) => ({
            state: sql<string>`case when ${ref('state')} = 'closed' then 'open' else ${ref('state')} end`,
            owner: fn.coalesce('owner', val(owner)),
            lease_until: this.#longer(leaseMs),
            last_used_at: laterUse(at.getTime()),
          }))
          .where('backend', '=', backend)
          .where('name', '=', name)
          .returning('owner')
          .executeTakeFirst(),
      'later',
    );
    return row?.owner ?? undefined;
  }

  async closed(key: SandboxKey, at: Date, owner?: string): Promise<void> {
    await this.#update(key, { state: 'closed', owner: null, lease_until: null, last_used_at: laterUse(at.getTime()) }, owner);
  }

  async forget({ backend, name }: SandboxKey): Promise<void> {
    await this.#access.run((db) => db.deleteFrom('sandboxes').where('backend', '=', backend).where('name', '=', name).execute());
  }

  async find({ backend, name }: SandboxKey): Promise<SandboxEntry | undefined> {
    const row = await this.#access.run((db) =>
      db.selectFrom('sandboxes').selectAll().where('backend', '=', backend).where('name', '=', name).executeTakeFirst(),
    );
    return row && this.#entryOf(row);
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
    return rows.map((row) => this.#entryOf(row));
  }

  #update({ backend, name }: SandboxKey, changes: UpdateObject<Tables, 'sandboxes'>, owner?: string) {
    return this.#access.run((db) => {
      let query = db.updateTable('sandboxes').set(changes).where('backend', '=', backend).where('name', '=', name);
      if (owner !== undefined) query = query.where('owner', '=', owner);
      return query.executeTakeFirstOrThrow();
    });
  }

  /** The longer one of the lease that runs, if any, and a new one. */
  #longer(leaseMs: number) {
    const now = this.#access.leaseClock();
    const stored = sql.ref<number>('sandboxes.lease_until');
    return sql<number>`case when ${stored} > ${now + leaseMs} and ${stored} <= ${now + maxLeaseMs} then ${stored} else ${now + leaseMs} end`;
  }

  #leaseUntil(stored: number | string | null): Date | undefined {
    const leftMs = stored === null ? 0 : Number(stored) - this.#access.leaseClock();
    return leftMs > 0 && leftMs <= maxLeaseMs ? new Date(Date.now() + leftMs) : undefined;
  }

  #entryOf(row: Selectable<Tables['sandboxes']>): SandboxEntry {
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
      leaseUntil: this.#leaseUntil(row.lease_until),
    };
  }
}

/** The later one of the last use and this time. */
function laterUse(time: number) {
  const stored = sql.ref<number>('sandboxes.last_used_at');
  return sql<number>`case when ${stored} > ${time} then ${stored} else ${time} end`;
}
