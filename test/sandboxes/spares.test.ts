import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { type App, cliSession, createApp } from '../../src/index.ts';
import { livePid } from '../../src/lib/process-name.ts';
import { sweep } from '../../src/sandboxes/sweep.ts';
import { describeBackend, processesWith } from '../engines.ts';
import { until } from '../until.ts';

const client = fileURLToPath(new URL('./spares-client.ts', import.meta.url));
const kills = 12;
const quiet = { notice: () => undefined, progress: () => undefined };

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, ({ context }) => {
    const root = mkdtempSync(join(tmpdir(), `hermetic-spares-${kind}-`));
    const apps: App[] = [];

    /** An installation, and as many programs of it as are wanted. */
    function installation(name: string, environment: Record<string, string> = {}) {
      const home = join(root, name);
      mkdirSync(home, { recursive: true });
      const full = {
        PATH: process.env.PATH ?? '',
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
        HOME: root,
        HERMETIC_HOME: home,
        TERMINAL_ENV: kind,
        TERMINAL_DOCKER_IMAGE: context.docker.image,
        TERMINAL_NETWORK: 'none',
        TERMINAL_CONTAINER_PIDS: '64',
        TERMINAL_WARM_SPARES: '1',
        ...environment,
      };
      const start = (): App => {
        const app = createApp({ environment: full });
        apps.push(app);
        return app;
      };
      return { home, start, environment: full, directories: () => readdirSync(join(home, 'sandboxes', kind)).sort() };
    }
    const entries = async (app: App, session?: readonly string[]) => (await app.store()).sandboxes.list({ session });

    afterAll(async () => {
      for (const app of apps) {
        await app.sandboxes.stop();
        for (const remains of await (app.candidates(kind)[0]?.list() ?? [])) await remains.destroy();
        await app.close();
      }
      await removeTree(root);
    });

    it('gives each new session a spare, which it finds again after a restart', async () => {
      const { start, directories } = installation('claim');
      const first = start();
      await first.sandboxes.prepare();
      const [spare = ''] = directories();
      expect(await entries(first, [])).toMatchObject([{ name: spare, state: 'open' }]);

      expect((await first.sandboxes.run('alice', 'echo alice > /workspace/who; export WHO=alice; ls')).end).toEqual({
        kind: 'exited',
        code: 0,
      });
      expect(first.sandboxes.of('alice').name).toBe(spare);
      await first.sandboxes.prepare();
      expect((await first.sandboxes.run('bob', 'ls /workspace; echo "$WHO"')).stdout).toBe('\n');
      expect(first.sandboxes.of('bob').name).not.toBe(spare);
      expect((await first.sandboxes.list()).map(({ session }) => session)).toEqual([
        ['named', 'alice'],
        ['named', 'bob'],
      ]);
      await first.close();

      const second = start();
      await second.sandboxes.prepare();
      expect((await second.sandboxes.run('alice', 'cat /workspace/who; echo $WHO')).stdout).toBe('alice\nalice\n');
      expect(second.sandboxes.of('alice').name).toBe(spare);
      expect(second.sandboxes.spares).toBe(1);
      const remains = await second.candidates(kind)[0]?.list();
      expect(remains?.find(({ name }) => name === spare)).toMatchObject({ session: 'alice', hasFiles: true });
    });

    it('counts what it has open once, also when it begins again', async () => {
      const app = installation('again', { HERMETIC_GATEWAY_MAX_SANDBOXES: '2' }).start();
      await app.sandboxes.prepare();
      await app.sandboxes.start();
      await app.sandboxes.of('alice').open();
      await app.sandboxes.start();
      await app.sandboxes.of('bob').open();
      expect(['alice', 'bob'].map((name) => app.sandboxes.of(name).isOpen)).toEqual([true, true]);
    });

    it('gives a claimed spare the variables, credentials and notices of its session', async () => {
      const { home, start } = installation('same', {
        TERMINAL_DOCKER_ENV: '{"FIXED":"value"}',
        TERMINAL_CREDENTIAL_FILES: '["token"]',
        TERMINAL_ENV_PASSTHROUGH: '["API_TOKEN"]',
      });
      writeFileSync(join(home, 'token'), 'before');
      const app = start();
      await app.sandboxes.prepare();
      writeFileSync(join(home, 'token'), 'after');
      const told: string[] = [];
      const sandbox = app.sandboxes.of('alice', { notice: (text) => told.push(text), progress: () => undefined });
      await sandbox.open();
      expect(await entries(app, [])).toEqual([]);
      expect((await app.sandboxes.run('alice', 'echo $FIXED; cat /opt/hermetic/credentials/token')).stdout).toBe('value\nafter');
      expect(told.join()).toContain('API_TOKEN');
    });

    it('destroys a spare that no longer matches the settings', async () => {
      const { home, start, directories } = installation('changed');
      const app = start();
      await app.sandboxes.prepare();
      const [stale] = directories();
      mkdirSync(join(home, 'skills'));
      writeFileSync(join(home, 'skills', 'one'), '');
      expect((await app.sandboxes.run('alice', 'ls /opt/hermetic/skills')).stdout).toBe('one\n');
      expect(app.sandboxes.of('alice').name).not.toBe(stale);
      expect(directories()).not.toContain(stale);
    });

    it('gives a session one sandbox when two programs open it at once', async () => {
      const { start } = installation('race');
      const both = [start(), start()];
      await Promise.all(both.map((app) => app.sandboxes.prepare()));
      await Promise.all(both.map((app, index) => app.sandboxes.run('alice', `touch /workspace/${index}`)));
      const [app] = both as [App];
      expect(await entries(app, ['named', 'alice'])).toHaveLength(1);
      expect((await app.sandboxes.run('alice', 'ls /workspace')).stdout).toBe('0\n1\n');
    });

    it('uses the spare that another program gave the session in the meantime', async () => {
      const { start, directories } = installation('late');
      const [giving, late] = [start(), start()];
      await giving.sandboxes.prepare();
      await giving.sandboxes.run('alice', 'touch /workspace/file');
      // As if this one had looked a moment earlier.
      const { sandboxes: ledger } = await late.store();
      const list = ledger.list.bind(ledger);
      let looks = 0;
      ledger.list = (filter) => (filter?.session?.[1] === 'alice' && looks++ === 0 ? Promise.resolve([]) : list(filter));
      expect((await late.sandboxes.run('alice', 'ls /workspace')).stdout).toBe('file\n');
      expect(late.sandboxes.of('alice').name).toBe(giving.sandboxes.of('alice').name);
      expect(looks).toBeGreaterThan(1);
      await Promise.all([giving, late].map((app) => app.sandboxes.stop()));
      expect(directories()).toHaveLength(1);
    });

    it('never gives away a spare that has ended, and reports one that cannot be made', async () => {
      const { start, directories } = installation('ended');
      const app = start();
      expect(await app.sandboxes.prepare()).toBeUndefined();
      const [dead = ''] = directories();
      await app
        .candidates(kind)[0]
        ?.list()
        .then(([remains]) => remains?.destroy());
      await until('it is noticed', () => app.sandboxes.spares === 0);
      expect((await app.sandboxes.run('alice', 'echo runs')).stdout).toBe('runs\n');
      expect(app.sandboxes.of('alice').name).not.toBe(dead);

      const hopeless = installation('hopeless', { TERMINAL_ENV: 'docker', TERMINAL_DOCKER_HOST: `unix://${root}/none.sock` }).start();
      expect(await hopeless.sandboxes.prepare()).toMatchObject({ code: expect.stringMatching(/^backend\//) });
    });

    it('opens a session although a spare cannot be destroyed, and frees its place', async () => {
      const { start } = installation('stuck', { HERMETIC_GATEWAY_MAX_SANDBOXES: '1' });
      const earlier = start();
      await earlier.sandboxes.run('alice', 'echo alice > /workspace/who');
      await earlier.sandboxes.of('alice').close();
      await earlier.close();
      const app = start();
      await app.sandboxes.prepare();
      expect(app.sandboxes.spares).toBe(1);
      const { sandboxes: ledger } = await app.store();
      const { forget } = ledger;
      let failures = 0;
      ledger.forget = () => {
        failures += 1;
        return Promise.reject(new Error('the disk is full'));
      };
      expect((await app.sandboxes.run('alice', 'cat /workspace/who')).stdout).toBe('alice\n');
      expect(failures).toBe(1);
      ledger.forget = forget;
      expect((await app.sandboxes.run('bob', 'echo bob')).stdout).toBe('bob\n');
      await app.sandboxes.stop();
    });

    it('removes every spare when it stops, even one that is being made', async () => {
      const { start, directories } = installation('stop');
      const app = start();
      await app.sandboxes.run('alice', 'true');
      const own = app.sandboxes.of('alice').name;
      await app.sandboxes.stop();
      expect(directories()).toEqual([own]);
      expect(await entries(app, [])).toEqual([]);
      await expect(app.sandboxes.of('alice').exec({ command: 'true' })).rejects.toMatchObject({ code: 'sandbox/lost' });
    });

    it.each(['begin', 'opened', 'claim'].flatMap((step) => ['before', 'after'].map((moment) => [step, moment] as const)))(
      'leaves a sandbox of a session or nothing when a program dies at the step %s, %s it was recorded',
      async (step, moment) => {
        // One installation for all steps, so that its sandboxes are proven once. Each step leaves it empty.
        const { start, environment, directories } = installation('steps');
        const app = start();
        await app.openSandbox({ ...cliSession('proven') }, quiet).then(({ sandbox }) => sandbox.destroy());
        const child = spawn(process.execPath, [client, 'victim', step, moment], {
          env: environment,
          stdio: ['ignore', 'inherit', 'inherit'],
        });
        expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
        const { sandboxes: ledger } = await app.store();
        await sweep({ backends: app.candidates(kind), ledger });
        const left = await ledger.list();
        expect(directories()).toEqual(left.map(({ name }) => name));
        const isGiven = step === 'claim' && moment === 'after';
        expect(left.map(({ session }) => session)).toEqual(isGiven ? [['named', 'victim-0']] : []);
        expect((await app.sandboxes.run('victim-0', 'echo runs')).stdout).toBe('runs\n');
        if (isGiven) expect(app.sandboxes.of('victim-0').name).toBe(left[0]?.name);
        const remains = (await app.candidates(kind)[0]?.list()) ?? [];
        expect(remains.filter(({ session }) => session === 'victim-0')).toHaveLength(1);
        await app.sandboxes.of('victim-0').destroy();
        await app.sandboxes.stop();
      },
    );

    it('leaves no spare of a program killed at any moment, and sessions keep their sandboxes', { timeout: 240_000 }, async () => {
      const { home, start, environment, directories } = installation('killed', {
        HERMETIC_GATEWAY_SANDBOX_LIFETIME: '3',
        // What the victims left running may not keep their sandboxes.
        HERMETIC_GATEWAY_BACKGROUND_LIFETIME: '3',
      });
      const app = start();
      // Proves the spec once, so that the victims come further.
      await app.sandboxes.run('precious', 'echo precious > /workspace/file');
      const told: string[] = [];
      for (let kill = 0; kill < kills; kill++) {
        const child = spawn(process.execPath, [client, `victim-${kill}`], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
        child.stdout.on('data', (data: Buffer) => told.push(...data.toString().split('\n').filter(Boolean)));
        if (kill % 3 !== 0) await once(child.stdout, 'data');
        await sleep(randomInt(kill % 3 === 0 ? 900 : 400));
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      const { sandboxes: ledger } = await app.store();
      const sweepAll = () => sweep({ backends: app.candidates(kind), ledger });
      await sweepAll();
      const left = (await ledger.list()).filter(({ owner }) => livePid(owner ?? '') !== process.pid);
      expect(left.filter(({ session }) => session.length === 0)).toEqual([]);
      await app.sandboxes.stop();
      const names = (await ledger.list()).map(({ name }) => name).sort();
      const namesOfBackend = async () => (await app.candidates(kind)[0]?.list())?.map(({ name }) => name).sort();
      // An engine goes on making what it was asked for by a client that has died meanwhile.
      await until('what is there belongs to sessions', async () => {
        await sweepAll();
        return isDeepStrictEqual([directories(), await namesOfBackend()], [names, names]);
      });
      // Of the first round of every victim the sandbox stayed with its session.
      for (const session of told.filter((name) => name.endsWith('-0'))) {
        const [entry] = await ledger.list({ session: ['named', session] });
        expect(readFileSync(join(entry?.directory ?? expect.fail(session), 'workspace', 'log'), 'utf8')).toBe('mine\n');
      }
      const isOver = async () => (await app.candidates(kind)[0]?.list())?.every(({ state }) => state === 'stopped');
      await until('every sandbox of the victims has ended', isOver, { withinMs: 60_000 });
      await until('no process is left', () => processesWith(home).length === 0, { withinMs: 60_000 });
      const later = start();
      expect((await later.sandboxes.run('precious', 'cat /workspace/file')).stdout).toBe('precious\n');
    });
  });
}
