import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { sweep } from '../../src/sandboxes/sweep.ts';
import { describeBackend, processesWith } from '../engines.ts';
import { until } from '../until.ts';

const client = fileURLToPath(new URL('./sigkill-client.ts', import.meta.url));
const kills = 20;
const quiet = { notice: () => undefined, progress: () => undefined };

/** A command and its network end together, also when both were only just begun. */
const variants = [
  { kind: 'bubblewrap', network: 'open' },
  { kind: 'bubblewrap', network: 'restricted' },
  { kind: 'docker', network: 'open' },
  { kind: 'docker', network: 'restricted' },
];

for (const { kind, network } of variants) {
  await describeBackend(kind, ({ context }) => {
    const home = mkdtempSync(join(tmpdir(), `hermetic-sigkill-${kind}-`));
    const environment = {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
      HOME: home,
      HERMETIC_HOME: join(home, '.hermetic'),
      TERMINAL_DOCKER_IMAGE: context.docker.image,
      TERMINAL_NETWORK: network,
      TERMINAL_LIFETIME_SECONDS: '3',
      TERMINAL_CONTAINER_PIDS: '64',
    };
    const app = createApp({ environment });
    const other = createApp({ environment: { ...environment, HERMETIC_HOME: join(home, 'other') } });
    const start = (session: string): ChildProcess =>
      spawn(process.execPath, [client, kind, session], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    const sweepAll = async () => sweep({ backends: app.candidates(kind), ledger: (await app.store()).sandboxes });
    const backend = () => app.candidates(kind)[0] ?? expect.fail(kind);

    afterAll(async () => {
      for (const one of [app, other]) {
        for (const remains of await (one.candidates(kind)[0]?.list() ?? [])) await remains.destroy();
        await one.close();
      }
      await removeTree(home);
    });

    it(`adopts or removes every sandbox with the network ${network} of a program killed at any moment, and loses no file`, {
      timeout: 240_000,
    }, async () => {
      const bystander = await other.openSandbox({ ...cliSession('bystander'), backend: kind }, quiet);
      await bystander.sandbox.writeFile('/workspace/mine', 'untouched');
      const precious = await app.openSandbox({ ...cliSession('precious'), backend: kind }, quiet);
      await precious.sandbox.writeFile('/workspace/mine', 'precious');
      await precious.sandbox.close();

      for (let kill = 0; kill < kills; kill++) {
        const child = start(`victim-${kill % 3}`);
        // Any point of opening, running, closing and destroying; sometimes after a whole round.
        if (kill % 4 === 3) await once(child.stdout ?? expect.fail(), 'data');
        await sleep(randomInt(20, 900));
        child.kill('SIGKILL');
        await once(child, 'exit');
      }

      await sweepAll();
      const entries = await (await app.store()).sandboxes.list({ backend: kind });
      const remains = await backend().list();
      expect(remains.filter(({ hasFiles }) => !hasFiles)).toEqual([]);
      expect(remains.map(({ name }) => name).sort()).toEqual(entries.map(({ name }) => name).sort());
      const directory = join(home, '.hermetic', 'sandboxes', kind);
      expect(readdirSync(directory).sort()).toEqual(entries.map(({ name }) => name).sort());

      // What outlives the program ends by itself when its lease is over.
      await until(
        'every sandbox of the victims has ended',
        async () => (await backend().list()).every(({ state }) => state === 'stopped'),
        {
          withinMs: 60_000,
        },
      );
      await until('no process is left', () => processesWith(join(home, '.hermetic')).length === 0, { withinMs: 60_000 });

      expect(await bystander.sandbox.readFile('/workspace/mine')).toEqual(Buffer.from('untouched'));
      await bystander.sandbox.close();
      const again = await app.openSandbox({ ...cliSession('precious'), backend: kind }, quiet);
      expect(await again.sandbox.readFile('/workspace/mine')).toEqual(Buffer.from('precious'));
      await again.sandbox.close();

      // Lines are only ever added: none was lost, cut or written twice.
      for (const { directory: place } of await backend().list()) {
        const log = join(place, 'workspace', 'log');
        if (!existsSync(log)) continue;
        for (const line of readFileSync(log, 'utf8').split('\n').slice(0, -1)) expect(line).toMatch(/^\d+$/);
      }
    });
  });
}
