import type { ColumnType, Transaction } from 'kysely';

type Time = ColumnType<number | string, number, number>;
type Json = string;

export interface SignInTables {
  sign_ins: {
    id: string;
    digest: string;
    token: string;
    browser: Json;
    network: Json;
    let_in_by: string;
    at: Time;
    seen_at: Time;
  };
}

/** Browsers that are signed in to the page. Released: never changes. */
export async function signInTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('sign_ins')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('token', 'text', (column) => column.notNull())
    .addColumn('browser', 'text', (column) => column.notNull())
    .addColumn('network', 'text', (column) => column.notNull())
    .addColumn('let_in_by', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .execute();
}
