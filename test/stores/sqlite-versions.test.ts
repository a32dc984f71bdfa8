import { hash } from 'node:crypto';
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { migrations } from '../../src/stores/migrations.ts';
import { rightsTables } from '../../src/stores/rights-tables.ts';
import { finish, start } from './processes.ts';
import { beginning, beside, modeOf, scratchPaths } from './scratch.ts';
import { makeVersion, makeVersionOne, versionOneKey } from './versions.ts';

const newPath = scratchPaths();
const digest = (file: string) => hash('sha256', readFileSync(file));
const digests = (path: string) => Object.fromEntries(beside(path).map((name) => [name, digest(join(dirname(path), name))]));

describe('the SQLite store', () => {
  let path: string;
  let store: Store | undefined;

  beforeEach(() => {
    path = newPath();
  });
  afterEach(() => store?.close());

  const open = async (): Promise<Store> => {
    store = await openStore(path);
    return store;
  };
  const names = async (from: Store) => (await from.sandboxes.list()).map(({ name }) => name);

  describe('migrations', () => {
    it('a migration keeps the data, and a private copy of the old database beside it', async () => {
      makeVersionOne(path);
      await open();
      expect(await store?.sandboxes.find(versionOneKey)).toMatchObject({
        session: ['cli', 'default'],
        image: undefined,
        createdAt: new Date(1000),
        lastUsedAt: new Date(2000),
        state: 'open',
        owner: 'me',
        leaseUntil: undefined,
      });
      expect(await store?.proofs.list()).toEqual([]);
      const [backup = ''] = beside(path).filter((name) => name.endsWith('.bak'));
      expect(backup).toMatch(/^state\.db\.v1-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.bak$/);
      const copy = join(dirname(path), backup);
      expect(modeOf(copy)).toBe(0o600);
      const database = new DatabaseSync(copy, { readOnly: true });
      expect(database.prepare('pragma user_version').get()).toEqual({ user_version: 1 });
      expect(database.prepare('select name, owner from sandboxes').all()).toEqual([{ name: 'old', owner: 'me' }]);
      expect(database.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
      database.close();
    });

    it('a migration keeps yolo for its owner, and gives a running turn no role', async () => {
      const incoming = { kind: 'message', id: '1', place: { platform: 'p', chat: 'c' }, files: [], at: 1, text: 'x', from: { id: 'a' } };
      await makeVersion(
        path,
        migrations.indexOf(rightsTables),
        `insert into session_modes values ('["chat"]', 'telegram:1', 5000);
         insert into inbox values (1, 'i', '["chat"]', '${JSON.stringify(incoming)}', 'running', 1, '"t"');`,
      );
      await open();
      expect(await store?.modes.list()).toEqual([{ parts: ['chat'], by: 'telegram:1', since: new Date(5000) }]);
      expect(await store?.inbox.list('running')).toMatchObject([{ seq: 1, turn: 't', role: undefined }]);
    });

    it('the copy restores the database of before the migration', async () => {
      makeVersionOne(path);
      await (await open()).sandboxes.forget(versionOneKey);
      await store?.close();
      const [backup = ''] = beside(path).filter((name) => name.endsWith('.bak'));
      writeFileSync(path, readFileSync(join(dirname(path), backup)));
      expect(await names(await open())).toEqual(['old']);
    });

    it('a failed migration changes nothing and leaves no copies', async () => {
      makeVersionOne(path, 'create table proofs (mine)');
      await expect(open()).rejects.toMatchObject({ code: 'store/failed', message: expect.stringContaining('from version 1') });
      await expect(open()).rejects.toMatchObject({ code: 'store/failed' });
      expect(beside(path)).toEqual(['state.db']);
      const database = new DatabaseSync(path);
      expect(database.prepare('pragma user_version').get()).toEqual({ user_version: 1 });
      expect(database.prepare('select count(*) as count from sandboxes').get()).toEqual({ count: 1 });
      database.close();
    });
  });

  describe('unusable databases', () => {
    async function refuses(code: string): Promise<void> {
      const before = digests(path);
      await expect(open()).rejects.toMatchObject({ name: 'HermeticError', code, hint: expect.any(String) });
      // SQLite may leave empty files for itself beside a database it cannot read.
      const left = digests(path);
      const own = { 'state.db-shm': left['state.db-shm'], 'state.db-wal': digest('/dev/null') };
      expect({ ...own, ...left }).toEqual({ ...own, ...before });
    }

    /** As a process leaves it that was killed. */
    async function makeUnfinished(): Promise<void> {
      const child = start(
        path,
        'const store = await openStore(path); await store.sandboxes.begin(entry("a")); process.kill(process.pid, "SIGKILL");',
      );
      await finish(child).catch(String);
      expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
      rmSync(`${path}-shm`);
    }

    async function makeFilled(): Promise<void> {
      await open();
      for (let index = 0; index < 60; index++) await store?.sandboxes.begin(beginning(`sandbox-${index}-${'x'.repeat(500)}`));
      await store?.close();
    }

    it('refuses a newer database and leaves it untouched', async () => {
      await (await open()).close();
      const database = new DatabaseSync(path);
      database.exec('pragma user_version = 99; create table future (a)');
      database.close();
      await refuses('store/newer');
    });

    it('refuses a newer database with an unfinished log and leaves both untouched', async () => {
      await makeUnfinished();
      const keeper = new DatabaseSync(path);
      keeper.exec('pragma user_version = 99');
      const kept = [path, `${path}-wal`].map((file) => [file, readFileSync(file)] as const);
      keeper.close();
      for (const [file, bytes] of kept) writeFileSync(file, bytes, { mode: 0o600 });
      await expect(open()).rejects.toMatchObject({ code: 'store/newer' });
      for (const [file, bytes] of kept) expect(readFileSync(file).equals(bytes)).toBe(true);
    });

    it.each<[string, () => void | Promise<void>]>([
      ['is something else', () => writeFileSync(path, 'not a database, but quite a long text. '.repeat(100), { mode: 0o600 })],
      ['is empty', () => writeFileSync(path, '', { mode: 0o600 })],
      [
        'is cut off',
        async () => {
          await makeFilled();
          writeFileSync(path, readFileSync(path).subarray(0, 20_000));
        },
      ],
      [
        'has a damaged page',
        async () => {
          await makeFilled();
          writeFileSync(path, readFileSync(path).fill(0xa5, 3 * 4096, 4 * 4096));
        },
      ],
      [
        'belongs to another program',
        () => {
          const database = new DatabaseSync(path);
          database.exec('create table theirs (a)');
          database.close();
          chmodSync(path, 0o600);
        },
      ],
      [
        'is gone but for its last writes',
        async () => {
          await makeUnfinished();
          rmSync(path);
        },
      ],
    ])('refuses a database and leaves it untouched when it %s', async (_case, damage) => {
      await damage();
      await refuses('store/corrupt');
    });

    it('recovers the last writes after a crash', async () => {
      await makeUnfinished();
      expect(await names(await open())).toEqual(['a']);
    });
  });
});
