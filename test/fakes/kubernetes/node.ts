import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readlinkSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { findHierarchies, makeControlGroups } from '../../../src/backends/bubblewrap/cgroup.ts';
import { makePipes, openForReading, openForWriting } from '../../../src/shell/pipes/named-pipes.ts';
import { until } from '../../until.ts';
import { amountOf, type FakeObject, podSpecOf } from './objects.ts';

/** Enters the control groups of a pod, waits until this program has done its part, and becomes the command. */
const enter = `
while [[ $1 != -- ]]; do echo 0 >"$1"; shift; done
shift
read -r _ <&3
exec 3<&-
# The writer of the input may have closed it already, and a pipe without one cannot be opened.
if [[ $IN ]]; then exec 9<>"$IN" <"$IN" 9>&- >"$OUT" 2>"$ERR"; fi
unset IN OUT ERR
exec "$@"`;

/** A cluster gives them to every container. */
const serviceVariables = {
  KUBERNETES_SERVICE_HOST: '10.96.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  KUBERNETES_SERVICE_PORT_HTTPS: '443',
  KUBERNETES_PORT: 'tcp://10.96.0.1:443',
  KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
  KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
  KUBERNETES_PORT_443_TCP_PORT: '443',
  KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
};
const imageVariables = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' };

export interface ExecProcess {
  stdin: Socket;
  stdout: Socket;
  stderr: Socket;
  /** Of the process alone; others may still have its streams. */
  exited: Promise<number>;
}

export interface NodePod {
  /** Its first process, as this machine numbers it. */
  readonly pid: number;
  readonly exited: Promise<number>;
  exec(command: readonly string[]): Promise<ExecProcess>;
  /** TERM, and KILL when that did not help. */
  end(graceMs: number): void;
}

/** A machine of the cluster: each pod is a bubblewrap with its own processes, whose first one is the command of the pod. Needs root. */
export class FakeNode {
  /** A kubelet's own limit of processes in a pod. */
  readonly #maxPids = 200;
  readonly #directory: string;
  #execs = 0;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(join(directory, 'execs'), { recursive: true });
  }

  claimDirectory(uid: string): string {
    return join(this.#directory, 'claims', uid);
  }

  async start(pod: FakeObject, claims: ReadonlyMap<string, string>): Promise<NodePod> {
    const { uid } = pod.metadata;
    const spec = podSpecOf(pod);
    const [container] = spec.containers;
    const limits = {
      cpus: 0,
      memoryMb: Math.round((amountOf(container.resources.limits?.memory) ?? 0) / 1024 ** 2),
      diskMb: 0,
      pids: this.#maxPids,
    };
    const hierarchies = await findHierarchies([1, 2]);
    const groups = await makeControlGroups('fake-node', uid, limits, hierarchies);
    const groupOf = (base: string): string => join(base, 'hermetic', 'fake-node', uid);
    const shownGroups = hierarchies
      .map(({ version, base, controllers }) => ({
        from: groupOf(base),
        to: version === 2 ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controllers[0]}`,
      }))
      .filter(({ from, to }) => existsSync(from) && !to.endsWith('/cpu'))
      .flatMap(({ from, to }) => ['--ro-bind', from, to]);
    const env = {
      ...imageVariables,
      ...serviceVariables,
      ...Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, expand(value)])),
    };
    const { runAsUser: user, runAsGroup: group, capabilities } = container.securityContext;
    const kept = (capabilities.add ?? []).map((name) => `+${name.toLowerCase()}`);
    const ids = user === 0 ? [] : ['--reuid', String(user), '--regid', String(group), '--clear-groups'];
    // On the way to its user a process still needs what it drops.
    const become = ['setpriv', ...ids, '--no-new-privs', '--inh-caps=-all', `--bounding-set=${['-all', ...kept].join(',')}`, '--'];
    const mounts = container.volumeMounts.flatMap(({ name, mountPath, subPath }) => {
      const volume = spec.volumes.find((one) => one.name === name);
      if (volume?.emptyDir?.medium === 'Memory')
        return ['--perms', '1777', '--size', String(amountOf(volume.emptyDir.sizeLimit)), '--tmpfs', mountPath];
      const claim = volume?.persistentVolumeClaim && claims.get(volume.persistentVolumeClaim.claimName);
      const source = join(claim ?? join(this.#directory, 'pods', uid, 'volumes', 'kubernetes.io~empty-dir', name), subPath ?? '');
      mkdirSync(source, { recursive: true });
      chmodSync(source, 0o777);
      return ['--bind', source, mountPath];
    });
    const separate = ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net', '--unshare-cgroup-try', '--as-pid-1'];
    const files = [
      '--tmpfs',
      '/',
      '--ro-bind',
      '/usr',
      '/usr',
      '--ro-bind',
      '/etc',
      '/etc',
      ...rootLinks(),
      '--proc',
      '/proc',
      '--dev',
      '/dev',
    ];
    const places = ['--dir', '/sys/fs', '--perms', '0755', '--dir', '/home', ...shownGroups, ...mounts];
    const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]);
    const rest = ['--die-with-parent', '--new-session', '--hostname', 'sandbox', '--clearenv', '--chdir', container.workingDir ?? '/'];
    const options = [...separate, ...files, ...places, ...rest, ...variables, '--info-fd', '4', '--'];
    const words = [...groups.entrances, '--', 'bwrap', ...options, ...become, ...container.command.map(expand)];
    const child = spawn('bash', ['-c', enter, 'node', ...words], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
    });
    const exited = exitOf(child).then(async (code) => {
      await groups.remove();
      rmSync(join(this.#directory, 'pods', uid), { recursive: true, force: true, maxRetries: 5 });
      return code;
    });
    await letGo(child, (pid) => groups.add(pid));
    const pid = await childPid(child);
    await until('the first process has begun', () => child.exitCode !== null || !readLink(`/proc/${pid}/exe`).endsWith('/bwrap'), {
      everyMs: 2,
    });
    const exec = async (command: readonly string[]): Promise<ExecProcess> => {
      const enterPod = ['nsenter', '--target', String(pid), '--all', '--', ...become];
      return await this.#exec([...groups.entrances, '--', ...enterPod, ...command], env, (one) => groups.add(one));
    };
    const end = (graceMs: number): void => {
      signal(pid, 'SIGTERM');
      setTimeout(() => signal(pid, 'SIGKILL'), graceMs).unref();
    };
    return { pid, exited, exec, end };
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
    const child = spawn('bash', ['-c', enter, 'node', ...words], {
      env: { ...env, IN, OUT, ERR },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const exited = exitOf(child);
    void exited.then(() => {
      for (const path of [IN, OUT, ERR]) rmSync(path, { force: true });
    });
    for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
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

function rootLinks(): string[] {
  return ['/bin', '/sbin', '/lib', '/lib64'].flatMap((path) => {
    const link = readLink(path);
    return link !== '' ? ['--symlink', link, path] : existsSync(path) ? ['--ro-bind', path, path] : [];
  });
}

/** Empty for what is no link. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** As a kubelet does in commands and values: two dollars become one; none of our variables is ever meant. */
function expand(text: string): string {
  return text.replace(/\$(\$|\([A-Za-z_]\w*\))/g, (whole, next: string) => (next === '$' ? '$' : `expanded${whole}`));
}
