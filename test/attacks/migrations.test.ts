import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { itNeeding } from '../needs.ts';
import { finish, start } from '../stores/processes.ts';
import { beside, modeOf, scratchPaths } from '../stores/scratch.ts';
import { makeVersionOne } from '../stores/versions.ts';

const newPath = scratchPaths();
let path: string;
beforeEach(() => {
  path = newPath();
});

/** Without the few bytes of the header in which SQLite counts changes and says that there is a log. */
const digest = (file: string): string => hash('sha256', readFileSync(file).fill(0, 18, 20).fill(0, 24, 28).fill(0, 92, 100));

async function makeCurrent(sql = ''): Promise<void> {
  await (await openStore(path)).close();
  change(sql);
}

function change(sql: string): void {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec(sql);
  database.close();
}

/** Whether it opens, with what it says. What is refused stays as it was, byte by byte. */
async function refused(): Promise<string> {
  const before = digest(path);
  const said = await openStore(path).then(
    async (store) => {
      await store.close();
      return 'opened';
    },
    (error: { code?: string; message: string; hint?: string }) => {
      expect(error).toMatchObject({ name: 'HermeticError', hint: expect.any(String) });
      return `${error.code}: ${error.message}`;
    },
  );
  expect(digest(path)).toBe(before);
  expect(beside(path).filter((name) => /\.(bak|partial)/.test(name))).toEqual([]);
  return said.replaceAll(path, 'DB');
}

describe('a changed database of this version', () => {
  it.each([
    [
      'answers questions by itself',
      "create trigger t after insert on questions begin update questions set state = 'allowed'; end",
      /trigger "t"/,
    ],
    ['grants rights by itself', 'create trigger "drop" before insert on audit begin delete from grants; end', /trigger "drop"/],
    ['forgets its audit log', 'create trigger audit_gone after insert on audit begin delete from audit; end', /trigger "audit_gone"/],
    ['has a view', 'create view people as select * from paired', /view "people"/],
    [
      'has a view in the place of a table',
      'alter table grants rename to real_grants; create view grants as select * from real_grants',
      /view "grants"/,
    ],
    ['has a virtual table', 'create virtual table words using fts5(text)', /table "words"/],
    ['has a table less', 'drop table grants', /lacks grants\./],
    ['has all tables but none of their columns', 'drop table audit; create table audit (a)', /lacks audit\.actor/],
    ['has a column less', 'alter table questions drop column expires_at', /lacks questions\.expires_at/],
    ['has a column under another name', 'alter table paired rename column role to rank', /lacks paired\.role/],
    [
      'computes a column',
      "drop table session_yolo; create table session_yolo (session text, since integer, person text generated always as ('ada'))",
      /lacks session_yolo\.person/,
    ],
    ['has no version', 'pragma user_version = 0', /has no version/],
    ['has a version below none', 'pragma user_version = -5', /has no version/],
    ['has a version far away', 'pragma user_version = 2147483647', /newer Hermetic/],
    ['belongs to another program', 'pragma application_id = 1', /not one of Hermetic/],
    ['says that it is of version one, which it is not', 'pragma user_version = 1', /could not be migrated from version 1/],
    ['says that it is one version older than it is', 'pragma user_version = 8', /could not be migrated from version 8/],
  ])('refuses a database that %s', async (_what, sql, why) => {
    await makeCurrent(sql);
    expect(await refused()).toMatch(why);
  });
});

describe('unreadable values in a database', () => {
  const time = 1000;
  it.each<[string, string, (store: Store) => Promise<unknown>]>([
    [
      'the session of a sandbox',
      `insert into sandboxes values ('docker', 'bad', '{not json', null, 'hash', '/bad', 1, ${time}, ${time}, 'open', null, null)`,
      (store) => store.sandboxes.list(),
    ],
    ['the lines of a proof', `insert into proofs values ('docker', 'hash', ${time}, 1, '{not json')`, (store) => store.proofs.list()],
    [
      'the name of a person',
      `insert into paired (platform, person, role, name, paired_at, paired_by) values ('"p"', '"x"', 'user', '{not json', ${time}, '"cli"')`,
      (store) => store.pairing.paired(),
    ],
    [
      'what is known of a process',
      `insert into background_processes (session, process, about, started_at) values ('[]', '"x"', '{not json', ${time})`,
      (store) => store.background.list(),
    ],
  ])('reports an unreadable value: %s', async (_what, sql, read) => {
    await makeCurrent(sql);
    const store = await openStore(path);
    try {
      await expect(read(store)).rejects.toMatchObject({
        ...{ name: 'HermeticError', code: 'store/corrupt', hint: expect.stringContaining('backup') },
        message: expect.stringMatching(/^The state database holds a value that cannot be read/),
      });
    } finally {
      await store.close();
    }
    change(`delete from ${/into (\w+)/.exec(sql)?.[1]}`);
    const again = await openStore(path);
    expect(await read(again)).toEqual([]);
    await again.close();
  });
});

