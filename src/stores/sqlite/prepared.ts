import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Kysely, SqliteDatabase } from 'kysely';
import type { Tables } from '../schema.ts';
import type { Statement, Statements } from '../statement.ts';

const maxPrepared = 200;

type Prepared = ReturnType<SqliteDatabase['prepare']>;

/** The prepared statements of a connection, for the query layer and beside it. */
export class PreparedStatements {
  readonly #database: DatabaseSync;
  readonly #known = new Map<string, Prepared>();
  #changed = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** How many rows were changed, also those of transactions that were rolled back. */
  get changed(): number {
    return this.#changed;
  }

  statement(text: string): Prepared {
    const known = this.#known.get(text);
    if (known) return known;
    // Most statements repeat and are cached; those with lists of values differ each time.
    if (this.#known.size >= maxPrepared) this.#known.clear();
    const prepared = this.#prepare(this.#database.prepare(text), /^\s*(select|pragma)\b/i.test(text));
    this.#known.set(text, prepared);
    return prepared;
  }

  #prepare(statement: StatementSync, changesNothing: boolean): Prepared {
    const values = (parameters: readonly unknown[]) => parameters as never[];
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => {
        const rows = statement.all(...values(parameters));
        if (!changesNothing) this.#changed += rows.length;
        return rows;
      },
      run: (parameters) => {
        const result = statement.run(...values(parameters));
        this.#changed += Number(result.changes);
        return result;
      },
      iterate: (parameters) => statement.iterate(...values(parameters)),
    };
  }

  /** Runs statements on this connection. */
  runner(db: Kysely<Tables>): Statements {
    const all = <Values extends object, Row>(statement: Statement<Values, Row>, given: Values): Row[] =>
      this.statement(statement.text(db)).all(statement.values(db, given)) as Row[];
    return {
      all,
      first: (statement, given) => all(statement, given)[0],
      run: (statement, given) => Number(this.statement(statement.text(db)).run(statement.values(db, given)).changes),
    };
  }
}

const ofDatabases = new WeakMap<DatabaseSync, PreparedStatements>();

export function preparedOf(database: DatabaseSync): PreparedStatements {
  const known = ofDatabases.get(database) ?? new PreparedStatements(database);
  ofDatabases.set(database, known);
  return known;
}
