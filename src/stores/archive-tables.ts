import type { ColumnType, Transaction } from 'kysely';

type Count = ColumnType<number | string, number, number>;

export interface ArchiveTables {
  /** Records of the audit log that are in files. */
  audit_segments: { first: Count; last: Count; hash: string };
}

/** Which records of the audit log were moved to files. Released: never changes. */
export async function archiveTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_segments')
    .addColumn('first', 'bigint', (column) => column.notNull().primaryKey())
    .addColumn('last', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute();
}
