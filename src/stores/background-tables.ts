import type { ColumnType, Transaction } from 'kysely';

export interface BackgroundTables {
  background_processes: {
    session: string;
    process: string;
    /** JSON. */
    about: string;
    started_at: ColumnType<number | string, number, number>;
  };
}

/** Background processes that people are to hear of. Released: never changes. */
export async function backgroundTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('background_processes')
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('process', 'text', (column) => column.notNull())
    .addColumn('about', 'text', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('background_processes_key', ['session', 'process'])
    .execute();
}
