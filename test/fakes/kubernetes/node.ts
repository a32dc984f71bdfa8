import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { makeControlGroups } from '../../../src/backends/namespaces/cgroup.ts';
import { findHierarchies } from '../../../src/backends/namespaces/hierarchies.ts';
import { makePipes, openForReading, openForWriting } from '../../../src/shell/pipes/named-pipes.ts';
import { until } from '../../until.ts';
import { bubblewrapOptions, expand, joined, processOf, readLink, variablesOf } from './container.ts';
import { amountOf, type FakeObject, podSpecOf } from './objects.ts';

/** Enters the control groups of a pod, waits until this program has done its part, and becomes the command. */
const enter = `
while [[ $1 != -- ]]; do echo 0 >"$1"; shift; done
shift
read -r _ <&3
# The writer of the input may have closed it already, and a pipe without one cannot be opened.
if [[ $IN ]]; then exec 9<>"$IN" <"$IN" 9>&- >"$OUT" 2>"$ERR"; fi
exec 3<&-
unset IN OUT ERR
exec "$@"`;

/** A kubelet's own limit of processes in a pod. */
const kubeletPids = 200;
const hostVariables = { PATH: process.env.PATH };

export interface ExecProcess {
  stdin: Socket;
  stdout: Socket;
  stderr: Socket;
  /** Of the process alone; others may still have its streams. */
  exited: Promise<number>;
}

export interface NodePod {
  readonly exited: Promise<number>;
  exec(command: readonly string[]): Promise<ExecProcess>;
  /** TERM, and KILL when that did not help. */
  end(graceMs: number): void;
}

/** A machine of the cluster: each pod is a bubblewrap with its own processes, whose first one is the command of the pod. Needs root. */
export class FakeNode {
  readonly #directory: string;
  readonly #maxPids: number;
  #execs = 0;

  constructor(directory: string, maxPids: number = kubeletPids) {
    this.#directory = directory;
    this.#maxPids = maxPids;
    mkdirSync(join(directory, 'execs'), { recursive: true });
  }

  claimDirectory(uid: string): string {
    return join(this.#directory, 'claims', uid);
  }

  async start(pod: FakeObject, claims: ReadonlyMap<string, string>): Promise<NodePod> {
    const { uid } = pod.metadata;
    const [container] = podSpecOf(pod).containers;
    const memoryMb = Math.round((amountOf(container.resources.limits?.memory) ?? 0) / 1024 ** 2);
    const hierarchies = await findHierarchies([1, 2]);
    const groups = await makeControlGroups('fake-node', uid, { cpus: 0, memoryMb, diskMb: 0, pids: this.#maxPids }, hierarchies);
    const shown = hierarchies
      .map(({ version, base, controllers }) => ({
        from: join(base, 'hermetic', 'fake-node', uid),
        to: version === 2 ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controllers[0]}`,
      }))
      .filter(({ from, to }) => existsSync(from) && !to.endsWith('/cpu'));
    const directory = join(this.#directory, 'pods', uid);
    const become = processOf(container);
    const options = [...bubblewrapOptions(pod, { pod: directory, claims, groups: shown }), '--info-fd', '4', '--', ...become];
    const words = [...groups.entrances, '--', 'bwrap', ...options, ...container.command.map(expand)];
    const child = spawn('bash', ['-c', enter, 'node', ...words], {
      env: hostVariables,
      stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
    });
    const exited = exitOf(child).then(async (code) => {
      await groups.remove();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
      return code;
    });
    await letGo(child, (pid) => groups.add(pid));
    const pid = await childPid(child);
    const hasBegun = (): boolean => child.exitCode !== null || !readLink(`/proc/${pid}/exe`).endsWith('/bwrap');
    await until('the first process has begun', hasBegun, { everyMs: 2 });
    const exec = async (command: readonly string[]): Promise<ExecProcess> => {
      const enterPod = ['perl', '-e', joined, '--', String(pid), ...become];
      return await this.#exec([...groups.entrances, '--', ...enterPod, ...command], variablesOf(container), (one) => groups.add(one));
    };
    const end = (graceMs: number): void => {
      signal(pid, 'SIGTERM');
      const late = setTimeout(() => signal(pid, 'SIGKILL'), graceMs).unref();
      void exited.then(() => clearTimeout(late));
    };
    return { exited, exec, end };
  }

  /** By named pipes, as a container runtime does: a program may open its own streams again. */
  async #exec(words: readonly string[], env: Record<string, string>, add: (pid: number) => Promise<void>): Promise<ExecProcess> {
    const directory = join(this.#directory, 'execs');
    const id = String(++this.#execs);
    const names = ['in', 'out', 'err'].map((name) => `${id}.${name}`);
    await makePipes(directory, names);
    const [IN = '', OUT = '', ERR = ''] = names.map((name) => join(directory, name));
    const stdin = new Socket({ fd: openForWriting(IN), readable: false, writable: true });
    const [stdout, stderr] = [openForReading(OUT).socket, openForReading(ERR).socket];
    // By its path: the variables of the pod may name another place for programs, or none.
    const child = spawn('/bin/bash', ['-c', enter, 'node', ...words], {
      env: { ...env, IN, OUT, ERR },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const exited = exitOf(child);
    void exited.then(() => {
      for (const path of [IN, OUT, ERR]) rmSync(path, { force: true });
    });
    for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
    // A pipe that neither end has open forgets what was written to it.
    const held = openSync(IN, constants.O_RDWR | constants.O_NONBLOCK);
    (child.stdio[3] as Socket).resume().once('close', () => closeSync(held));
    await letGo(child, add);
    return { stdin, stdout, stderr, exited };
  }
}

async function letGo(child: ChildProcess, add: (pid: number) => Promise<void>): Promise<void> {
  const gate = child.stdio[3] as Socket;
  gate.on('error', () => undefined);
  if (child.pid !== undefined) await add(child.pid);
  gate.end('\n');
}

async function childPid(child: ChildProcess): Promise<number> {
  let text = '';
  for await (const chunk of child.stdio[4] as Socket) text += String(chunk);
  const [, pid] = /"child-pid": (\d+)/.exec(text) ?? [];
  if (pid === undefined) throw new Error('bubblewrap did not start');
  return Number(pid);
}

async function exitOf(child: ChildProcess): Promise<number> {
  const [code, name] = (await once(child, 'exit')) as [number | null, string | null];
  return code ?? (name === 'SIGTERM' ? 143 : 137);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
