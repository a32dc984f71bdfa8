import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import type { Access } from '../../src/stores/access.ts';
import { SqlApprovalLedger } from '../../src/stores/approval-ledger.ts';
import { SqlConversationLedger } from '../../src/stores/conversation-ledger.ts';
import { SqlInboxLedger } from '../../src/stores/inbox-ledger.ts';
import { openStore } from '../../src/stores/index.ts';
import { SqlOutboxLedger } from '../../src/stores/outbox-ledger.ts';
import { SqlSetAsideLedger } from '../../src/stores/set-aside-ledger.ts';
import { queries } from '../../src/stores/sqlite/connection.ts';
import { preparedOf } from '../../src/stores/sqlite/prepared.ts';
import type { Statements } from '../../src/stores/statement.ts';
import { SqlWebLog } from '../../src/stores/web-log.ts';
import { scratchPaths } from './scratch.ts';
import { makeVersionOne } from './versions.ts';

const newPath = scratchPaths();
const later = new Date(2_000);

function accessTo(database: DatabaseSync, db = queries(database)): Access {
  const statements = preparedOf(database).runner(db);
  const now = async <T>(work: (given: Statements) => T): Promise<T> => work(statements);
  return {
    leaseClock: () => 0,
    read: (work) => work(db),
    run: (work) => work(db),
    transaction: (work) => db.transaction().execute(work),
    prepared: { read: now, run: now, transaction: now },
  };
}

