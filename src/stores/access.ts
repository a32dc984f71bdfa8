import type { Kysely, Transaction } from 'kysely';
import type { Sync } from '../core/conversation.ts';
import type { Tables } from './schema.ts';
import type { Statements } from './statement.ts';

/** How queries reach a database. Failures arrive as a `HermeticError`; waiting for another process happens in here. */
export interface Access {
  /** Milliseconds on a clock for leases: all who use the database share it, and none can set it. It may begin anew, and stand still, with the machine. */
  leaseClock(): number;
  /** For one statement that changes nothing. */
  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** For one statement. May do the work again, but only after an attempt that changed nothing. */
  run<T>(work: (db: Kysely<Tables>) => Promise<T>, sync?: Sync): Promise<T>;
  /** Runs several statements as one transaction. May do the work again, like `run`. */
  transaction<T>(work: (db: Transaction<Tables>) => Promise<T>, sync?: Sync): Promise<T>;
  /** The same for statements: the work does not wait for anything, so nothing else happens meanwhile. */
  readonly prepared: PreparedAccess;
}

export interface PreparedAccess {
  /** For statements that change nothing. */
  read<T>(work: (statements: Statements) => T): Promise<T>;
  /** For one statement. */
  run<T>(work: (statements: Statements) => T, sync?: Sync): Promise<T>;
  /** As one transaction. */
  transaction<T>(work: (statements: Statements) => T, sync?: Sync): Promise<T>;
}
