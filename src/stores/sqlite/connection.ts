import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Kysely, type SqliteDatabase, SqliteDialect, SqliteDriver } from 'kysely';
import type { Tables } from '../schema.ts';
import { preparedOf } from './prepared.ts';

export interface ConnectOptions {
  readOnly?: boolean;
}

/** SQLite waits on the one thread there is, so it waits shortly; `retryWhileBusy` does the rest. */
const lockWaitMs = 100;
/** A connection to a file that exists. */
export function connect(path: string, { readOnly = false }: ConnectOptions = {}): DatabaseSync {
  const location = pathToFileURL(path);
  // Without a mode SQLite would make an empty database where there is none.
  location.searchParams.set('mode', readOnly ? 'ro' : 'rw');
  const database = new DatabaseSync(location, { readOnly, timeout: lockWaitMs, enableForeignKeyConstraints: true, defensive: true });
  // Security: nothing in the schema of a file may call what reaches outside it, and a damaged page is noticed when it is read.
  database.exec('pragma synchronous = full; pragma trusted_schema = off; pragma cell_size_check = on');
  return database;
}

/** The query layer over a connection. */
export function queries(database: DatabaseSync): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) });
}

export function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0];
}

class NodeSqliteDialect extends SqliteDialect {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super({ database: asKyselyExpects(database) });
    this.#database = database;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateDriver(this.#database);
  }
}

type Connection = Parameters<SqliteDriver['beginTransaction']>[0];

class ImmediateDriver extends SqliteDriver {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super({ database: asKyselyExpects(database) });
    this.#database = database;
  }

  /** A transaction that reads first and then finds out that another process has written would fail however long it waited. */
  override async beginTransaction(_connection: Connection): Promise<void> {
    this.#database.exec('begin immediate');
  }

  /** Some failures, such as a full disk, have rolled back already; complaining about that would hide them. */
  override async rollbackTransaction(connection: Connection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

function asKyselyExpects(database: DatabaseSync): SqliteDatabase {
  const prepared = preparedOf(database);
  return { close: () => database.close(), prepare: (text) => prepared.statement(text) };
}
