import { type ChildProcess, type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { probe } from '../../../src/backends/bubblewrap/probe.ts';
import type { BubblewrapOptions } from '../../../src/backends/bubblewrap/start.ts';
import type { Enforcement, Limits, Network } from '../../../src/core/sandbox.ts';
import { describeUnless } from '../../required.ts';

/** Who runs the product. */
export type Person = 'root' | 'ordinary';

export const isRoot = process.getuid?.() === 0;
/** Both, where the tests themselves run as root; otherwise the one they run as. */
export const people: Person[] = isRoot ? ['root', 'ordinary'] : ['ordinary'];
export const ordinaryUser = isRoot ? 65534 : (process.getuid?.() ?? 0);
export const noLimits: Limits = { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 };

const answer = await probe();

/** The suite, or why it cannot run here. */
export function describeBubblewrap(title: string, body: () => void): void {
  describeUnless(answer.ok ? undefined : `${answer.reason} ${answer.fix}`, ['bubblewrap'], title, body);
}

const root = mkdtempSync(join(tmpdir(), 'hermetic-bubblewrap-'));
/** Of this test file alone. */
export const installation = randomBytes(4).toString('hex');
const controlGroups = ['memory', 'pids', 'cpu', '.', 'unified'].map((controller) =>
  join('/sys/fs/cgroup', controller, 'hermetic', installation),
);

/** Where the control groups of a sandbox may be. */
export function groupsOf(name: string): string[] {
  return controlGroups
    .filter(existsSync)
    .flatMap((group) => readdirSync(group).map((entry) => join(group, entry)))
    .filter((path) => path.includes(`/${name}-`));
}

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
  // Products that a test killed could not remove theirs.
  for (const group of controlGroups.filter(existsSync)) {
    const below = readdirSync(group, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const directory of [...below.map((entry) => join(group, entry.name)), group]) rmdirSync(directory);
  }
});

/** The sources where every user can read them, wherever the clone is. */
function copySources(): string {
  const target = join(root, 'product');
  const clone = join(import.meta.dirname, '../../..');
  const backends = ['bubblewrap', 'namespaces', 'container-remedy.ts', 'engine-sockets.ts', 'mounts.ts', 'programs.ts'].map((part) =>
    join('src/backends', part),
  );
  for (const part of ['guest', 'host-scripts', 'src/core', 'src/egress', 'src/lib', ...backends, 'src/shell/limit-counts.ts'])
    cpSync(join(clone, part), join(target, part), { recursive: true });
  rmSync(join(target, 'src/backends/bubblewrap/index.ts'), { force: true });
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }');
  execFileSync('chmod', ['-R', 'a+rX', root]);
  return target;
}

const product = copySources();

/** What opens the sockets of a restricted network, of this test file alone. */
export const opener = join(product, 'src/egress/opener.mjs');

const starter = `
  import { startBubblewrap } from ${JSON.stringify(`file://${product}/src/backends/bubblewrap/start.ts`)};
  import { EgressThread } from ${JSON.stringify(`file://${product}/src/egress/thread.ts`)};
  const egress = new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [22, 443], notesAllowed: false }));
  process.once('message', async (options) => {
    process.umask(options.umask);
    if (options.dieAfterMs !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), options.dieAfterMs);
    const network = options.network === 'restricted' ? { egress } : options.network;
    const started = await startBubblewrap({ ...options, network }).catch((error) => process.send({ failed: error.message, code: error.code, hint: error.hint }));
    if (started === true) process.exit(1);
    started.child.stdout.pipe(process.stdout);
    started.child.stderr.pipe(process.stderr);
    started.child.once('close', async (code, signal) => {
      const outOfMemoryKills = started.counter()().outOfMemoryKills;
      await started.release();
      process.send({ code, signal, outOfMemoryKills }, () => process.exit(0));
    });
    process.once('message', () => started.child.kill('SIGKILL'));
    process.send({ pid: started.child.pid, enforcement: started.enforcement });
  });
  process.once('disconnect', () => process.exit(1));
