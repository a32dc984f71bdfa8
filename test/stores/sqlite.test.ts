import { chmodSync, existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { connect, pragma } from '../../src/stores/sqlite/connection.ts';
import { storeContract } from '../contracts/store.ts';
import { finish, start } from './processes.ts';
import { beginning, beside, modeOf, scratchPaths } from './scratch.ts';

const newPath = scratchPaths();

describe('the contract', () => {
  storeContract(() => {
    const path = newPath();
    return { open: () => openStore(path) };
  });
});

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

  describe('files', () => {
    it('makes database files and their directory for the owner alone', async () => {
      path = join(dirname(path), 'new', 'home', 'state.db');
      const before = process.umask(0);
      try {
        await (await open()).sandboxes.begin(beginning('a'));
      } finally {
        process.umask(before);
      }
      expect(beside(path)).toEqual(['state.db', 'state.db-shm', 'state.db-wal']);
      for (const name of beside(path)) expect(modeOf(join(dirname(path), name))).toBe(0o600);
      expect(modeOf(dirname(path))).toBe(0o700);
    });

    it('makes database files private again when their mode was widened', async () => {
      await (await open()).close();
      chmodSync(path, 0o644);
      await (await open()).sandboxes.begin(beginning('a'));
      for (const name of beside(path)) expect(modeOf(join(dirname(path), name))).toBe(0o600);
    });

    it('leaves one file when the store is closed', async () => {
      await (await open()).sandboxes.begin(beginning('a'));
      await store?.close();
      expect(beside(path)).toEqual(['state.db']);
    });

    it('accepts any file name', async () => {
      path = join(dirname(path), 'a?mode=memory #%41 é', 'state.db');
      await (await open()).sandboxes.begin(beginning('a'));
      expect(existsSync(path)).toBe(true);
      await store?.close();
      expect(await names(await open())).toEqual(['a']);
    });

    it('refuses writes after the database file was deleted', async () => {
      await (await open()).sandboxes.begin(beginning('a'));
      rmSync(path);
      await expect(store?.sandboxes.begin(beginning('b'))).rejects.toMatchObject({ code: 'store/failed' });
    });
  });

  describe('settings', () => {
    it('tells whether it takes writes by the last one, without a write of its own', async () => {
      store = await openStore(path);
      await store.sandboxes.begin(beginning('a'));
      const other = connect(path, { readOnly: true });
      const version = pragma(other, 'data_version');
      for (let ask = 0; ask < 20; ask++) expect(await store.writeFailure(60_000)).toBeUndefined();
      expect(pragma(other, 'data_version')).toBe(version);
      expect(await store.writeFailure(-1)).toBeUndefined();
      expect(pragma(other, 'data_version')).not.toBe(version);
      other.close();
    });

    it('knows of writes whose statements are prepared, too', async () => {
      store = await openStore(path);
      const other = connect(path, { readOnly: true });
      await store.setAside.trying('telegram', ['1'], 'all');
      const version = pragma(other, 'data_version');
      expect(await store.writeFailure(60_000)).toBeUndefined();
      expect(pragma(other, 'data_version')).toBe(version);
      other.close();
    });

    it('uses a write-ahead log with full synchronisation', async () => {
      await (await open()).close();
      const database = connect(path);
      const settings = ['journal_mode', 'synchronous', 'foreign_keys'].map((name) => pragma(database, name));
      database.close();
      expect(settings).toEqual(['wal', 2, 1]);
    });

    it('loads neither SQLite nor the query layer before a store is opened', async () => {
      const loaded = `process.moduleLoadList.some((name) => /sqlite/.test(name))`;
      const index = JSON.stringify(join(import.meta.dirname, '../../src/index.ts'));
      const make = `const app = (await import(${index})).createApp({ environment: { HERMETIC_HOME: path } });`;
      const body = `${make} say(${loaded}); await app.store(); say(${loaded}); await app.close();`;
      expect(await finish(start(path, body))).toEqual([false, true]);
    });
  });

  describe('many who use it at once', () => {
    it('lets timers and sockets have their turn while thousands of statements follow each other', async () => {
      const { audit, sandboxes } = await open();
      // Each begins another when it is done, as a message does.
      let done = 0;
      const work = async (): Promise<void> => {
        for (let index = 0; index < 20; index++) {
          await (index % 2 === 0 ? sandboxes.list() : audit.list({}, 1));
          done += 1;
        }
      };
      const all = Promise.all(Array.from({ length: 500 }, work));
      const rounds: number[] = [];
      for (let before = 0; done < 10_000; before = done) {
        await nextRound();
        rounds.push(done - before);
      }
      await all;
      expect(Math.max(...rounds)).toBeLessThan(5_000);
    });
  });

  describe('databases locked by another process', () => {
    let holder: DatabaseSync;

    beforeEach(async () => {
      await open();
      holder = new DatabaseSync(path);
      holder.exec('begin immediate');
    });
    afterEach(() => {
      if (holder.isOpen) holder.close();
    });

    it('waits for a database that another process holds', async () => {
      const writing = store?.sandboxes.begin(beginning('a'));
      await sleep(300);
      expect(await store?.sandboxes.list()).toEqual([]);
      holder.exec('rollback');
      await writing;
      expect(await store?.sandboxes.list()).toHaveLength(1);
    });

    it('reports a locked database after five seconds, without blocking the process', async () => {
      let turns = 0;
      const ticking = setInterval(() => {
        turns++;
      }, 10);
      await expect(store?.sandboxes.begin(beginning('a'))).rejects.toMatchObject({ code: 'store/busy' });
      clearInterval(ticking);
      expect(turns).toBeGreaterThan(20);
    });
  });
});
