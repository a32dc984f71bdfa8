import { type ColumnType, sql, type Transaction } from 'kysely';

type Count = ColumnType<number | string, number, number>;
type OptionalCount = ColumnType<number | string | null, number | null, number | null>;

export interface WebTables {
  web_chats: {
    id: string;
    person: string;
    title: string;
    started_at: Count;
    last_active_at: Count;
    /** Of the last change of any message. */
    seq: Count;
  };
  web_messages: {
    chat: string;
    id: string;
    seq: Count;
    position: Count;
    author: string;
    content: string;
    at: Count;
    edited_at: OptionalCount;
    /** 0 while a person's message has not been handed on. */
    accepted: number;
  };
  /** The calls of tools, which a page shows between messages. */
  web_calls: {
    chat: string;
    call: string;
    /** In the order in which they began. */
    seq: Count;
    state: string;
    after_position: OptionalCount;
    /** JSON: the rest of it. */
    about: string;
  };
  web_files: {
    id: string;
    chat: string;
    /** null until a message has it. */
    message: string | null;
    name: string;
    mime_type: string;
    bytes: Count;
    data: Uint8Array;
    added_at: Count;
  };
}

/** The chats of the web page. Released: never changes. */
export async function webTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('web_chats')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('person', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('last_active_at', 'bigint', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('web_messages')
    .addColumn('chat', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('author', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('edited_at', 'bigint')
    .addColumn('accepted', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('web_messages_key', ['chat', 'id'])
    .execute();
  await db.schema.createIndex('web_messages_seq').unique().on('web_messages').columns(['chat', 'seq']).execute();
  await db.schema.createIndex('web_messages_position').unique().on('web_messages').columns(['chat', 'position']).execute();
  await db.schema
    .createIndex('web_messages_unaccepted')
    .on('web_messages')
    .column('chat')
    .where(sql.ref('accepted'), '=', sql.lit(0))
    .execute();
  await db.schema
    .createTable('web_files')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('chat', 'text', (column) => column.notNull())
    .addColumn('message', 'text')
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('mime_type', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('data', 'blob', (column) => column.notNull())
    .addColumn('added_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** The calls of tools in the chats of the web page. Released: never changes. */
export async function webCallTables(db: Transaction<unknown>): Promise<void> {
  await db.schema
    .createTable('web_calls')
    .addColumn('chat', 'text', (column) => column.notNull())
    .addColumn('call', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('after_position', 'bigint')
    .addColumn('about', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('web_calls_key', ['chat', 'call'])
    .execute();
  await db.schema.createIndex('web_calls_seq').on('web_calls').columns(['chat', 'seq']).execute();
}
