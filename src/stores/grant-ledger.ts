import type { ExpressionBuilder, ExpressionWrapper, Insertable, Selectable, SqlBool } from 'kysely';
import type { AuditEvent } from '../core/audit.ts';
import { everyone, type GrantEntry, type GrantFilter, type GrantLedger } from '../core/store.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';

export class SqlGrantLedger implements GrantLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async give(grants: readonly GrantEntry[], events: readonly AuditEvent[]): Promise<void> {
    if (grants.length === 0) return;
    await this.#access.transaction(async (db) => {
      await db.insertInto('grants').values(grants.map(grantRow)).execute();
      await appendEvents(db, events);
    });
  }

  async inForce(about: { parts: readonly string[]; person: string | undefined; backend: string }, at: Date): Promise<GrantEntry[]> {
    const session = JSON.stringify(about.parts);
    const rows = await this.#access.run((db) =>
      db
        .selectFrom('grants')
        .selectAll()
        .where('backend', '=', about.backend)
        .where((where) => isInForce(where, at))
        .where((where) =>
          where.or([
            where.and([
              where('person', about.person === undefined ? 'is' : '=', about.person ?? null),
              where.or([where('scope', '=', 'always'), where('session', '=', session)]),
            ]),
            // Security: a grant for everyone is never one for all sessions.
            where.and([where('person', '=', everyone), where('scope', '=', 'session'), where('session', '=', session)]),
          ]),
        )
        .orderBy('granted_at')
        .orderBy('id')
        .execute(),
    );
    return rows.map(entryOf);
  }

  async list({ rule, inForceAt }: GrantFilter = {}): Promise<GrantEntry[]> {
    const rows = await this.#access.run((db) => {
      let query = db.selectFrom('grants').selectAll();
      if (rule !== undefined) query = query.where('rule', '=', rule);
      if (inForceAt !== undefined) query = query.where((where) => isInForce(where, inForceAt));
      return query.orderBy('granted_at').orderBy('id').execute();
    });
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

type Where = ExpressionBuilder<Tables, 'grants'>;

function isInForce(where: Where, at: Date): ExpressionWrapper<Tables, 'grants', SqlBool> {
  return where.and([where('revoked_at', 'is', null), where.or([where('expires_at', 'is', null), where('expires_at', '>', at.getTime())])]);
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
