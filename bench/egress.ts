/**
 * What a restricted network costs, beside connections without it: `node bench/egress.ts`, as root. The internet of the measurement is a network
 * namespace of its own, and so is the network of the gateway.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { backendDrivers } from '../src/backends/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { BoundSecret, EgressRules } from '../src/core/egress.ts';
import { credentialHeaders, placeholderFor } from '../src/egress/bound-secret.ts';
import { makeAuthority } from '../src/egress/certificates.ts';
import { EgressThread } from '../src/egress/thread.ts';
import { Namespace } from '../test/egress/namespace.ts';
import { World, worldAddress } from '../test/world/world.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, quiet, specFor } from './ground.ts';

const rounds = 100;
const downloads = 10;
const megabytes = 100;
const openings = 20;
const sessions = 50;
const commands = 300;
const host = 'site.test';
/** It has a secret, so its TLS is ended by the gateway. */
const secretHost = 'secret.test';
const secret: BoundSecret = {
  name: 'TOKEN',
  value: 'v'.repeat(40),
  placeholder: placeholderFor('TOKEN', 40, 'bench'),
  destinations: [{ host: secretHost, port: 443 }],
  headers: credentialHeaders,
  query: false,
  path: false,
  exclusive: false,
};
const rules: EgressRules = {
  allow: [host, secretHost].map((name) => ({ host: name, isWildcard: false, ports: [443], text: name })),
  deny: [],
  private: [],
  directPorts: [22, 443],
  notesAllowed: false,
  vault: { authority: makeAuthority('bench'), secrets: [secret] },
};

const here = ['nsenter', '--target', String(process.pid), '--net'];
const directly = ['--resolve', `${host}:443:${worldAddress}`];
const byProxy = ['--proxy', 'http://127.0.0.1:3128'];
const header = `Authorization: Bearer ${secret.placeholder}`;
const run = promisify(execFile);
/** Where this program runs again, as the gateway. */
const gateway = 'gateway';

if (process.argv[2] === gateway) await measure();
else {
  const world = await World.start();
  try {
    const [file = '', ...words] = [...world.command, process.execPath, import.meta.filename, gateway];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(world.directory, 'ca.pem') };
    const [code] = (await once(spawn(file, words, { stdio: 'inherit', env }), 'exit')) as [number | null];
    process.exitCode = code ?? 1;
  } finally {
    await world.close();
  }
}

async function measure(): Promise<void> {
  const egress = new EgressThread(() => rules);
  const box = await Namespace.make();
  try {
    await egress.open(box.entrance);
    // First: later there is memory that earlier work has left free.
    await measureMemory(egress);
    await measureConnections(box);
    await measureCommands(box);
    await measureOpenings(egress);
  } finally {
    await egress.stop();
    await box.remove();
  }
}

/** The seconds that curl takes in a namespace, without those in which it starts. */
async function seconds(enter: readonly string[], path: string, options: readonly string[], name = host): Promise<number> {
  const curl = ['curl', '--silent', '--show-error', '--fail', '--insecure', '--output', '/dev/null', '--write-out', '%{time_total}'];
  const [file = '', ...words] = [...enter, ...curl, ...options, `https://${name}${path}`];
  return Number((await run(file, words)).stdout);
}