describe('pruning in portions', () => {
  let path: string;
  let store: Store;
  let database: DatabaseSync;

  const open = async (): Promise<void> => {
    store = await openStore(path);
    database = new DatabaseSync(path);
  };
  const count = (table: string, where = 'true'): number =>
    Number(database.prepare(`select count(*) as count from ${table} where ${where}`).get()?.count);
  const numbers = (count: number) => `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;
  const pragma = (name: string) => Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0];
  const addMessages = (messages: number, length = 10): void =>
    database.exec(`${numbers(messages)} insert into inbox (seq, identity, session, incoming, state, received_at)
      select i, 'old-' || i, '[]', hex(zeroblob(${length / 2})), 'done', 1000 from n`);
  const note = async (): Promise<void> => {
    await store.channelNotes.write('test', { key: 'value' });
    await turnOfLoop();
  };

  beforeEach(() => {
    path = newPath();
  });
  afterEach(async () => {
    database.close();
    await store.close();
  });

  it('lets other writers in many times while 10,000 messages are removed', async () => {
    await open();
    addMessages(10_000);
    database.exec("insert into inbox (seq, identity, session, incoming, state, received_at) values (0, 'w', '[]', '', 'waiting', 1000)");
    const seen = new Set<number>();
    const pruning = store.inbox.prune(later).then(() => 'over' as const);
    while ((await Promise.race([pruning, note()])) !== 'over') seen.add(count('inbox', "state = 'done'"));
    expect(seen.size).toBeGreaterThanOrEqual(10);
    expect(count('inbox')).toBe(1);
  });

  it('ends after the portion under way when it is told to stop, and the next time does the rest', async () => {
    await open();
    addMessages(10_000);
    const stopping = new AbortController();
    const pruning = store.inbox.prune(later, stopping.signal);
    await note();
    stopping.abort();
    await pruning;
    const left = count('inbox');
    expect(left > 0 && left < 10_000, String(left)).toBe(true);
    await store.inbox.prune(later);
    expect(count('inbox')).toBe(0);
  });

  it('never leaves a part of a turn', async () => {
    await open();
    database.exec(`${numbers(2_000)} insert into transcript (seq, session, epoch, turn, at, message)
      select i, '["s"]', 0, '"turn-' || (i / 300) || '"', 1000 + i / 10, '1' from n`);
    const whole = new Map(
      database
        .prepare('select turn, count(*) as count from transcript group by turn')
        .all()
        .map(({ turn, count }) => [turn, count]),
    );
    const pruning = store.conversations.prune(later).then(() => 'over' as const);
    do {
      const turns = database.prepare('select turn, count(*) as count from transcript group by turn').all();
      for (const { turn, count } of turns) expect(count).toBe(whole.get(turn));
    } while ((await Promise.race([pruning, note()])) !== 'over');
    expect(count('transcript')).toBe(0);
  });

  const recordsOfTurns = (): Map<string, number> =>
    new Map(
      database
        .prepare('select session || turn as name, count(*) as count from transcript group by name')
        .all()
        .map(({ name, count }) => [String(name), Number(count)]),
    );
  /** How many records each statement removes. No statement leaves a part of a turn. */
  const removedByStatement = async (): Promise<number[]> => {
    const whole = recordsOfTurns();
    const removed: number[] = [];
    const access = accessTo(database);
    const run: Access['run'] = async (work, sync) => {
      const before = count('transcript');
      const result = await access.run(work, sync);
      removed.push(before - count('transcript'));
      for (const [name, records] of recordsOfTurns()) expect(records, name).toBe(whole.get(name));
      return result;
    };
    await new SqlConversationLedger({ ...access, run }).prune(later);
    return removed;
  };
  const addTurns = (records: number, chats: number, turn: string, from: number, perRecord: number, length = 2): void =>
    database.exec(`${numbers(records * chats)} insert into transcript (seq, session, epoch, turn, at, message)
      select (select ifnull(max(seq), 0) from transcript) + i, 'chat-' || (i % ${chats}), 0, '${turn}', ${from} + (i / ${chats}) * ${perRecord}, hex(zeroblob(${length / 2})) from n`);

  it('removes turns of many chats at the same time in statements of at most 250 records, and a longer turn alone', async () => {
    await open();
    addTurns(60, 40, 'first', 0, 1);
    addTurns(60, 40, 'second', 100, 1);
    addTurns(1_200, 1, 'long', 200, 0.1);
    const removed = await removedByStatement();
    expect(count('transcript')).toBe(0);
    expect(removed.filter((records) => records > 250)).toEqual([1_200]);
    // Four turns of 60 records fit.
    expect(removed.filter((records) => records === 240)).toHaveLength(20);
    expect(removed).toHaveLength(21);
  });

  it('keeps turns that are old in part or may be resumed, and judges each of them once', async () => {
    await open();
    addTurns(300, 20, 'resumed', 0, 1);
    addTurns(300, 20, 'half', 1_800, 1);
    addTurns(2, 100, 'young', 2_000, 1);
    addTurns(3, 100, 'old', 1_900, 1);
    addTurns(1, 1, 'old and alone', 0, 0);
    database.exec(
      `insert into inbox (seq, identity, session, incoming, state, received_at, turn) values (1, 'i', '[]', '', 'waiting', 1, 'resumed')`,
    );
    const removed = await removedByStatement();
    expect(count('transcript')).toBe(300 * 20 * 2 + 200);
    expect(count('transcript', "turn like 'old%'")).toBe(0);
    expect(removed.reduce((sum, records) => sum + records)).toBe(301);
    // One turn of 300 records is judged at a time: it has more than fit. Old turns are judged between them.
    expect(removed.filter((records) => records === 0)).toHaveLength(20 + 20);
    expect(removed.length).toBeLessThanOrEqual(20 + 20 + 5);
  });

  it('removes at most 8 MB of messages by one statement, and a larger turn alone', async () => {
    await open();
    addTurns(2, 20, 'images', 0, 1, 1_000_000);
    addTurns(10, 1, 'larger', 100, 1, 1_000_000);
    expect(await removedByStatement()).toEqual([8, 8, 8, 8, 8, 10]);
    expect(count('transcript')).toBe(0);
  });

  it('lets others in while records are looked at of which none is removed', async () => {
    await open();
    addTurns(5_000, 1, 'running', 0, 0.1);
    database.exec(
      `insert into inbox (seq, identity, session, incoming, state, received_at, turn) values (1, 'i', '[]', '', 'running', 1, 'running')`,
    );
    let turns = 0;
    const pruning = store.conversations.prune(later).then(() => 'over' as const);
    while ((await Promise.race([pruning, turnOfLoop()])) !== 'over') turns++;
    expect(turns).toBeGreaterThanOrEqual(5_000 / 500);
    expect(count('transcript')).toBe(5_000);
  });

  it('removes one large file of the page at a time', async () => {
    await open();
    await store.webLog.createChat({ id: 'c', person: 'p', title: '', startedAt: new Date(1), lastActiveAt: new Date(1) });
    const file = { name: 'a', mimeType: 'text/plain', bytes: 4 };
    for (let id = 0; id < 20; id++) await store.webLog.addFile('c', { ...file, id: `${id}` }, Buffer.alloc(4), new Date(1));
    const seen = new Set<number>();
    const pruning = store.webLog.pruneFiles(later).then(() => 'over' as const);
    while ((await Promise.race([pruning, note()])) !== 'over') seen.add(count('web_files'));
    expect(seen.size).toBeGreaterThan(5);
    expect(count('web_files')).toBe(0);
  });

  it('gives the space of removed rows back to the file system, in portions', async () => {
    await open();
    expect(pragma('auto_vacuum')).toBe(2);
    addMessages(4_000, 4_000);
    await store.inbox.prune(later);
    const free = Number(pragma('freelist_count'));
    expect(free).toBeGreaterThan(3_000);
    const pages = Number(pragma('page_count'));
    const seen = new Set<unknown>();
    const shrinking = store.shrink().then(() => 'over' as const);
    while ((await Promise.race([shrinking, note()])) !== 'over') seen.add(pragma('freelist_count'));
    expect(seen.size).toBeGreaterThanOrEqual(5);
    expect(pragma('freelist_count')).toBe(0);
    expect(Number(pragma('page_count'))).toBeLessThanOrEqual(pages - free);
    expect(pragma('integrity_check')).toBe('ok');
  });

  it('leaves the size of a database of an earlier version as it is', async () => {
    makeVersionOne(path);
    await open();
    addMessages(4_000, 4_000);
    await store.inbox.prune(later);
    const free = pragma('freelist_count');
    await store.shrink();
    expect(pragma('freelist_count')).toBe(free);
  });

  it('cuts the log of SQLite to 16 MB when a large transaction has made it larger', async () => {
    await open();
    addMessages(10_000, 4_000);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(32 * 1024 * 1024);
    database.exec('pragma wal_checkpoint(passive)');
    await note();
    expect(existsSync(`${path}-wal`)).toBe(true);
    expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(16_000_000);
  });

  it('finds and removes old rows of every table by an index, without sorting them all', async () => {
    await open();
    const texts: string[] = [];
    const prepare = database.prepare.bind(database);
    const recorded = (text: string) => {
      texts.push(text);
      return prepare(text);
    };
    const access = accessTo(
      new Proxy(database, {
        get(target, name) {
          if (name === 'prepare') return recorded;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    );
    database.exec(`insert into inbox (seq, identity, session, incoming, state, received_at) values (1, 'i', '[]', '', 'done', 1);
      insert into outbox values (1, 'i', '', '', '', null, null, 0, 'sent', 1, 1, 1, 1, null, null, 1, null);
      insert into set_aside values ('s', 'i', '', '', '', 1, 1);
      insert into transcript values (1, 's', 1, 't', 1, '');
      insert into summaries values ('s', 1, 1, 't', 1, '');
      insert into questions values ('i', 'c', '', '', '', '', '', '', '', null, '', '', 1, 1, 'expired', null, null, 1, null);
      insert into web_chats values ('c', 'p', '', 1, 1, 1);
      insert into web_messages values ('c', 'm', 1, 1, 'us', '', 1, null, 1);
      insert into web_files values ('f', 'c', 'm', '', '', 1, '', 1), ('g', 'c', null, '', '', 1, '', 1);
      insert into web_calls values ('c', 'd', 1, '', null, '');`);
    await new SqlInboxLedger(access).prune(later);
    await new SqlOutboxLedger(access).prune(later);
    await new SqlSetAsideLedger(access).prune(later);
    await new SqlConversationLedger(access).prune(later);
    await new SqlApprovalLedger(access).prune(later);
    await new SqlWebLog(access).prune(later);
    await new SqlWebLog(access).pruneFiles(later);
    const tables = [
      'inbox',
      'outbox',
      'set_aside',
      'transcript',
      'summaries',
      'questions',
      'web_chats',
      'web_messages',
      'web_files',
      'web_calls',
    ];
    for (const table of tables) expect(count(table), table).toBe(0);
    expect(texts.filter((text) => text.startsWith('delete')).length).toBeGreaterThanOrEqual(tables.length);
    const plans = texts.flatMap((text) =>
      prepare(`explain query plan ${text}`)
        .all()
        .map(({ detail }) => `${detail}: ${text}`),
    );
    // All calls of tools are looked at, in the order in which they are stored.
    const bad = plans.filter((plan) => /^(SCAN (?!\(subquery)|USE TEMP B-TREE FOR ORDER)/.test(plan) && !plan.startsWith('SCAN web_calls'));
    expect(bad).toEqual([]);
  });
});
