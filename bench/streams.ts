/**
 * Shells over streams against shells over pipes, in one interleaved run on the same engine: `node bench/streams.ts` prints a table of
 * bench/RESULTS.md. The engine is reached by its socket, and by a port of this machine, where nothing is shared with it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { docker } from '../src/backends/docker/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { startRelay } from '../test/relay.ts';
import { median, quantile, row, timed } from './figures.ts';
import { contextOf, directory, image, lived, quiet, specFor } from './ground.ts';

const rounds = 60;
const burstLength = 50;
const gapMs = 150;

const relay = await startRelay('/var/run/docker.sock');
const ways = { pipes: {}, streams: { docker_host: relay.host } };
const open = new Map<string, OpenSandbox>();

async function command(sandbox: OpenSandbox): Promise<void> {
  const handle = await sandbox.exec({ command: 'echo ok' });
  for await (const _ of handle.output);
  const exit = await handle.exit;
  if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`the command failed: ${JSON.stringify(exit)}`);
}

try {
  for (const [name, options] of Object.entries(ways)) {
    const backend = docker.create(contextOf(), docker.options.parse({ docker_image: image, ...options }));
    const sandbox = await backend.open(specFor('docker', name), quiet);
    open.set(name, sandbox);
    const handle = await sandbox.exec({ command: `${lived}; cd /tmp` });
    for await (const _ of handle.output);
    await handle.exit;
  }
  const gaps = new Map([...open.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, sandbox] of open) {
      await sleep(gapMs);
      const elapsed = await timed(() => command(sandbox));
      if (round > 1) gaps.get(name)?.push(elapsed);
    }
  }
  const bursts = new Map([...open.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < 3; round++) {
    for (const [name, sandbox] of open) {
      await sleep(gapMs);
      const total = await timed(async () => {
        for (let call = 0; call < burstLength; call++) await command(sandbox);
      });
      bursts.get(name)?.push(total / burstLength);
    }
  }
  const [bare, bareBurst] = [median(gaps.get('pipes') ?? []), median(bursts.get('pipes') ?? [])];
  console.log(row('one command', `median, ${gapMs} ms apart`, 'p95', '× pipes', `burst of ${burstLength}, each`, 'burst × pipes'));
  console.log(row('---', '---', '---', '---', '---', '---'));
  for (const name of open.keys()) {
    const [one, burst] = [gaps.get(name) ?? [], median(bursts.get(name) ?? [])];
    const figures = [median(one), quantile(one, 0.95)].map((ms) => `${ms.toFixed(2)} ms`);
    console.log(
      row(
        `hermetic docker by ${name}`,
        ...figures,
        (median(one) / bare).toFixed(2),
        `${burst.toFixed(2)} ms`,
        (burst / bareBurst).toFixed(2),
      ),
    );
  }
} finally {
  for (const sandbox of open.values()) await sandbox.destroy();
  await relay.close();
  await removeTree(directory);
}
process.exit();
