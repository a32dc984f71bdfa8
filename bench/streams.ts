/**
 * Shells over streams against shells over pipes, in one interleaved run: `node bench/streams.ts` prints a table of bench/RESULTS.md. The same
 * engine is reached by its socket and by a port, where nothing is shared with it; ssh leads to this machine. The cluster and the providers are the
 * servers of the tests, on this machine: what is measured of these is our part and none of the way to them. With `CONTAINER_HOST` a podman service is
 * measured beside them, with `HERMETIC_BENCH_GVISOR_HOST` a docker engine that has `runsc`, and with `HERMETIC_BENCH_APPTAINER_IMAGE` an image by
 * Apptainer, which `HERMETIC_TEST_APPTAINER` names.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { daytona } from '../src/backends/daytona/index.ts';
import { docker } from '../src/backends/docker/index.ts';
import type { BackendDriver } from '../src/backends/driver.ts';
import { kubernetes } from '../src/backends/kubernetes/index.ts';
import { modal } from '../src/backends/modal/index.ts';
import { podman } from '../src/backends/podman/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { singularity } from '../src/backends/singularity/index.ts';
import { ssh } from '../src/backends/ssh/index.ts';
import { vercel } from '../src/backends/vercel/index.ts';
import type { OpenSandbox, SandboxSpec } from '../src/core/sandbox.ts';
import { FakeDaytona } from '../test/fakes/daytona/cloud.ts';
import { FakeCluster } from '../test/fakes/kubernetes/cluster.ts';
import { FakeModal } from '../test/fakes/modal/server.ts';
import { FakeVercel } from '../test/fakes/vercel/api.ts';
import { startRelay } from '../test/relay.ts';
import { startSshd } from '../test/sshd.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, lived, quiet, specFor } from './ground.ts';

const rounds = 60;
const burstLength = 50;
const gapMs = 150;

interface Way {
  name: string;
  driver: BackendDriver;
  settings?: object;
  environment?: Readonly<Record<string, string>>;
  wishes?: Partial<SandboxSpec>;
}

const relay = await startRelay('/var/run/docker.sock');
const sshd = await startSshd();
const cluster = await FakeCluster.start();
const modalServer = await FakeModal.start();
const daytonaServer = await FakeDaytona.start();
const vercelServer = await FakeVercel.start();
const { CONTAINER_HOST, HERMETIC_BENCH_GVISOR_HOST, HERMETIC_BENCH_APPTAINER_IMAGE, HERMETIC_TEST_APPTAINER } = process.env;
const ways: Way[] = [
  { name: 'docker, by pipes', driver: docker },
  { name: 'docker, by streams over a port', driver: docker, settings: { docker_host: relay.host } },
  { name: 'ssh, by streams', driver: ssh, settings: sshd.options },
  {
    name: 'kubernetes, by streams',
    driver: kubernetes,
    settings: { kubernetes_kubeconfig: cluster.kubeconfig(), kubernetes_image: 'test:image' },
  },
  { name: 'modal, by streams', driver: modal, settings: { modal_image: 'test:image' }, environment: modalServer.environment },
  {
    name: 'daytona, by folded streams',
    driver: daytona,
    settings: { daytona_image: 'test:image' },
    environment: daytonaServer.environment,
  },
  {
    name: 'vercel, by folded streams',
    driver: vercel,
    settings: { vercel_api_root: vercelServer.root, vercel_image: undefined },
    environment: vercelServer.environment,
  },
];
if (CONTAINER_HOST) ways.push({ name: 'podman, by pipes', driver: podman });
if (HERMETIC_BENCH_GVISOR_HOST) {
  const settings = { docker_host: HERMETIC_BENCH_GVISOR_HOST, docker_runtime: 'runsc' };
  ways.push({ name: 'docker with gVisor', driver: docker, settings, wishes: { network: 'none' } });
}
if (HERMETIC_BENCH_APPTAINER_IMAGE) {
  const settings = { singularity_image: HERMETIC_BENCH_APPTAINER_IMAGE, singularity_program: HERMETIC_TEST_APPTAINER };
  ways.push({ name: 'singularity, by pipes', driver: singularity, settings });
}

const open = new Map<string, OpenSandbox>();
const openings = new Map<string, number>();

async function command(sandbox: OpenSandbox): Promise<void> {
  const handle = await sandbox.exec({ command: 'echo ok' });
  for await (const _ of handle.output);
  const exit = await handle.exit;
  if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`the command failed: ${JSON.stringify(exit)}`);
}

try {
  for (const [index, { name, driver, settings, environment, wishes }] of ways.entries()) {
    const begun = performance.now();
    const spec = { ...specFor(driver.kind, `way-${index}`), ...wishes };
    const sandbox = await backendOf(driver, settings, environment).open(spec, quiet);
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
  await Promise.all([sshd.remove(), cluster.close(), modalServer.close(), daytonaServer.close(), vercelServer.close()]);
  await removeTree(directory);
}
process.exit();
