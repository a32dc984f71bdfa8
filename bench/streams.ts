/**
 * Shells over streams against shells over pipes, in one interleaved run: `node bench/streams.ts` prints a table of bench/RESULTS.md. The same
 * engine is reached by its socket and by a port, where nothing is shared with it; ssh leads to this machine. With `CONTAINER_HOST` a podman service is
 * measured beside them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { docker } from '../src/backends/docker/index.ts';
import type { BackendDriver } from '../src/backends/driver.ts';
import { podman } from '../src/backends/podman/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { ssh } from '../src/backends/ssh/index.ts';
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { startRelay } from '../test/relay.ts';
import { startSshd } from '../test/sshd.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, lived, quiet, specFor } from './ground.ts';

const rounds = 60;
const burstLength = 50;
const gapMs = 150;

const relay = await startRelay('/var/run/docker.sock');
const sshd = await startSshd();
const ways: [name: string, driver: BackendDriver, settings: object][] = [
  ['docker, by pipes', docker, {}],
  ['docker, by streams over a port', docker, { docker_host: relay.host }],
  ['ssh, by streams', ssh, sshd.options],
  ...(process.env.CONTAINER_HOST ? [['podman, by pipes', podman, {}] satisfies [string, BackendDriver, object]] : []),
];
const open = new Map<string, OpenSandbox>();
const openings = new Map<string, number>();

async function command(sandbox: OpenSandbox): Promise<void> {
  const handle = await sandbox.exec({ command: 'echo ok' });
  for await (const _ of handle.output);
  const exit = await handle.exit;
  if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`the command failed: ${JSON.stringify(exit)}`);
}

try {
  for (const [index, [name, driver, settings]] of ways.entries()) {
    const begun = performance.now();
    const sandbox = await backendOf(driver, settings).open(specFor(driver.kind, `way-${index}`), quiet);
    openings.set(name, performance.now() - begun);
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
  const [first = ''] = open.keys();
  const [pipes, pipesBurst] = [median(gaps.get(first) ?? []), median(bursts.get(first) ?? [])];
  console.log(
    row('one command', 'opened in', `median, ${gapMs} ms apart`, 'p95', '× pipes', `burst of ${burstLength}, each`, 'burst × pipes'),
  );
  console.log(row('---', '---', '---', '---', '---', '---', '---'));
  const ms = (value: number, digits = 2): string => `${value.toFixed(digits)} ms`;
  for (const name of open.keys()) {
    const [one, burst] = [gaps.get(name) ?? [], median(bursts.get(name) ?? [])];
    const warm = [ms(median(one)), ms(quantile(one, 0.95)), (median(one) / pipes).toFixed(2)];
    console.log(row(name, ms(openings.get(name) ?? 0, 0), ...warm, ms(burst), (burst / pipesBurst).toFixed(2)));
  }
} finally {
  for (const sandbox of open.values()) await sandbox.destroy();
  relay.close();
  await sshd.remove();
  await removeTree(directory);
}
process.exit();
