import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Kysely, Transaction } from 'kysely';
import type { Access } from '../access.ts';
import type { Tables } from '../schema.ts';
import { failed, patiently } from './failures.ts';

const patienceMs = 5_000;

export class SqliteAccess implements Access {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #db: Kysely<Tables>;
  readonly #file: string | undefined;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  constructor(path: string, database: DatabaseSync, db: Kysely<Tables>) {
    this.#path = path;
    this.#database = database;
    this.#db = db;
    this.#file = identityOf(path);
  }

  run<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt(() => work(this.#db));
  }

  transaction<T>(work: (db: Transaction<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt(() => this.#db.transaction().execute(work));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    if (this.#database.isOpen) this.#database.close();
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error(`${this.#path} was closed.`);
    const attempt = patiently(this.#path, patienceMs, () => {
      this.#refuseMoved();
      return work();
    });
    this.#underWay.add(attempt);
    try {
      return await attempt;
    } finally {
      this.#underWay.delete(attempt);
    }
  }

  /** What goes to a file that was deleted or replaced is not kept, though SQLite would not mind. */
  #refuseMoved(): void {
    if (identityOf(this.#path) === this.#file) return;
    throw failed(this.#path, 'was moved, replaced or deleted while in use', 'Start Hermetic again.');
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}:${found.ino}`;
}
