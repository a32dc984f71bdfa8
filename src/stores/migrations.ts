import type { Transaction } from 'kysely';
import { ageTables } from './age-tables.ts';
import { approvalTables } from './approval-tables.ts';
import { archiveTables } from './archive-tables.ts';
import { backgroundTables } from './background-tables.ts';
import { channelNoteTables } from './channel-note-tables.ts';
import { conversationFacts } from './conversation-facts-columns.ts';
import { conversationTables } from './conversation-tables.ts';
import { inboxTries } from './inbox-tries-table.ts';
import { reachTables } from './reach-tables.ts';
import { rightsTables } from './rights-tables.ts';
import { setAsideTables } from './set-aside-tables.ts';
import { signInTables } from './sign-in-tables.ts';
import { undeliveredColumns } from './undelivered-columns.ts';
import { webChatIndex } from './web-chats.ts';
import { webCallTables, webTables } from './web-tables.ts';

/** A migration knows nothing of the tables as they are today. */
type Migration = (db: Transaction<unknown>) => Promise<unknown>;

/** The database is at version n after the first n of these. One that was released never changes; new ones go to the end. */
export const migrations: readonly Migration[] = [
  (db) =>
    db.schema
      .createTable('sandboxes')
      .addColumn('backend', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('session', 'text', (column) => column.notNull())
      .addColumn('image', 'text')
      .addColumn('spec_hash', 'text', (column) => column.notNull())
      .addColumn('directory', 'text', (column) => column.notNull())
      .addColumn('persistent', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('owner', 'text')
      .addColumn('lease_until', 'bigint')
      .addPrimaryKeyConstraint('sandboxes_key', ['backend', 'name'])
      .execute(),
  (db) =>
    db.schema
      .createTable('proofs')
      .addColumn('backend', 'text', (column) => column.notNull())
      .addColumn('spec_hash', 'text', (column) => column.notNull())
      .addColumn('proven_at', 'bigint', (column) => column.notNull())
      .addColumn('held', 'integer', (column) => column.notNull())
      .addColumn('lines', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('proofs_key', ['backend', 'spec_hash', 'proven_at'])
      .execute(),
  approvalTables,
  webTables,
  conversationTables,
  reachTables,
  backgroundTables,
  archiveTables,
  webCallTables,
  rightsTables,
  setAsideTables,
  channelNoteTables,
  ageTables,
  inboxTries,
  conversationFacts,
  undeliveredColumns,
  signInTables,
  webChatIndex,
];
