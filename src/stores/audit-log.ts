import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import {
  type AuditEvent,
  type AuditFilter,
  type AuditHead,
  type AuditKind,
  type AuditLog,
  type AuditRecord,
  type AuditSegment,
  auditContent,
  firstHash,
} from '../core/audit.ts';
import type { Sync } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import { canonicalJson, digestOf } from '../lib/canonical-json.ts';
import type { Access } from './access.ts';
import type { Tables } from './schema.ts';

const headId = 1;

export class SqlAuditLog implements AuditLog {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async append(events: readonly AuditEvent[], sync?: Sync): Promise<void> {
    await this.#access.transaction((db) => appendEvents(db, events), sync);
  }

  async list({ after, kind, session, outcome, since }: AuditFilter, limit: number, newest = false): Promise<AuditRecord[]> {
    const rows = await this.#access.run((db) => {
      let query = db.selectFrom('audit').selectAll();
      if (after !== undefined) query = query.where('seq', '>', after);
      if (kind !== undefined) query = query.where('kind', '=', kind);
      if (session !== undefined) query = query.where('session', '=', JSON.stringify(session));
      if (outcome !== undefined) query = query.where('outcome', '=', outcome);
      if (since !== undefined) query = query.where('at', '>=', since.getTime());
      return query
        .orderBy('seq', newest ? 'desc' : 'asc')
        .limit(limit)
        .execute();
    });
    const records = rows.map(recordOf);
    return newest ? records.reverse() : records;
  }

  async head(): Promise<AuditHead> {
    return await this.#access.run((db) => headOf(db));
  }

  async segments(): Promise<AuditSegment[]> {
    const rows = await this.#access.run((db) => db.selectFrom('audit_segments').selectAll().orderBy('first').execute());
    return rows.map(({ first, last, hash }) => ({ first: Number(first), last: Number(last), hash }));
  }

  async archive({ first, last, hash }: AuditSegment): Promise<void> {
    await this.#access.transaction(async (db) => {
      const before = await db.selectFrom('audit_segments').select('last').orderBy('first', 'desc').limit(1).executeTakeFirst();
      const end = await db.selectFrom('audit').select('hash').where('seq', '=', last).executeTakeFirst();
      if (first !== Number(before?.last ?? 0) + 1 || last < first || end?.hash !== hash) {
        throw new HermeticError('audit/broken', `Records ${first} to ${last} are not what is to be archived next. Nothing was removed.`);
      }
      await db.insertInto('audit_segments').values({ first, last, hash }).execute();
      await db.deleteFrom('audit').where('seq', '>=', first).where('seq', '<=', last).execute();
    });
  }
}

/** For changes that are recorded with what they change, or not made. */
export async function appendEvents(db: Transaction<Tables>, events: readonly AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  let head = await headOf(db);
  const rows = events.map((event) => {
    const unhashed = { ...event, seq: head.seq + 1, previous: head.hash };
    head = { seq: unhashed.seq, hash: digestOf(auditContent(unhashed)) };
    const { seq, at, actor, session, kind, what, outcome, previous } = unhashed;
    const [parts, details] = [JSON.stringify(session), canonicalJson(what)];
    return { seq, at: at.getTime(), actor, session: parts, kind, what: details, outcome, previous, hash: head.hash };
  });
  for (const { seq, at, actor, session, kind, what, outcome, previous, hash } of rows)
    await sql`insert into audit (seq, at, actor, session, kind, what, outcome, previous, hash)
      values (${seq}, ${at}, ${actor}, ${session}, ${kind}, ${what}, ${outcome}, ${previous}, ${hash})`.execute(db);
  await sql`insert into audit_head (id, seq, hash) values (${headId}, ${head.seq}, ${head.hash})
    on conflict (id) do update set seq = excluded.seq, hash = excluded.hash`.execute(db);
}

async function headOf(db: Kysely<Tables>): Promise<AuditHead> {
  const {
    rows: [row],
  } = await sql<{ seq: number | string; hash: string }>`select seq, hash from audit_head where id = ${headId}`.execute(db);
  return row ? { seq: Number(row.seq), hash: row.hash } : { seq: 0, hash: firstHash };
}

function recordOf(row: Selectable<Tables['audit']>): AuditRecord {
  return {
    seq: Number(row.seq),
    at: new Date(Number(row.at)),
    actor: row.actor,
    session: parsed(row.session) as string[],
    kind: row.kind as AuditKind,
    what: parsed(row.what) as AuditRecord['what'],
    outcome: row.outcome,
    previous: row.previous,
    hash: row.hash,
  };
}

/** Somebody may have put anything there; the hash tells. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
