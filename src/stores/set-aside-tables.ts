import type { ColumnType, Transaction } from 'kysely';

type Time = ColumnType<number | string, number, number>;
/** JSON text. */
type Json = string;

export interface SetAsideTables {
  tries: { source: string; id: string; count: number };
  set_aside: { source: string; id: string; session: Json; reason: Json; content: Json; tries: number; at: Time };
}

/** How often what is being tried was tried, and what is not tried again. Released: never changes. */
export async function setAsideTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('tries')
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('count', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('tries_key', ['source', 'id'])
    .execute();
  await db.schema
    .createTable('set_aside')
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('tries', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('set_aside_key', ['source', 'id'])
    .execute();
}
