import { accessSync, constants, existsSync } from 'node:fs';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { Store } from '../core/store.ts';
import { SqlApprovalLedger } from './approval-ledger.ts';
import { SqlAuditLog } from './audit-log.ts';
import { SqlBackgroundLedger } from './background-ledger.ts';
import { SqlCardLedger } from './card-ledger.ts';
import { SqlChannelNoteLedger } from './channel-note-ledger.ts';
import { SqlConversationLedger } from './conversation-ledger.ts';
import { SqlGrantLedger } from './grant-ledger.ts';
import { SqlInboxLedger } from './inbox-ledger.ts';
import { SqlModeLedger } from './mode-ledger.ts';
import { SqlOutboxLedger } from './outbox-ledger.ts';
import { SqlPairingLedger } from './pairing-ledger.ts';
import { SqlPeopleLedger } from './people-ledger.ts';
import { SqlProofLedger } from './proof-ledger.ts';
import { SqlSandboxLedger } from './sandbox-ledger.ts';
import { SqlSetAsideLedger } from './set-aside-ledger.ts';
import { SqlSignInLedger } from './sign-in-ledger.ts';
import { SqliteAccess } from './sqlite/access.ts';
import { connect, pragma, queries } from './sqlite/connection.ts';
import { create } from './sqlite/create.ts';
import { failed, retryWhileBusy } from './sqlite/failures.ts';
import { makePrivate, prepareDirectory } from './sqlite/files.ts';
import { inspect, latestVersion, refuseNoFile, versionOf } from './sqlite/inspect.ts';
import { migrate } from './sqlite/migrate.ts';
import { SqlWebLog } from './web-log.ts';

const openDeadlineMs = 5_000;
/** Another process may be writing a backup and migrating. */
const migrationDeadlineMs = 60_000;
/** SQLite keeps the file of its log at the largest size it ever had, unless told. */
const maxLogBytes = 16_000_000;

/**
 * Opens the state database at this path, or makes it. An older one is migrated after a backup was written beside it; a newer or damaged
 * one is refused and left as it is.
 */
export async function openStore(path: string): Promise<Store> {
  await retryWhileBusy(path, openDeadlineMs, async () => {
    prepareDirectory(path);
    refuseNoFile(path);
    if (!existsSync(path)) await create(path);
    accessSync(path, constants.R_OK | constants.W_OK);
    makePrivate(path);
    inspect(path);
  });
  const access = await connected(path);
  return {
    sandboxes: new SqlSandboxLedger(access),
    proofs: new SqlProofLedger(access),
    approvals: new SqlApprovalLedger(access),
    grants: new SqlGrantLedger(access),
    modes: new SqlModeLedger(access),
    audit: new SqlAuditLog(access),
    inbox: new SqlInboxLedger(access),
    setAside: new SqlSetAsideLedger(access),
    outbox: new SqlOutboxLedger(access),
    conversations: new SqlConversationLedger(access),
    pairing: new SqlPairingLedger(access),
    people: new SqlPeopleLedger(access),
    cards: new SqlCardLedger(access),
    channelNotes: new SqlChannelNoteLedger(access),
    webLog: new SqlWebLog(access),
    signIns: new SqlSignInLedger(access),
    background: new SqlBackgroundLedger(access),
    lost: access.lost,
    writeFailure: (maxAgeMs) => access.writeFailure(maxAgeMs),
    async shrink(signal) {
      while (!signal?.aborted && (await access.shrinkSome())) await turnOfLoop();
    },
    close: () => access.close(),
  };
}

async function connected(path: string): Promise<SqliteAccess> {
  const database = await retryWhileBusy(path, openDeadlineMs, () => connect(path));
  const db = queries(database);
  try {
    await retryWhileBusy(path, openDeadlineMs, () => {
      if (pragma(database, 'journal_mode') === 'wal' || pragma(database, 'journal_mode = wal') === 'wal') return;
      throw failed(path, 'is on a file system that several processes cannot share', 'Move it to a local one.');
    });
    await retryWhileBusy(path, migrationDeadlineMs, () =>
      versionOf(database) === latestVersion ? undefined : migrate(path, database, db),
    );
    database.exec(`pragma journal_size_limit = ${maxLogBytes}`);
    return new SqliteAccess(path, database, db);
  } catch (error) {
    database.close();
    throw error;
  }
}
