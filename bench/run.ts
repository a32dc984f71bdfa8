/**
 * Ratios against what people use today, measured in one interleaved run: `npm run bench` prints the tables of bench/RESULTS.md.
 *
 *   HERMETIC_BENCH_IMAGE  an image with bash and coreutils that the engine has (default: terminal.docker_image)
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { findDocker } from '../src/backends/docker/discover.ts';
import { backendDrivers } from '../src/backends/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, image, lived, program, quiet, specFor } from './ground.ts';
import { firstOpenings } from './spares.ts';

const rounds = 40;
const burstLength = 50;
const gapMs = 200;

const backends = new Map(backendDrivers.map((driver) => [driver.kind, backendOf(driver)]));
for (const [kind, backend] of backends) if (!(await backend.check(image)).usable) backends.delete(kind);

async function command(sandbox: OpenSandbox): Promise<void> {
  const handle = await sandbox.exec({ command: 'true' });
  for await (const _ of handle.output);
  const exit = await handle.exit;
  if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`the command failed: ${JSON.stringify(exit)}`);
}

const engine = await findDocker({ environment: process.env });
const plain = await engine.createContainer('hermetic-bench-plain', { Image: image, Entrypoint: ['sleep', 'infinity'] } as never);
await engine.start(plain);
const open = new Map<string, OpenSandbox>();

try {
  for (const [kind, backend] of backends) {
    const sandbox = await backend.open(specFor(kind, 'exec'), quiet);
    open.set(kind, sandbox);
    const handle = await sandbox.exec({ command: `${lived}; cd /tmp` });
    for await (const _ of handle.output);
    await handle.exit;
  }

  const variants = new Map<string, () => Promise<void>>([
    ['bare `bash -c true` from Node', () => program('bash', ['-c', 'true'])],
    ['`docker exec` CLI', () => program('docker', ['exec', plain, 'bash', '-c', 'true'])],
    ...[...open].map(([kind, sandbox]) => [`hermetic ${kind}`, () => command(sandbox)] as const),
  ]);

  const gaps = new Map([...variants.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, action] of variants) {
      await sleep(gapMs);
      const elapsed = await timed(action);
      if (round > 1) gaps.get(name)?.push(elapsed);
    }
  }
  const bursts = new Map([...variants.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < 3; round++) {
    for (const [name, action] of variants) {
      await sleep(gapMs);
      const total = await timed(async () => {
        for (let call = 0; call < burstLength; call++) await action();
      });
      bursts.get(name)?.push(total / burstLength);
    }
  }

  const bare = median(gaps.get('bare `bash -c true` from Node') ?? []);
  const cli = median(gaps.get('`docker exec` CLI') ?? []);
  const burstCli = median(bursts.get('`docker exec` CLI') ?? []);
  console.log(`${cpus().length} cores, Node ${process.version}, engine ${(await engine.info()).ServerVersion}, image ${image}\n`);
  console.log(
    row(
      'one command',
      `median, ${gapMs} ms apart`,
      'p95',
      '× bare',
      '`docker exec` ÷ it',
      `burst of ${burstLength}, each`,
      'burst: CLI ÷ it',
    ),
  );
  console.log(row('---', '---', '---', '---', '---', '---', '---'));
  for (const name of variants.keys()) {
    const times = gaps.get(name) ?? [];
    const burst = median(bursts.get(name) ?? []);
    const ms = (value: number) => `${value.toFixed(2)} ms`;
    console.log(
      row(
        name,
        ms(median(times)),
        ms(quantile(times, 0.95)),
        (median(times) / bare).toFixed(2),
        (cli / median(times)).toFixed(1),
        ms(burst),
        (burstCli / burst).toFixed(1),
      ),
    );
  }

  // The same container as ours, mounts, limits and all, with nothing in it but `sleep`: what any client of the engine has to wait for.
  const { Config, HostConfig } = await engine.request<{ Config: object; HostConfig: object }>(
    'GET',
    '/containers/hermetic-bench-exec/json',
  );
  const same = { ...Config, Labels: {}, Entrypoint: ['sleep', 'infinity'], HostConfig };
  const raw: number[] = [];
  const ours = new Map([...backends.keys()].map((kind) => [kind, [] as number[]]));
  for (let round = 0; round < 10; round++) {
    let id = '';
    raw.push(
      await timed(async () => {
        id = await engine.createContainer('hermetic-bench-raw', same);
        await engine.start(id);
      }),
    );
    await engine.remove(id);
    for (const [kind, backend] of backends) {
      let sandbox: OpenSandbox | undefined;
      ours.get(kind)?.push(
        await timed(async () => {
          sandbox = await backend.open(specFor(kind, 'open'), quiet);
        }),
      );
      await sandbox?.destroy();
    }
  }
  console.log(`\n${row('open', 'median', '× raw create and start')}\n${row('---', '---', '---')}`);
  console.log(row('raw create and start of the same container', `${median(raw).toFixed(0)} ms`, '1.00'));
  for (const [kind, times] of ours)
    console.log(row(`hermetic ${kind}, to a warm shell`, `${median(times).toFixed(0)} ms`, (median(times) / median(raw)).toFixed(2)));

  console.log(
    `\n${row('a new session', 'opened, median', 'p95', 'by claiming a spare, median', 'p95')}\n${row('---', '---', '---', '---', '---')}`,
  );
  for (const kind of backends.keys()) {
    if (kind === 'local') continue;
    const { openedMs, claimedMs } = await firstOpenings(kind, image);
    const ms = (values: number[]) => [median(values), quantile(values, 0.95)].map((value) => `${value.toFixed(1)} ms`);
    console.log(row(`hermetic ${kind}`, ...ms(openedMs), ...ms(claimedMs)));
  }

  console.log(`\n${row('idle sandbox', 'memory of its processes (PSS)')}\n${row('---', '---')}`);
  for (const [kind, sandbox] of open) {
    if (kind === 'local') continue;
    const script =
      'total=0; for f in /proc/[0-9]*/smaps_rollup; do while read -r key value _; do [[ $key == Pss: ]] && ((total += value)); done <"$f"; done 2>/dev/null; echo $total';
    await sleep(gapMs);
    const handle = await sandbox.exec({ command: script });
    let text = '';
    for await (const chunk of handle.output) text += chunk.data.toString();
    console.log(row(`hermetic ${kind}`, `${(Number(text) / 1024).toFixed(1)} MiB`));
  }

  console.log(`\n${row('300 MB of output', 'MB/s', "growth of the host's memory")}\n${row('---', '---', '---')}`);
  for (const [kind, sandbox] of open) {
    const before = process.memoryUsage.rss();
    let most = before;
    let bytes = 0;
    const elapsed = await timed(async () => {
      const handle = await sandbox.exec({ command: 'head -c 300000000 /dev/zero' });
      for await (const chunk of handle.output) {
        bytes += chunk.data.length;
        most = Math.max(most, process.memoryUsage.rss());
      }
      await handle.exit;
    });
    if (bytes !== 300_000_000) throw new Error(`${kind} delivered ${bytes} bytes`);
    console.log(row(`hermetic ${kind}`, (300_000 / elapsed).toFixed(0), `${((most - before) / 1024 / 1024).toFixed(1)} MiB`));
  }
} finally {
  for (const sandbox of open.values()) await sandbox.destroy();
  await engine.remove(plain);
  await removeTree(directory);
}
process.exit(0);
