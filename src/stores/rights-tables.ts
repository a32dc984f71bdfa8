import { type ColumnType, sql, type Transaction } from 'kysely';

type Count = ColumnType<number | string, number, number>;

export interface RightsTables {
  /** People who are not asked in a session, for what they ask for themselves. */
  session_yolo: { session: string; person: string; since: Count };
}

/** Yolo belongs to a person and no longer to a session, and a turn keeps the role it began with. Released: never changes. */
export async function rightsTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('session_yolo')
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('since', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('session_yolo_key', ['session', 'person'])
    .execute();
  await sql`insert into session_yolo (session, person, since) select session, yolo_by, yolo_since from session_modes`.execute(db);
  await db.schema.dropTable('session_modes').execute();
  await db.schema.alterTable('inbox').addColumn('role', 'text').execute();
}
