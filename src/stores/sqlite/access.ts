import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Kysely, Transaction } from 'kysely';
import type { Sync } from '../../core/conversation.ts';
import type { HermeticError } from '../../core/errors.ts';
import { ShortTurns } from '../../lib/short-turns.ts';
import type { Access, PreparedAccess } from '../access.ts';
import { LastWrite } from '../last-write.ts';
import type { Tables } from '../schema.ts';
import { Statement, type Statements } from '../statement.ts';
import { pragma } from './connection.ts';
import { failed, retryWhileBusy } from './failures.ts';
import { type PreparedStatements, preparedOf } from './prepared.ts';
import { WalSync } from './wal-sync.ts';

const deadlineMs = 5_000;
/** Waking the thread that syncs takes longer than writing a record of the audit log, so commits that need no sync do not wake it. */
const laterMs = 10;
/** How often it is looked at whether the file is still there, besides after every write that is waited for. */
const lookEveryMs = 100;
/** Moving so many takes about as long as removing a portion of rows. */
const maxFreedPages = 128;
/** SQLite answers at once, so what is done next would never wait: a thousand messages would be handled before anything else has its turn. */
const maxTurnMs = 10;
/** A write for its own sake, which adds nothing to the database. */
const trial = new Statement<{ at: number }>((db, { at }) =>
  db
    .insertInto('counters')
    .values({ name: 'write trial', value: at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: at }))
    .compile(),
);
/** As SQLite counts the ways to shrink. */
const incremental = 2;

export class SqliteAccess implements Access {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #db: Kysely<Tables>;
  readonly #file: string | undefined;
  readonly #wal: WalSync;
  readonly #prepared: PreparedStatements;
  readonly #statements: Statements;
  readonly #turns = new ShortTurns(maxTurnMs);
  /** So many of the changes are on disk. */
  #onDisk: number;
  #later: NodeJS.Timeout | undefined;
  /** When the file was there the last time that it was looked at. */
  #foundAt = Number.NEGATIVE_INFINITY;
  readonly #lastWrite = new LastWrite();
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(path: string, database: DatabaseSync, db: Kysely<Tables>, wal = new WalSync(path)) {
    this.#path = path;
    this.#database = database;
    this.#db = db;
    this.#wal = wal;
    this.#file = identityOf(path);
    // From here on `WalSync` puts commits on disk.
    database.exec('pragma synchronous = normal');
    this.#prepared = preparedOf(database);
    this.#statements = this.#prepared.runner(db);
    this.#onDisk = this.#prepared.changed;
  }

  readonly prepared: PreparedAccess = {
    read: (work) => this.#attempt(() => this.#atOnce(() => work(this.#statements))),
    run: (work, sync = 'now') => this.#attempt(() => this.#atOnce(() => work(this.#statements)), sync),
    transaction: (work, sync = 'now') => this.#attempt(() => this.#atOnce(() => this.#together(work)), sync),
  };

  /** Now, or after the transaction of the query layer that is under way on the same connection. */
  #atOnce<T>(work: () => T): T | Promise<T> {
    return this.#database.isTransaction ? this.#db.connection().execute(async () => work()) : work();
  }

  #together<T>(work: (statements: Statements) => T): T {
    this.#database.exec('begin immediate');
    try {
      const result = work(this.#statements);
      this.#database.exec('commit');
      return result;
    } finally {
      // Some failures, such as a full disk, have rolled back already.
      if (this.#database.isTransaction) this.#database.exec('rollback');
    }
  }

  /** All who use a database with such a log run on one kernel, and the time that this is of has one clock there. */
  leaseClock(): number {
    return Number(process.hrtime.bigint() / 1_000_000n);
  }

  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt(() => work(this.#db));
  }

  run<T>(work: (db: Kysely<Tables>) => Promise<T>, sync: Sync = 'now'): Promise<T> {
    return this.#attempt(() => work(this.#db), sync);
  }

  transaction<T>(work: (db: Transaction<Tables>) => Promise<T>, sync: Sync = 'now'): Promise<T> {
    return this.#attempt(() => this.#db.transaction().execute(work), sync);
  }

  /** Gives some of the space that nothing uses back to the file system. False when none is left. */
  shrinkSome(): Promise<boolean> {
    return this.#attempt(() =>
      // For as long as a connection is lent, no transaction of others is under way.
      this.#db.connection().execute(async () => {
        this.#database.exec(`pragma incremental_vacuum(${maxFreedPages})`);
        return pragma(this.#database, 'auto_vacuum') === incremental && pragma(this.#database, 'freelist_count') !== 0;
      }),
    );
  }

  get lost(): Promise<HermeticError> {
    return this.#wal.lost;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    if (this.#later) await this.#sync(this.#prepared.changed).catch(() => undefined);
    await this.#wal.close();
    if (this.#database.isOpen) this.#database.close();
  }

  async #attempt<T>(work: () => T | Promise<T>, sync?: Sync): Promise<T> {
    if (this.#closed !== undefined) throw new Error(`${this.#path} was closed.`);
    // Work may be done before the promise of it is there.
    const before = this.#prepared.changed;
    const attempt = this.#synced(work, sync);
    this.#underWay.add(attempt);
    try {
      const result = await attempt;
      if (sync !== undefined && this.#prepared.changed > before) this.#lastWrite.ended();
      return result;
    } catch (error) {
      if (sync !== undefined) this.#lastWrite.ended(error);
      throw error;
    } finally {
      this.#underWay.delete(attempt);
    }
  }

  async writeFailure(maxAgeMs: number): Promise<Error | undefined> {
    return await this.#lastWrite.failure(maxAgeMs, () => this.prepared.run((statements) => statements.run(trial, { at: Date.now() })));
  }

  async #synced<T>(work: () => T | Promise<T>, sync: Sync | undefined): Promise<T> {
    const turn = this.#turns.turn();
    if (turn !== undefined) await turn;
    const result = await retryWhileBusy(this.#path, deadlineMs, () => {
      if (performance.now() - this.#foundAt > lookEveryMs) this.#refuseMoved();
      this.#wal.refuseLost();
      return work();
    });
    const changes = sync === undefined ? this.#onDisk : this.#prepared.changed;
    // Commits of others are waited for too: the result may depend on them.
    if (changes === this.#onDisk) return result;
    if (sync === 'now') await this.#sync(changes);
    // When it fails, the next operation rejects.
    else this.#later ??= setTimeout(() => void this.#sync(this.#prepared.changed).catch(() => undefined), laterMs).unref();
    return result;
  }

  async #sync(changes: number): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    await this.#wal.sync();
    // What was written since the last look, before anybody is told that it was.
    this.#refuseMoved();
    this.#onDisk = Math.max(this.#onDisk, changes);
  }

  /** Writes to a file that was deleted or replaced would be lost, and SQLite would not notice. */
  #refuseMoved(): void {
    const isThere = identityOf(this.#path) === this.#file;
    this.#foundAt = isThere ? performance.now() : Number.NEGATIVE_INFINITY;
    if (!isThere) throw failed(this.#path, 'was moved, replaced or deleted while in use', 'Start Hermetic again.');
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}:${found.ino}`;
}