async function measureConnections(box: Namespace): Promise<void> {
  const inside = box.entrance.command;
  const asked = `const d = require('node:dns'); d.setServers(['127.0.0.1']); d.resolve4('${host}', (e, found) => console.log(found[0]))`;
  const address = (await box.run(process.execPath, '--eval', asked)).trim();
  const ways = new Map<string, (path: string) => Promise<number>>([
    ['direct, on the host', (path) => seconds(here, path, directly)],
    ['restricted, by the proxy', (path) => seconds(inside, path, byProxy)],
    ['restricted, by name', (path) => seconds(inside, path, ['--resolve', `${host}:443:${address}`])],
    ['restricted, with a secret', (path) => seconds(inside, path, [...byProxy, '--header', header], secretHost)],
  ]);
  const requests = new Map([...ways.keys()].map((name) => [name, [] as number[]]));
  const transfers = new Map([...ways.keys()].map((name) => [name, [] as number[]]));
  const cpu = new Map([...ways.keys()].map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) for (const [name, get] of ways) requests.get(name)?.push(1_000 * (await get('/')));
  for (let round = 0; round < downloads; round++) {
    for (const [name, get] of ways) {
      const before = process.cpuUsage();
      transfers.get(name)?.push(await get(`/megabytes/${megabytes}`));
      const { user, system } = process.cpuUsage(before);
      cpu.get(name)?.push((user + system) / 1_000);
    }
  }
  const direct = [...ways.keys()][0] ?? '';
  const against = (all: Map<string, number[]>, name: string): string =>
    (median(all.get(name) ?? []) / median(all.get(direct) ?? [])).toFixed(2);
  console.log(
    row('a new HTTPS connection', 'request, median', '× direct', `${megabytes} MB`, '× direct', `CPU of the gateway for ${megabytes} MB`),
  );
  console.log(row('---', '---', '---', '---', '---', '---'));
  for (const name of ways.keys()) {
    const transfer = median(transfers.get(name) ?? []);
    console.log(
      row(
        name,
        `${median(requests.get(name) ?? []).toFixed(1)} ms`,
        against(requests, name),
        `${(megabytes / transfer).toFixed(0)} MB/s`,
        against(transfers, name),
        `${median(cpu.get(name) ?? []).toFixed(0)} ms`,
      ),
    );
  }
}

/** Commands of a chat beside downloads that do not pass the gateway, and beside downloads whose TLS it ends. */
async function measureCommands(box: Namespace): Promise<void> {
  const driver = backendDrivers.find(({ kind }) => kind === 'bubblewrap');
  if (!driver) throw new Error('no bubblewrap');
  const sandbox = await backendOf(driver).open({ ...specFor('bubblewrap', 'egress'), network: 'none' }, quiet);
  const path = `/megabytes/${megabytes}`;
  const ways = new Map<string, (() => Promise<number>) | undefined>([
    ['nothing', undefined],
    ['a direct download', () => seconds(here, path, directly)],
    ['a download with a secret', () => seconds(box.entrance.command, path, [...byProxy, '--header', header], secretHost)],
  ]);
  console.log(`\n${row('a command in a sandbox, beside', 'median', 'p95')}\n${row('---', '---', '---')}`);
  for (const [name, download] of ways) {
    const times: number[] = [];
    let isDone = false;
    const beside = (async () => {
      while (download && !isDone) await download();
    })();
    for (let done = 0; done < commands; done++) {
      times.push(await timed(async () => await (await sandbox.exec({ command: 'true' })).exit));
      await delay(20);
    }
    isDone = true;
    await beside;
    console.log(row(name, `${median(times).toFixed(2)} ms`, `${quantile(times, 0.95).toFixed(2)} ms`));
  }
  await sandbox.destroy();
  await removeTree(directory);
}

async function measureOpenings(egress: EgressThread): Promise<void> {
  const bare: number[] = [];
  const opened: number[] = [];
  for (let round = 0; round < openings; round++) {
    const box = await Namespace.make();
    bare.push(await timed(async () => void (await box.run(process.execPath, '--eval', '0'))));
    opened.push(await timed(async () => void (await egress.open(box.entrance))));
    await box.remove();
  }
  console.log(`\n${row('opening the network of a sandbox', 'median', '× bare')}\n${row('---', '---', '---')}`);
  console.log(row('bare: Node starts in the namespace and ends', `${median(bare).toFixed(0)} ms`, '1.00'));
  console.log(row('all sockets open', `${median(opened).toFixed(0)} ms`, (median(opened) / median(bare)).toFixed(2)));
}

async function measureMemory(egress: EgressThread): Promise<void> {
  const boxes = await Promise.all(Array.from({ length: sessions }, () => Namespace.make()));
  const before = process.memoryUsage.rss();
  await Promise.all(boxes.map(({ entrance }) => egress.open(entrance)));
  const after = process.memoryUsage.rss();
  for (const box of boxes) await box.remove();
  const mb = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  console.log(`\n${row(`${sessions} more restricted sandboxes`, 'memory of the gateway (RSS)')}\n${row('---', '---')}`);
  console.log(row('before', mb(before)));
  console.log(row('after', mb(after)));
}
