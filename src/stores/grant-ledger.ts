import type { Insertable, Selectable } from 'kysely';
import type { AuditEvent } from '../core/audit.ts';
import type { GrantEntry, GrantLedger } from '../core/store.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';

export class SqlGrantLedger implements GrantLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async inForce(about: { parts: readonly string[]; person: string | undefined; backend: string }, at: Date): Promise<GrantEntry[]> {
    const time = at.getTime();
    const rows = await this.#access.run((db) =>
      db
        .selectFrom('grants')
        .selectAll()
        .where('backend', '=', about.backend)
        .where('person', about.person === undefined ? 'is' : '=', about.person ?? null)
        .where('revoked_at', 'is', null)
        .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', time)]))
        .where((where) => where.or([where('scope', '=', 'always'), where('session', '=', JSON.stringify(about.parts))]))
        .orderBy('granted_at')
        .orderBy('id')
        .execute(),
    );
    return rows.map(entryOf);
  }

  async list(): Promise<GrantEntry[]> {
    const rows = await this.#access.run((db) => db.selectFrom('grants').selectAll().orderBy('granted_at').orderBy('id').execute());
    return rows.map(entryOf);
  }

  async find(id: string): Promise<GrantEntry | undefined> {
    const row = await this.#access.run((db) => db.selectFrom('grants').selectAll().where('id', '=', id).executeTakeFirst());
    return row && entryOf(row);
  }

  async revoke(id: string, by: string, at: Date, events: readonly AuditEvent[]): Promise<boolean> {
    return await this.#access.transaction(async (db) => {
      const { numUpdatedRows } = await db
        .updateTable('grants')
        .set({ revoked_at: at.getTime(), revoked_by: by })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await appendEvents(db, events);
      return true;
    });
  }

  async endSession(parts: readonly string[], at: Date, events: readonly AuditEvent[]): Promise<number> {
    return await this.#access.transaction(async (db) => {
      const { numUpdatedRows } = await db
        .updateTable('grants')
        .set({ revoked_at: at.getTime(), revoked_by: 'the end of the session' })
        .where('scope', '=', 'session')
        .where('session', '=', JSON.stringify(parts))
        .where('revoked_at', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) await appendEvents(db, events);
      return Number(numUpdatedRows);
    });
  }
}

export function grantRow(grant: GrantEntry): Insertable<Tables['grants']> {
  const { id, scope, backend, rule, why, question } = grant;
  return {
    ...{ id, scope, backend, rule, why, question },
    session: JSON.stringify(grant.parts),
    title: grant.session,
    person: grant.person ?? null,
    program: grant.program ?? null,
    digest: grant.digest ?? null,
    granted_by: grant.grantedBy,
    granted_at: grant.grantedAt.getTime(),
    granted_from: grant.grantedFrom,
    expires_at: grant.expiresAt?.getTime() ?? null,
    revoked_at: grant.revokedAt?.getTime() ?? null,
    revoked_by: grant.revokedBy ?? null,
  };
}

function entryOf(row: Selectable<Tables['grants']>): GrantEntry {
  const { id, backend, rule, why, question } = row;
  return {
    ...{ id, backend, rule, why, question },
    scope: row.scope as GrantEntry['scope'],
    parts: readJson(row.session),
    session: row.title,
    person: row.person ?? undefined,
    program: row.program ?? undefined,
    digest: row.digest ?? undefined,
    grantedBy: row.granted_by,
    grantedAt: new Date(Number(row.granted_at)),
    grantedFrom: row.granted_from,
    expiresAt: row.expires_at === null ? undefined : new Date(Number(row.expires_at)),
    revokedAt: row.revoked_at === null ? undefined : new Date(Number(row.revoked_at)),
    revokedBy: row.revoked_by ?? undefined,
  };
}