describe('a changed database of an old version', () => {
  it.each([
    ['answers by itself', 'create trigger t after insert on sandboxes begin delete from sandboxes; end', /trigger "t"/],
    ['has a view where a table will be', 'create view grants as select 1', /view "grants"/],
    ['has a table where another will be', 'create table inbox (mine)', /could not be migrated from version 1/],
    ['lacks a column', 'alter table sandboxes drop column owner', /would lack sandboxes\.owner/],
    ['refers to nothing', 'create table a (b references sandboxes(name)); insert into a values (1)', /could not be migrated|foreign key/],
  ])('refuses an old database that %s', async (_what, sql, why) => {
    makeVersionOne(path);
    change(sql);
    expect(await refused()).toMatch(why);
  });
});

describe('files at the path of the database', () => {
  it.each<[string, () => void, RegExp]>([
    ['a directory', () => mkdirSync(path, { mode: 0o755 }), /state\.db is not a file/],
    ['a pipe', () => void execFileSync('mkfifo', [path]), /state\.db is not a file/],
    ['a link to a directory', () => symlinkSync(dirname(path), path), /state\.db is a link/],
    ['a link to a file of somebody else', () => symlinkSync(import.meta.filename, path), /state\.db is a link/],
    ['a link to nothing', () => symlinkSync(`${path}.nothing`, path), /state\.db is a link/],
  ])('refuses %s as the database, and does not change it', async (_what, make, why) => {
    make();
    const before = lstatSync(path).mode;
    await expect(openStore(path)).rejects.toMatchObject({ code: 'store/failed', message: expect.stringMatching(why) });
    expect([lstatSync(path).mode, beside(path)]).toEqual([before, ['state.db']]);
  });

  it.each<[string, (file: string) => void]>([
    ['a pipe', (file) => void execFileSync('mkfifo', [file])],
    ['a directory', (file) => mkdirSync(file)],
    ['a link to a file of somebody else', (file) => symlinkSync(join(dirname(file), 'theirs'), file)],
  ])('refuses a database whose log is %s', async (_what, make) => {
    await makeCurrent();
    const theirs = join(dirname(path), 'theirs');
    writeFileSync(theirs, 'not yours');
    for (const suffix of ['-wal', '-shm']) {
      make(path + suffix);
      await expect(openStore(path)).rejects.toMatchObject({
        code: 'store/failed',
        message: expect.stringMatching(`${suffix} is (not a file|a link)`),
      });
      rmSync(path + suffix, { recursive: true });
    }
    expect(readFileSync(theirs, 'utf8')).toBe('not yours');
  });

  it('refuses a link to a database elsewhere', async () => {
    await makeCurrent();
    renameSync(path, `${path}.elsewhere`);
    symlinkSync(`${path}.elsewhere`, path);
    await expect(openStore(path)).rejects.toMatchObject({ code: 'store/failed', message: expect.stringContaining('is a link') });
  });

  it('ignores a log of garbage', async () => {
    await makeCurrent();
    writeFileSync(`${path}-wal`, Buffer.alloc(100_000, 0x37), { mode: 0o600 });
    const store = await openStore(path);
    expect(await store.sandboxes.list()).toEqual([]);
    await store.close();
  });
});

describe('a migration', () => {
  itNeeding(['mount'], 'changes nothing when the disk has no room for a migration, and migrates once there is room', async () => {
    makeVersionOne(path);
    const old = `${path}.old`;
    renameSync(path, old);
    const body = `
      const { rmSync, writeFileSync, readdirSync, readFileSync, copyFileSync } = await import('node:fs');
      const { dirname, join } = await import('node:path');
      copyFileSync(${JSON.stringify(`${dirname(old)}-kept`)}, path);
      const before = readFileSync(path);
      const filler = join(dirname(path), 'filler');
      const attempt = () => openStore(path).then(async (store) => { await store.close(); return 'opened'; }, ({ code, message }) => [code, message.replace(path, 'DB')]);
      for (let kb = 64; kb >= 1; kb = Math.floor(kb / 2)) try { for (;;) writeFileSync(filler, Buffer.alloc(kb * 1024), { flag: 'a' }); } catch (error) { if (error.code !== 'ENOSPC') throw error; }
      say(await attempt());
      say([readFileSync(path).equals(before), readdirSync(dirname(path)).filter((name) => !/^state\\.db(-wal|-shm)?$/.test(name))]);
      rmSync(filler);
      say(await attempt());
      say(readdirSync(dirname(path)).filter((name) => name.endsWith('.bak')).length);`;
    writeFileSync(`${dirname(old)}-kept`, readFileSync(old));
    rmSync(old);
    const mounts = 'mount -t tmpfs -o size=512k,mode=700 none "$(dirname "$1")"';
    expect(await finish(start(path, body, { mounts }))).toEqual([
      ['store/failed', 'DB cannot be written: no space is left.'],
      [true, ['filler']],
      'opened',
      1,
    ]);
    expect(existsSync(path)).toBe(false);
  });

  it('writes its backup for the owner alone, even of a readable database', async () => {
    makeVersionOne(path);
    chmodSync(path, 0o666);
    await (await openStore(path)).close();
    expect(beside(path).map((name) => [/\.bak$/.test(name), modeOf(join(dirname(path), name))])).toEqual([
      [false, 0o600],
      [true, 0o600],
    ]);
  });
});
