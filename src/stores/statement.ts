import type { CompiledQuery, Kysely } from 'kysely';
import type { Tables } from './schema.ts';

/** In place of a value that every use gives anew. */
class Blank {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

interface Compiled {
  text: string;
  /** In the order of the text, a `Blank` for each that is given. */
  values: readonly unknown[];
}

/** A query whose text is made once. Making it takes longer than what it does, so queries that run with every message are statements. */
export class Statement<Values extends object, Row = unknown> {
  readonly #make: (db: Kysely<Tables>, given: Values) => CompiledQuery<Row>;
  #compiled: Compiled | undefined;

  /** `make` gets names instead of values, and may do nothing with them but put them into the query. */
  constructor(make: (db: Kysely<Tables>, given: Values) => CompiledQuery<Row>) {
    this.#make = make;
  }

  text(db: Kysely<Tables>): string {
    return this.#compile(db).text;
  }

  values(db: Kysely<Tables>, given: Values): unknown[] {
    return this.#compile(db).values.map((value) => (value instanceof Blank ? given[value.name as keyof Values] : value));
  }

  #compile(db: Kysely<Tables>): Compiled {
    if (this.#compiled) return this.#compiled;
    const blanks = new Proxy({}, { get: (_, name) => new Blank(String(name)) });
    const { sql, parameters } = this.#make(db, blanks as Values);
    this.#compiled = { text: sql, values: parameters };
    return this.#compiled;
  }
}

/** Runs statements, each at once: nothing else happens between two of them. */
export interface Statements {
  all<Values extends object, Row>(statement: Statement<Values, Row>, given: Values): Row[];
  first<Values extends object, Row>(statement: Statement<Values, Row>, given: Values): Row | undefined;
  /** How many rows it has changed. */
  run<Values extends object>(statement: Statement<Values>, given: Values): number;
}
