import type { ColumnType, Generated, Transaction } from 'kysely';

/** A whole number. Some drivers give large ones as text. */
type Count = ColumnType<number | string, number, number>;
type OptionalCount = ColumnType<number | string | null, number | null, number | null>;
/** JSON text. What comes from people and platforms is kept in this form only: it has no NUL and no half character that a database could lose. */
type Json = string;

export interface ConversationTables {
  /** The last number given out, by what it counts. */
  counters: { name: string; value: Count };
  inbox: {
    seq: Count;
    /** Of place and id. */
    identity: string;
    session: Json;
    incoming: Json;
    state: string;
    received_at: Count;
    turn: Json | null;
    role: string | null;
    /** How often it was begun without an end. */
    tries: Generated<number>;
  };
  outbox: {
    seq: Count;
    /** Of the key. */
    identity: string;
    key: Json;
    place: Json;
    /** Without its file. */
    message: Json;
    /** With its data in base64. */
    file: Json | null;
    replaces: Json | null;
    is_draft: number;
    state: string;
    added_at: Count;
    due_at: Count;
    attempts: number;
    doubts: number;
    failure: Json | null;
    sent_id: Json | null;
    settled_at: OptionalCount;
    session: Json | null;
  };
  sessions: {
    session: Json;
    title: Json;
    place: Json;
    epoch: Count;
    started_at: Count;
    last_active_at: Count;
    choices: Json;
    input_tokens: Count;
    output_tokens: Count;
    cached_tokens: Count;
    written_tokens: Generated<number>;
    cost: number | null;
    facts: Json | null;
    undelivered: string | null;
  };
  transcript: {
    seq: Count;
    session: Json;
    epoch: Count;
    turn: Json;
    at: Count;
    message: Json;
  };
  summaries: {
    session: Json;
    epoch: Count;
    up_to: Count;
    turn: Json;
    at: Count;
    message: Json;
  };
  paired: {
    platform: Json;
    person: Json;
    name: Json;
    role: string;
    paired_by: Json;
    paired_at: Count;
  };
  pairing_requests: {
    platform: Json;
    person: Json;
    name: Json;
    salt: string;
    hash: string;
    requested_at: Count;
    expires_at: Count;
  };
  /** One row for every wrong code. */
  pairing_misses: { seq: Count; approver: Json; at: Count };
  /** One row. */
  pairing_salt: { id: number; salt: string };
}

/** Tables of conversations and of who may have them. Released: never changes. */
export async function conversationTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('counters')
    .addColumn('name', 'text', (column) => column.notNull().primaryKey())
    .addColumn('value', 'bigint', (column) => column.notNull())
    .execute();
  await messageTables(db);
  await sessionTables(db);
  await pairingTables(db);
}

async function messageTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('inbox')
    .addColumn('seq', 'bigint', (column) => column.notNull().primaryKey())
    .addColumn('identity', 'text', (column) => column.notNull().unique())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('incoming', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('turn', 'text')
    .execute();
  await db.schema.createIndex('inbox_state').on('inbox').columns(['state', 'session', 'seq']).execute();
  await db.schema
    .createTable('outbox')
    .addColumn('seq', 'bigint', (column) => column.notNull().primaryKey())
    .addColumn('identity', 'text', (column) => column.notNull().unique())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('file', 'text')
    .addColumn('replaces', 'text')
    .addColumn('is_draft', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('doubts', 'integer', (column) => column.notNull())
    .addColumn('failure', 'text')
    .addColumn('sent_id', 'text')
    .addColumn('settled_at', 'bigint')
    .execute();
  await db.schema.createIndex('outbox_state').on('outbox').columns(['state', 'place', 'seq']).execute();
}

async function sessionTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('session', 'text', (column) => column.notNull().primaryKey())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('place', 'text', (column) => column.notNull())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('last_active_at', 'bigint', (column) => column.notNull())
    .addColumn('choices', 'text', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cost', 'double precision')
    .execute();
  await db.schema.createIndex('sessions_active').on('sessions').column('last_active_at').execute();
  await db.schema
    .createTable('transcript')
    .addColumn('seq', 'bigint', (column) => column.notNull().primaryKey())
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('turn', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('transcript_epoch').on('transcript').columns(['session', 'epoch', 'seq']).execute();
  await db.schema.createIndex('transcript_turn').on('transcript').columns(['session', 'turn']).execute();
  await db.schema
    .createTable('summaries')
    .addColumn('session', 'text', (column) => column.notNull())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('up_to', 'bigint', (column) => column.notNull())
    .addColumn('turn', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('summaries_key', ['session', 'epoch'])
    .execute();
}

async function pairingTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('paired')
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('paired_by', 'text', (column) => column.notNull())
    .addColumn('paired_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('paired_key', ['platform', 'person'])
    .execute();
  await db.schema
    .createTable('pairing_requests')
    .addColumn('platform', 'text', (column) => column.notNull())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('salt', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('requested_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('pairing_requests_key', ['platform', 'person'])
    .execute();
  await db.schema
    .createTable('pairing_misses')
    .addColumn('seq', 'bigint', (column) => column.notNull().primaryKey())
    .addColumn('approver', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('pairing_misses_approver').on('pairing_misses').columns(['approver', 'at']).execute();
  await db.schema
    .createTable('pairing_salt')
    .addColumn('id', 'integer', (column) => column.notNull().primaryKey())
    .addColumn('salt', 'text', (column) => column.notNull())
    .execute();
}
