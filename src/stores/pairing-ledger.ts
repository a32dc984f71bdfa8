import { hash, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Selectable, Transaction } from 'kysely';
import type { AuditEvent } from '../core/audit.ts';
import type { PairedPerson, PairingLedger, PairingOutcome, PairingRequest } from '../core/conversation.ts';
import { isSameSecret } from '../lib/same-secret.ts';
import type { Access } from './access.ts';
import { appendEvents } from './audit-log.ts';
import { takeNumbers } from './counter.ts';
import { readJson } from './json-columns.ts';
import type { Tables } from './schema.ts';
import { Statement } from './statement.ts';

const hourMs = 60 * 60 * 1000;
const renewAfterMs = 10 * 60 * 1000;
const maxMisses = 5;
/** Of one platform. Security: a code that waits stays, so that strangers cannot take it away by asking for many of their own. */
const maxOpen = 1000;
const saltId = 1;
/** Strangers choose their names. */
const maxNameInLog = 200;

type Reading = Pick<Transaction<Tables>, 'selectFrom'>;

const derive = promisify<string, string, number, Buffer>(scrypt);

export class SqlPairingLedger implements PairingLedger {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async request(asked: PairingRequest, code: string): Promise<PairingRequest | undefined> {
    const [platform, person] = [JSON.stringify(asked.platform), JSON.stringify(asked.person)];
    const at = asked.requestedAt.getTime();
    const expiresAt = Math.min(asked.expiresAt.getTime(), at + hourMs);
    const isRefused = async (db: Reading): Promise<boolean> => {
      const open = db.selectFrom('pairing_requests').where('platform', '=', platform).where('expires_at', '>', at);
      const own = await open.select('requested_at').where('person', '=', person).executeTakeFirst();
      if (own) return at - Number(own.requested_at) < renewAfterMs;
      const { count } = await open.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
      return Number(count) >= maxOpen;
    };
    // Security: a stranger who goes on asking does not make the host compute slow hashes.
    if (await this.#access.run(isRefused)) return undefined;
    const slow = await this.#slowly(code);
    return await this.#access.transaction(async (db) => {
      if (await isRefused(db)) return undefined;
      await db.deleteFrom('pairing_requests').where('expires_at', '<=', at).execute();
      const salt = randomBytes(16).toString('hex');
      const row = { name: JSON.stringify(asked.name), salt, hash: fastly(salt, slow), requested_at: at, expires_at: expiresAt };
      await db
        .insertInto('pairing_requests')
        .values({ platform, person, ...row })
        .onConflict((conflict) => conflict.columns(['platform', 'person']).doUpdateSet(row))
        .execute();
      const { name, requestedAt } = asked;
      const what = { platform: asked.platform, person: asked.person, name: name.slice(0, maxNameInLog) };
      await appendEvents(db, [accessEvent(`${asked.platform}:${asked.person}`, what, 'asked', requestedAt)]);
      return { ...asked, expiresAt: new Date(expiresAt) };
    });
  }

  async approve(code: string, by: string, role: PairedPerson['role'], at: Date, isOwner = false): Promise<PairingOutcome> {
    const [approver, time] = [JSON.stringify(by), at.getTime()];
    const missed = async (db: Reading): Promise<number[]> => {
      if (isOwner) return [];
      const of = db.selectFrom('pairing_misses').select('at').where('approver', '=', approver);
      const rows = await of
        .where('at', '>', time - hourMs)
        .orderBy('at', 'desc')
        .limit(maxMisses)
        .execute();
      return rows.map((row) => Number(row.at));
    };
    // Security: also the right code is not looked at then, so that guessing on tells nothing.
    const before = lockOf(await this.#access.run(missed));
    if (before) return before;
    const slow = await this.#slowly(code);
    return await this.#access.transaction(async (db) => {
      const misses = await missed(db);
      const locked = lockOf(misses);
      if (locked) return locked;
      await db
        .deleteFrom('pairing_misses')
        .where('at', '<=', time - hourMs)
        .execute();
      const open = await db.selectFrom('pairing_requests').selectAll().where('expires_at', '>', time).execute();
      // Security: all of them are compared, and each in constant time.
      const [fitting, ...others] = open.filter((row) => isSameSecret(row.hash, fastly(row.salt, slow)));
      if (!fitting || others.length > 0) {
        await appendEvents(db, [accessEvent(by, {}, 'wrong code', at)]);
        if (isOwner) return { kind: 'wrong', left: undefined };
        const seq = await takeNumbers(db, 'pairing');
        await db.insertInto('pairing_misses').values({ seq, approver, at: time }).execute();
        return { kind: 'wrong', left: maxMisses - misses.length - 1 };
      }
      const { platform, person, name } = fitting;
      const row = { name, role, paired_by: approver, paired_at: time };
      await db
        .insertInto('paired')
        .values({ platform, person, ...row })
        .onConflict((conflict) => conflict.columns(['platform', 'person']).doUpdateSet(row))
        .execute();
      await db.deleteFrom('pairing_requests').where('platform', '=', platform).where('person', '=', person).execute();
      const paired = pairedOf({ platform, person, ...row });
      await appendEvents(db, [accessEvent(by, factsOf(paired), 'paired', at)]);
      return { kind: 'paired', person: paired };
    });
  }

  async revoke(platform: string, person: string, by: string, at: Date): Promise<boolean> {
    const [where, who] = [JSON.stringify(platform), JSON.stringify(person)];
    return await this.#access.transaction(async (db) => {
      const gone = await db.deleteFrom('pairing_requests').where('platform', '=', where).where('person', '=', who).executeTakeFirst();
      const row = await db.selectFrom('paired').selectAll().where('platform', '=', where).where('person', '=', who).executeTakeFirst();
      await db.deleteFrom('paired').where('platform', '=', where).where('person', '=', who).execute();
      if (row) await appendEvents(db, [accessEvent(by, factsOf(pairedOf(row)), 'revoked', at)]);
      else if (gone.numDeletedRows > 0n) await appendEvents(db, [accessEvent(by, { platform, person }, 'request removed', at)]);
      return row !== undefined;
    });
  }

  async find(platform: string, person: string): Promise<PairedPerson | undefined> {
    const about = { platform: JSON.stringify(platform), person: JSON.stringify(person) };
    const row = await this.#access.prepared.read((statements) => statements.first(pairedPerson, about));
    return row && pairedOf(row);
  }

  async paired(): Promise<PairedPerson[]> {
    const rows = await this.#access.run((db) =>
      db.selectFrom('paired').selectAll().orderBy('paired_at').orderBy('platform').orderBy('person').execute(),
    );
    return rows.map(pairedOf);
  }

  async open(at: Date): Promise<PairingRequest[]> {
    const rows = await this.#access.run((db) =>
      db
        .selectFrom('pairing_requests')
        .selectAll()
        .where('expires_at', '>', at.getTime())
        .orderBy('requested_at')
        .orderBy('platform')
        .orderBy('person')
        .execute(),
    );
    return rows.map((row) => ({
      platform: readJson(row.platform),
      person: readJson(row.person),
      name: readJson(row.name),
      requestedAt: new Date(Number(row.requested_at)),
      expiresAt: new Date(Number(row.expires_at)),
    }));
  }

  /**
   * Security: a code is short enough to be guessed with the database and a fast hash. This one is slow, under a salt of this
   * database, and computed once however many requests are open; each request then has a salt of its own.
   */
  async #slowly(code: string): Promise<Buffer> {
    const salt = await this.#access.transaction(async (db) => {
      const fresh = { id: saltId, salt: randomBytes(16).toString('hex') };
      await db
        .insertInto('pairing_salt')
        .values(fresh)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
      return (await db.selectFrom('pairing_salt').select('salt').where('id', '=', saltId).executeTakeFirstOrThrow()).salt;
    });
    return await derive(code, salt, 32);
  }
}

