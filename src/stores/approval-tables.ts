import type { Transaction } from 'kysely';

/** Questions, grants, modes of sessions and the audit log, as the third version has them. Released: never changes. */
export async function approvalTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('questions')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('code', 'text', (column) => column.notNull().unique())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('run', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('sandbox', 'text', (column) => column.notNull())
    .addColumn('backend', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('person', 'text')
    .addColumn('actions', 'text', (column) => column.notNull())
    .addColumn('findings', 'text', (column) => column.notNull())
    .addColumn('asked_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('answer', 'text')
    .addColumn('answered_from', 'text')
    .addColumn('settled_at', 'bigint')
    .addColumn('claimed_at', 'bigint')
    .execute();
  await db.schema.createIndex('questions_state').on('questions').columns(['state', 'session']).execute();
  await db.schema
    .createTable('grants')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('person', 'text')
    .addColumn('backend', 'text', (column) => column.notNull())
    .addColumn('rule', 'text', (column) => column.notNull())
    .addColumn('program', 'text')
    .addColumn('digest', 'text')
    .addColumn('granted_by', 'text', (column) => column.notNull())
    .addColumn('granted_at', 'bigint', (column) => column.notNull())
    .addColumn('granted_from', 'text', (column) => column.notNull())
    .addColumn('why', 'text', (column) => column.notNull())
    .addColumn('question', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .addColumn('revoked_by', 'text')
    .execute();
  await db.schema
    .createTable('session_modes')
    .addColumn('session', 'text', (column) => column.notNull().primaryKey())
    .addColumn('yolo_by', 'text', (column) => column.notNull())
    .addColumn('yolo_since', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('audit')
    .addColumn('seq', 'bigint', (column) => column.notNull().primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('what', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('previous', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('audit_head')
    .addColumn('id', 'integer', (column) => column.notNull().primaryKey())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute();
}