`;

export interface Ended {
  code: number | null;
  signal: string | null;
  outOfMemoryKills?: number;
  stdout: string;
  stderr: string;
}

export interface Running {
  name: string;
  directory: string;
  /** Of bubblewrap, on the host. */
  pid: number;
  enforcement: Enforcement;
  /** The product: a Node that started the sandbox and holds it. */
  product: ChildProcess;
  ended: Promise<Ended>;
  kill(): void;
}

export type Wishes = Partial<Omit<BubblewrapOptions, 'network'>> & { network?: Network; umask?: number };

/** Directories for one sandbox that belong to the person. */
export function makeDirectories(person: Person): { directory: string; runDirectory: string; workspace: string; home: string } {
  const directory = mkdtempSync(join(root, `${person}-`));
  const paths = { runDirectory: join(directory, 'run'), workspace: join(directory, 'workspace'), home: join(directory, 'home') };
  for (const path of Object.values(paths)) mkdirSync(path, { mode: 0o700 });
  if (isRoot && person === 'ordinary') for (const path of [directory, ...Object.values(paths)]) chownSync(path, ordinaryUser, ordinaryUser);
  return { directory, ...paths };
}

/** A process that will start a sandbox when it is told to. The wrapper runs as the person, what is around that as whoever runs the tests. */
export function spawnProduct(
  person: Person,
  wrapper: readonly string[] = [],
  around: readonly string[] = [],
): ChildProcessByStdio<null, Readable, Readable> {
  // Run by descriptor because an ordinary user may not be able to reach this Node by its path.
  const program = openSync(process.execPath, 'r');
  const become = isRoot && person === 'ordinary' ? ['setpriv', `--reuid=${ordinaryUser}`, `--regid=${ordinaryUser}`, '--clear-groups'] : [];
  const node = ['/proc/self/fd/4', '--input-type=module', '-e', starter];
  const [file = '', ...rest] = [...around, ...become, ...wrapper, ...node];
  return spawn(file, rest, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', program],
    env: { PATH: process.env.PATH },
    cwd: '/',
  }) as ChildProcessByStdio<null, Readable, Readable>;
}

/** Sends the order and resolves with the answer: the running sandbox, or how it failed. */
export async function start(
  person: Person,
  script: string,
  wishes: Wishes = {},
  wrapper: readonly string[] = [],
  around: readonly string[] = [],
): Promise<Running> {
  const { directory, ...paths } = makeDirectories(person);
  const name = wishes.name ?? `test-${randomBytes(6).toString('hex')}`;
  const child = spawnProduct(person, wrapper, around);
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const options = { installation, mounts: [], env: {}, limits: noLimits, network: 'none', umask: 0o022, command: ['bash', '-c', script] };
  child.send({ name, ...paths, ...options, ...wishes });
  const first = await Promise.race([once(child, 'message'), once(child, 'close')]);
  const message = first[0] as { pid: number; enforcement: Enforcement } | { failed: string; code: string } | number | null;
  if (message === null || typeof message === 'number') throw new Error(`The product ended: ${(await output).join('')}`);
  if ('failed' in message) {
    child.kill('SIGKILL');
    throw Object.assign(new Error(message.failed), message);
  }
  const ended = once(child, 'message').then(async ([last]) => {
    const [stdout, stderr] = await output;
    return { ...(last as Ended), stdout, stderr };
  });
  return { name, directory, pid: message.pid, enforcement: message.enforcement, product: child, ended, kill: () => child.send('kill') };
}

/** Runs a script in a sandbox of its own to its end. */
export async function run(person: Person, script: string, wishes: Wishes = {}): Promise<Ended & { enforcement: Enforcement }> {
  const running = await start(person, script, wishes);
  return { ...(await running.ended), enforcement: running.enforcement };
}

/** Every process below this one, on the host. */
export function descendants(pid: number): number[] {
  const all = readdirSync('/proc')
    .map(Number)
    .filter((number) => number > 0);
  const parents = new Map(all.map((number) => [number, statusOf(number).PPid] as const));
  const below = (ancestor: number): number[] =>
    all.filter((number) => parents.get(number) === String(ancestor)).flatMap((number) => [number, ...below(number)]);
  return below(pid);
}

/** Fields of /proc/PID/status; empty when there is no such process. */
export function statusOf(pid: number): Record<string, string | undefined> {
  try {
    const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
    return Object.fromEntries(lines.map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1).trim()]));
  } catch {
    return {};
  }
}

export async function eventually(condition: () => boolean, withinMs = 60_000): Promise<boolean> {
  for (const start = Date.now(); Date.now() - start < withinMs; await delay(10)) if (condition()) return true;
  return condition();
}