const pairedPerson = new Statement<{ platform: string; person: string }, Selectable<Tables['paired']>>((db, { platform, person }) =>
  db.selectFrom('paired').selectAll().where('platform', '=', platform).where('person', '=', person).compile(),
);

/** Of the times of the last wrong codes, the latest first. */
function lockOf(misses: readonly number[]): PairingOutcome | undefined {
  const decisive = misses[maxMisses - 1];
  return decisive === undefined ? undefined : { kind: 'locked', until: new Date(decisive + hourMs) };
}

function fastly(salt: string, slow: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from(salt, 'hex'), slow]));
}

function accessEvent(actor: string, what: AuditEvent['what'], outcome: string, at: Date): AuditEvent {
  return { at, actor, session: [], kind: 'access', what, outcome };
}

function factsOf({ platform, person, name, role }: PairedPerson): AuditEvent['what'] {
  return { platform, person, name: name.slice(0, maxNameInLog), role };
}

function pairedOf(row: Selectable<Tables['paired']>): PairedPerson {
  return {
    platform: readJson(row.platform),
    person: readJson(row.person),
    name: readJson(row.name),
    role: row.role === 'admin' ? 'admin' : 'user',
    by: readJson(row.paired_by),
    at: new Date(Number(row.paired_at)),
  };
}
