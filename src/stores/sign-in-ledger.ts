import { randomBytes } from 'node:crypto';
import type { Expression, ExpressionBuilder, Selectable, SqlBool, Transaction } from 'kysely';
import type { AuditEvent } from '../core/audit.ts';
import { type CookieKeys, type PageVisitor, pageOwner, type SignIn, type SignInLedger, signInLasts } from '../core/sign-ins.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';
import { Statement } from './statement.ts';

const dayMs = 24 * 60 * 60 * 1000;
const maxSignIns = 100;

type Row = Selectable<Tables['sign_ins']>;

export class SqlSignInLedger implements SignInLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async begin({ browser, network, by }: PageVisitor & Pick<SignIn, 'by'>, { digest, token }: CookieKeys, at: Date): Promise<SignIn> {
    const begun: SignIn = { id: randomBytes(5).toString('hex'), browser, network, by, at, seenAt: at };
    const [time, texts] = [at.getTime(), { browser: JSON.stringify(browser), network: JSON.stringify(network) }];
    await this.#access.transaction(async (db) => {
      await endOld(db, at);
      const rest = await db
        .selectFrom('sign_ins')
        .selectAll()
        .orderBy('seen_at', 'desc')
        .orderBy('id')
        .offset(maxSignIns - 1)
        .limit(maxSignIns)
        .execute();
      await endAll(db, rest, 'hermetic', 'too many', at);
      await db
        .insertInto('sign_ins')
        .values({ id: begun.id, digest, token, ...texts, let_in_by: by, at: time, seen_at: time })
        .execute();
      await appendEvents(db, [pageEvent(pageOwner, factsOf(begun), 'signed in', at)]);
    });
    return begun;
  }

  async find({ digest, token }: CookieKeys, at: Date): Promise<SignIn | undefined> {
    const row = await this.#access.prepared.read((statements) => statements.first(byDigest, { digest, token }));
    return row && isInForce(row, at) ? signInOf(row) : undefined;
  }

  async seen(id: string, at: Date): Promise<void> {
    await this.#access.run((db) => db.updateTable('sign_ins').set({ seen_at: at.getTime() }).where('id', '=', id).execute(), 'later');
  }

  async list(at: Date): Promise<SignIn[]> {
    const rows = await this.#access.read((db) => db.selectFrom('sign_ins').selectAll().orderBy('seen_at', 'desc').orderBy('id').execute());
    return rows.filter((row) => isInForce(row, at)).map(signInOf);
  }

  async end(id: string, by: string, at: Date): Promise<SignIn | undefined> {
    return await this.#access.transaction(async (db) => {
      const row = await db.selectFrom('sign_ins').selectAll().where('id', '=', id).executeTakeFirst();
      if (!row || !isInForce(row, at)) return undefined;
      await endAll(db, [row], by, undefined, at);
      return signInOf(row);
    });
  }

  async keep(token: string, at: Date): Promise<void> {
    await this.#access.transaction(async (db) => {
      const others = await db.selectFrom('sign_ins').selectAll().where('token', '!=', token).execute();
      await endAll(db, others, 'hermetic', 'another token', at);
      await endOld(db, at);
    });
  }

  async refused({ browser, network }: PageVisitor, why: string, others: number, at: Date): Promise<void> {
    const what = { browser, network, why, ...(others > 0 && { others }) };
    await this.#access.transaction((db) => appendEvents(db, [pageEvent('unknown', what, 'refused', at)]));
  }

  async linked(by: string, at: Date): Promise<void> {
    await this.#access.transaction((db) => appendEvents(db, [pageEvent(by, {}, 'link made', at)]));
  }
}

const byDigest = new Statement<CookieKeys, Row>((db, { digest, token }) =>
  db.selectFrom('sign_ins').selectAll().where('digest', '=', digest).where('token', '=', token).compile(),
);

function limits(at: Date): { seen: number; begun: number } {
  return { seen: at.getTime() - signInLasts.unusedDays * dayMs, begun: at.getTime() - signInLasts.days * dayMs };
}

function isInForce(row: Row, at: Date): boolean {
  const { seen, begun } = limits(at);
  return Number(row.seen_at) > seen && Number(row.at) > begun;
}

async function endOld(db: Transaction<Tables>, at: Date): Promise<void> {
  const { seen, begun } = limits(at);
  const isOld = (where: ExpressionBuilder<Tables, 'sign_ins'>): Expression<SqlBool> =>
    where.or([where('seen_at', '<=', seen), where('at', '<=', begun)]);
  await endAll(db, await db.selectFrom('sign_ins').selectAll().where(isOld).execute(), 'hermetic', 'too old', at);
}

async function endAll(db: Transaction<Tables>, rows: readonly Row[], by: string, why: string | undefined, at: Date): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await db.deleteFrom('sign_ins').where('id', 'in', ids).execute();
  const events = rows.map((row) => pageEvent(by, { ...factsOf(signInOf(row)), ...(why && { why }) }, 'signed out', at));
  await appendEvents(db, events);
}

function factsOf({ id, browser, network, by }: SignIn): AuditEvent['what'] {
  return { signIn: id, browser, network, by };
}

function pageEvent(actor: string, what: AuditEvent['what'], outcome: string, at: Date): AuditEvent {
  return { at, actor, session: [], kind: 'page', what, outcome };
}

function signInOf({ id, browser, network, let_in_by, at, seen_at }: Row): SignIn {
  return {
    id,
    browser: readJson(browser),
    network: readJson(network),
    by: let_in_by === 'token' ? 'token' : 'link',
    at: new Date(Number(at)),
    seenAt: new Date(Number(seen_at)),
  };
}
