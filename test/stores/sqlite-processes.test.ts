import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { describeNeeding } from '../needs.ts';
import { until } from '../until.ts';
import { finish, start } from './processes.ts';
import { at, beginning, beside, scratchPaths } from './scratch.ts';
import { makeVersionOne } from './versions.ts';

const newPath = scratchPaths();

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

  describe('a killed process', () => {
    it('a killed process keeps every record whose promise had resolved', async () => {
      const child = start(
        path,
        'const store = await openStore(path); for (let i = 0; ; i++) { await store.sandboxes.begin(entry("s" + i)); say(i); }',
      );
      let said = '';
      child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
        if (said.split('\n').length > 25) child.kill('SIGKILL');
      });
      await until('it is dead', () => child.signalCode === 'SIGKILL' && child.stdout?.closed);
      const promised = said
        .split('\n')
        .slice(0, -1)
        .map((line) => `s${line}`);
      expect(promised.length).toBeGreaterThan(20);
      expect(await names(await open())).toEqual(expect.arrayContaining(promised));
    });

    it('a process killed while it makes or migrates the database leaves one that opens', async () => {
      for (let round = 0; round < 6; round++) {
        const migrating = round % 2 === 1;
        path = newPath();
        if (migrating) makeVersionOne(path);
        const child = start(path, 'await import("kysely"); say("go"); await openStore(path); say("open"); setInterval(() => {}, 1000);');
        const ended = finish(child).catch(String);
        await new Promise((resolve) => child.stdout?.once('data', resolve));
        await sleep(round * 6 + Math.random() * 6);
        child.kill('SIGKILL');
        await ended;
        expect(await names(await open()), `round ${round}`).toEqual(migrating ? ['old'] : []);
        await store?.close();
      }
    });
  });

  describe('several processes', () => {
    it('four processes make one database and lose none of 800 writes', async () => {
      const body = (writer: number) => `
        const store = await openStore(path);
        for (let i = 0; i < 50; i++) {
          const key = { backend: 'docker', name: '${writer}-' + i };
          await store.sandboxes.begin(entry(key.name));
          const lease = { owner: 'writer-${writer}', leaseMs: 60_000 };
          await store.sandboxes.opened(key, { specHash: 'second', ...lease });
          await store.sandboxes.renew(key, lease, later);
          await store.proofs.record({ backend: 'docker', specHash: key.name, provenAt: at, held: true, lines: [i] });
        }
        await store.close();`;
      await Promise.all([0, 1, 2, 3].map((writer) => finish(start(path, body(writer)))));
      const entries = await (await open()).sandboxes.list({ state: 'open' });
      expect(entries).toHaveLength(200);
      expect(entries.filter(({ owner, name, lastUsedAt }) => owner === `writer-${name[0]}` && lastUsedAt > at)).toHaveLength(200);
      expect(await store?.proofs.list()).toHaveLength(200);
      expect(beside(path).filter((name) => name.includes('partial'))).toEqual([]);
    });

    it('several processes migrate an old database once, with one backup', async () => {
      makeVersionOne(path);
      const body = 'const store = await openStore(path); say((await store.sandboxes.list()).length); await store.close();';
      const said = await Promise.all([0, 1, 2].map(() => finish(start(path, body))));
      expect(said).toEqual([[1], [1], [1]]);
      expect(beside(path).filter((name) => name !== 'state.db')).toEqual([expect.stringMatching(/\.bak$/)]);
    });
  });

  describeNeeding(['mount'], 'file systems', () => {
    it('a full file system fails the write, keeps earlier data, and serves again when there is space', async () => {
      const body = `
        const { rmSync, writeFileSync, readdirSync } = await import('node:fs');
        const { dirname, join } = await import('node:path');
        const filler = join(dirname(path), 'filler');
        const fill = () => { for (let kb = 512; kb >= 1; kb = Math.floor(kb / 2)) try { for (;;) writeFileSync(filler, Buffer.alloc(kb * 1024), { flag: 'a' }); } catch {} };
        const failure = async (work) => { try { await work(); } catch (error) { return { code: error.code, message: error.message.replace(path, 'DB') }; } };
        fill();
        say(await failure(() => openStore(path)));
        say(readdirSync(dirname(path)));
        rmSync(filler);
        const store = await openStore(path);
        await store.sandboxes.begin(entry('before'));
        fill();
        let written = 0;
        say(await failure(async () => { for (;; written++) await store.proofs.record({ backend: 'b', specHash: String(written), provenAt: at, held: true, lines: 'x'.repeat(2000) }); }));
        say([(await store.sandboxes.list()).length, (await store.proofs.list()).length === written]);
        say([(await store.writeFailure(60_000))?.code, (await store.writeFailure(0))?.code]);
        rmSync(filler);
        await store.sandboxes.begin(entry('after'));
        say((await store.writeFailure(60_000)) === undefined);
        await store.close();
        const again = await openStore(path);
        say([(await again.sandboxes.list()).map(({ name }) => name), (await again.proofs.list()).length === written]);
        await again.close();`;
      const failure = { code: 'store/failed', message: 'DB cannot be written: no space is left.' };
      const mounts = 'mount -t tmpfs -o size=1m,mode=700 none "$(dirname "$1")"';
      expect(await finish(start(path, body, { mounts }))).toEqual([
        failure,
        ['filler'],
        failure,
        [1, true],
        ['store/failed', 'store/failed'],
        true,
        [['after', 'before'], true],
      ]);
    });

    it('refuses to open the store on a read-only file system', async () => {
      await (await open()).sandboxes.begin(beginning('a'));
      const body = `
        for (const file of [path, path + '2']) await openStore(file).then(() => say('opened'), ({ code, hint }) => say([code, hint]));`;
      const mounts = 'd=$(dirname "$1"); mount --bind "$d" "$d"; mount -o remount,bind,ro "$d"';
      const refusal = ['store/failed', 'Make the file and its directory writable for this user.'];
      expect(await finish(start(path, body, { mounts }))).toEqual([refusal, refusal]);
    });
  });
});
