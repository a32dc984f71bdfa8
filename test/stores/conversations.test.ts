import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { conversationTables } from '../../src/stores/conversation-tables.ts';
import { openStore } from '../../src/stores/index.ts';
import { migrations } from '../../src/stores/migrations.ts';
import { reachTables } from '../../src/stores/reach-tables.ts';
import { backgroundContract } from '../contracts/store-background.ts';
import { conversationContract } from '../contracts/store-conversations.ts';
import { inboxContract } from '../contracts/store-inbox.ts';
import { outboxContract } from '../contracts/store-outbox.ts';
import { pairingContract } from '../contracts/store-pairing.ts';
import { peopleContract } from '../contracts/store-people.ts';
import { at, chat, message } from '../contracts/store-rig.ts';
import { signInContract } from '../contracts/store-sign-ins.ts';
import { beside, scratchPaths } from './scratch.ts';
import { makeVersion } from './versions.ts';

const newPath = scratchPaths();

describe('in SQLite', () => {
  const newPlace = () => {
    const path = newPath();
    return { open: () => openStore(path) };
  };
  inboxContract(newPlace);
  outboxContract(newPlace);
  conversationContract(newPlace);
  pairingContract(newPlace);
  peopleContract(newPlace);
  signInContract(newPlace);
  backgroundContract(newPlace);
});

describe('SQLite databases with conversations', () => {
  it('adds conversations to a database of an earlier version, and keeps a backup beside it', async () => {
    const path = newPath();
    await makeVersion(
      path,
      migrations.indexOf(conversationTables),
      `insert into sandboxes values ('docker', 'old', '["cli"]', null, 'hash', '/old', 1, 1000, 2000, 'closed', null, null)`,
    );
    const store = await openStore(path);
    expect(await store.inbox.accept(['s'], message(), at(0))).toBe(1);
    expect(await store.outbox.add(chat, [{ key: 'k', message: { text: 'x' } }], at(0))).toBe(true);
    expect((await store.sandboxes.list()).map(({ name }) => name)).toEqual(['old']);
    await store.close();
    expect(beside(path)).toEqual(['state.db', expect.stringMatching(/^state\.db\.v4-.*\.bak$/)]);
  });

  it('a database of an earlier version learns from the next message where people are', async () => {
    const path = newPath();
    const row = `insert into inbox values (0, 'old', '["s"]', '${JSON.stringify(message())}', 'waiting', 0, null)`;
    await makeVersion(path, migrations.indexOf(reachTables), row);
    const store = await openStore(path);
    await store.inbox.accept(['s'], message({ id: 'next' }), at(1));
    expect(await store.people.placesOf(chat.platform, message().from.id)).toHaveLength(1);
    expect(await store.inbox.list('waiting')).toHaveLength(2);
    await store.close();
  });

  it('leaves out unreadable inbox entries, and lists them', async () => {
    const path = newPath();
    const store = await openStore(path);
    for (const id of ['1', '2', '3', '4']) await store.inbox.accept(['s'], message({ id }), at(0));
    const database = new DatabaseSync(path);
    database.exec(`update inbox set incoming = '{"broken' where seq = 1`);
    database.exec(`update inbox set incoming = '{"kind":"message"}', state = 'running' where seq = 2`);
    database.exec(`update inbox set session = '5' where seq = 3`);
    database.close();
    expect((await store.inbox.list('waiting')).map(({ incoming }) => incoming.id)).toEqual(['4']);
    expect(await store.inbox.list('running')).toEqual([]);
    expect(await store.inbox.unreadable()).toMatchObject([{ seq: 1, content: '{"broken' }, { seq: 2 }, { seq: 3 }]);
    await store.close();
  });

  it('refuses a database of the next version and leaves its conversations untouched', async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.inbox.accept(['s'], message(), at(0));
    await store.close();
    const database = new DatabaseSync(path);
    const { user_version: version } = database.prepare('pragma user_version').get() as { user_version: number };
    database.exec(`pragma user_version = ${version + 1}`);
    await expect(openStore(path)).rejects.toMatchObject({ code: 'store/newer' });
    expect(database.prepare('select count(*) as count from inbox').get()).toEqual({ count: 1 });
    database.close();
  });

  it('keeps a thousand open pairing requests of a platform, and gives no more codes until one expires', async () => {
    const path = newPath();
    const store = await openStore(path);
    const ask = (platform: string, person: string, second: number) =>
      store.pairing.request({ platform, person, name: '', requestedAt: at(second), expiresAt: at(second + 3600) }, 'ABCDEFGH');
    await ask('slack', 'bystander', 0);
    const database = new DatabaseSync(path);
    const insert = database.prepare("insert into pairing_requests values ('\"telegram\"', ?, '\"\"', '00', '00', ?, ?)");
    database.exec('begin');
    for (let index = 0; index < 1000; index++) insert.run(`"p${index}"`, at(index).getTime(), at(index + 3600).getTime());
    database.exec('commit');
    database.close();
    const open = async (second: number) => (await store.pairing.open(at(second))).map(({ person }) => person);
    expect(await ask('telegram', 'newcomer', 1000)).toBeUndefined();
    expect(await open(1001)).toHaveLength(1001);
    expect(await open(1001)).toEqual(expect.arrayContaining(['bystander', 'p0', 'p999']));
    expect(await ask('telegram', 'p0', 1002)).toBeDefined();
    expect(await ask('slack', 'newcomer', 1003)).toBeDefined();
    expect(await ask('telegram', 'newcomer', 3601)).toBeDefined();
    expect(await open(3601)).toEqual(expect.arrayContaining(['newcomer', 'p0', 'p2', 'p999']));
    await store.close();
  });

  it('stores no pairing code, and no hash that is fast to compute', async () => {
    const path = newPath();
    const store = await openStore(path);
    const [code, salts] = ['ABCDEFGH', new Set<unknown>()];
    for (const person of ['ada', 'bob']) {
      await store.pairing.request({ platform: 'p', person, name: '', requestedAt: at(0), expiresAt: at(60) }, code);
    }
    await store.close();
    const database = new DatabaseSync(path, { readOnly: true });
    const rows = database.prepare('select salt, hash from pairing_requests').all();
    database.close();
    for (const { salt, hash } of rows) {
      salts.add(salt).add(hash);
      expect(hash).toMatch(/^[0-9a-f]{64}$/);
    }
    expect(salts.size).toBe(4);
    expect(JSON.stringify(rows)).not.toContain(code);
  });
});
