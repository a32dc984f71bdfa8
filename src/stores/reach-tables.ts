import type { ColumnType, Transaction } from 'kysely';

type Time = ColumnType<number | string, number, number>;
type Json = string;

export interface ReachTables {
  heard_places: {
    platform: Json;
    person: Json;
    place: Json;
    is_direct: number;
    name: Json;
    heard_at: Time;
  };
  question_cards: {
    /** Of the key. */
    identity: string;
    key: Json;
    question: string;
    place: Json;
  };
}

/** Where people were heard, and which messages show questions. Released: never changes. */
export async function reachTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('heard_places')
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('is_direct', 'integer', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('heard_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('heard_places_key', ['platform', 'person', 'place'])
    .execute();
  await db.schema
    .createTable('question_cards')
    .addColumn('identity', 'text', (column) => column.notNull().primaryKey())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('question', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('question_cards_question').on('question_cards').column('question').execute();
}
