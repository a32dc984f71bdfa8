import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Door } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Enforcement, Limits } from '../../core/sandbox.ts';
import { settlesWithin, within } from '../../lib/deadline.ts';
import { hostBash } from '../../lib/guest-files.ts';
import { descendantsOf } from '../../lib/process-facts.ts';
import { makePipes, openForWriting } from '../../shell/pipes/named-pipes.ts';
import { normalMount } from '../mounts.ts';
import { beginningOf } from '../namespaces/beginning.ts';
import { type ControlGroups, makeControlGroups, ownProcesses } from '../namespaces/cgroup.ts';
import { enforcementWith, type ResourceLimits, resourceLimits } from '../namespaces/enforcement.ts';
import { findHierarchies } from '../namespaces/hierarchies.ts';
import { installInto } from '../namespaces/install-into.ts';
import { type NetworkChoice, refuseObstacle, resolverOf, type SandboxNetwork, startNetwork } from '../namespaces/network.ts';
import { checkSources, groupVersions, hostUserHere, terminated } from '../namespaces/stage.ts';
import { standardPath } from '../programs.ts';
import { homeInside, reservedTargets, type View } from './arguments.ts';
import { startError } from './failures.ts';
import { launchContainer } from './launch.ts';

export interface ContainerOptions {
  /** The program Apptainer. */
  program: string;
  name: string;
  /** Names the control groups of this installation: hexadecimal. */
  installation: string;
  /** Directories of the host. As root those that the sandbox may change are given to its user. */
  view: View;
  env: Readonly<Record<string, string>>;
  limits: Limits;
  /** One that is open would be that of the host. */
  network: Exclude<NetworkChoice, 'open'>;
  command: readonly string[];
}

export interface SingularityProcess {
  /** Everything in the sandbox ends with it, and it with the program that called this, even if that is killed. */
  child: ChildProcess;
  enforcement: Enforcement;
  /** Limit hits of the control groups; see there. */
  counter: ControlGroups['counter'];
  /** The sockets of a restricted network. Without them it is useless: end the child when they are lost. */
  door: Pick<Door, 'watch' | 'lost'> | undefined;
  /** Call when the child has ended. Ends what may be left and removes the control groups. */
  release(): Promise<void>;
}

const startTimeoutMs = 60_000;

/** Resolves when the command is about to run inside; leaves nothing behind when it throws. */
export async function startSingularity(options: ContainerOptions): Promise<SingularityProcess> {
  const { program, view, network: choice, limits } = options;
  for (const mount of view.mounts) normalMount(mount, reservedTargets);
  refuseObstacle(choice);
  await checkSources([{ source: view.image, target: '/', readOnly: true }, ...view.mounts]);
  const user = await hostUserHere(options.name);
  // Security: root of the host may write settings of the kernel in /proc/sys even without capabilities.
  if (user === undefined && process.getuid?.() === 0) throw refusedRoot();
  const inside = [options.env.HOME ?? homeInside, ...options.command];
  const child = await launchContainer({ program, view, resolver: resolverOf(choice), inside, user });
  const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable];
  // A pipe breaks when the other end is gone, and the end of the process tells that better.
  stdin.on('error', () => undefined);
  const errorText = beginningOf(stderr);
  const ended = once(child, 'close').then(() => 'ended' as const);
  let info: Socket | undefined;
  let network: SandboxNetwork | undefined;
  let groups: ControlGroups | undefined;
  const release = async (): Promise<void> => {
    await network?.end();
    await groups?.remove();
  };
  try {
    const isUp = once(stdout, 'data').then(() => 'ready' as const);
    const outcome = await within({ ms: startTimeoutMs, ref: false }, Promise.race([isUp, ended]), () => {
      throw new HermeticError('sandbox/open-failed', `Apptainer did not start in ${startTimeoutMs / 1000} s.`);
    });
    if (outcome === 'ended') throw startError(errorText.text());
    errorText.stop();
    const gate = await processesBelow(child.pid);
    if (choice !== 'none') {
      info = await saying(view.runDirectory, `"owner-pid": ${gate.tie}\n"child-pid": ${gate.pid}\n`);
      network = startNetwork(choice, await hostBash('sandbox-network'), { group: gate.parent, info, user });
    }
    groups = await groupsWith(gate, options, groupVersions(user));
    await network?.enter(groups);
    const door = await network?.connect();
    await limitProcess(gate.pid, resourceLimits(limits, groups, gate.threads));
    // Security: what the gate started before it was limited is not limited. It is a program of the image, which earlier commands may have changed.
    if ((await processesBelow(child.pid)).pid !== gate.pid) throw unexpectedProcesses();
    // The gate lets the command begin when it has read this.
    stdin.end(terminated([...variables(options.env), '']));
    for (const stream of [stdout, stderr]) stream.resume();
    return { child, enforcement: enforcementWith(groups.held, 'Apptainer'), counter: groups.counter, door, release };
  } catch (error) {
    child.kill('SIGKILL');
    for (const stream of child.stdio) stream?.destroy();
    await settlesWithin({ ms: startTimeoutMs, ref: false }, ended);
    await release();
    throw error;
  } finally {
    info?.destroy();
  }
}

function variables(given: Readonly<Record<string, string>>): string[] {
  const home = given.HOME ?? homeInside;
  const all = {
    ...installInto(`${home}/.local`),
    HOME: home,
    USER: 'agent',
    LOGNAME: 'agent',
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    ...given,
  };
  const words = Object.entries(all).map(([name, value]) => `${name}=${value}`);
  // Security: the list is separated by NUL bytes, so one in a value would smuggle in further variables.
  if (words.some((word) => word.includes('\0'))) {
    throw new HermeticError('sandbox/open-failed', 'An environment variable of the sandbox contains a NUL byte.');
  }
  return words;
}

/** The processes of a container that has just started. */
interface Processes {
  /** The gate, which becomes the forker. */
  pid: number;
  /** Apptainer's own in there, the first. */
  parent: number;
  parentThreads: number;
  /** The one that ends it all with this program: it is in the outer user namespace. */
  tie: number;
  /** Threads of Apptainer's, which count against the limit of a user in the namespaces of the sandbox. */
  threads: number;
}

/** More than Apptainer starts later. */
const spareThreads = 16;

async function processesBelow(launched: number): Promise<Processes> {
  const below = await descendantsOf(launched);
  const [main, ...found] = await Promise.all([launched, ...below].map(processOf));
  const inside = found.filter(({ numbers }) => numbers.length > (main?.numbers.length ?? 0));
  const [gate, ...others] = inside.filter(({ numbers }) => numbers.at(-1) !== '1');
  const first = inside.find(({ pid }) => pid === gate?.parent);
  const tie = found.find(({ parent, numbers }) => parent === launched && numbers.length === main?.numbers.length);
  if (gate === undefined || others.length > 0 || first === undefined || tie === undefined) {
    throw unexpectedProcesses();
  }
  const threads = (main?.threads ?? 0) + first.threads + spareThreads;
  return { pid: gate.pid, parent: first.pid, parentThreads: first.threads, tie: tie.pid, threads };
}

function unexpectedProcesses(): HermeticError {
  return new HermeticError('sandbox/open-failed', 'The processes of the container are not those that were started in it.');
}

/** Security: from outside, so that it does not depend on any program of the image. */
async function limitProcess(pid: number, { processes, dataKilobytes }: ResourceLimits): Promise<void> {
  const bytes = dataKilobytes * 1024;
  const words = [...(processes > 0 ? [`--nproc=${processes}:${processes}`] : []), ...(bytes > 0 ? [`--data=${bytes}:${bytes}`] : [])];
  if (words.length > 0) await promisify(execFile)('prlimit', ['--pid', String(pid), ...words], { env: { PATH: standardPath } });
}

interface ProcessStatus {
  pid: number;
  parent: number;
  threads: number;
  /** Its numbers in the process namespaces it is in, the innermost last. */
  numbers: string[];
}

async function processOf(pid: number): Promise<ProcessStatus> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const value = (name: string): string => new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(status)?.[1] ?? '';
  return { pid, parent: Number(value('PPid')), threads: Number(value('Threads')), numbers: value('NSpid').split(/\s+/) };
}

/** A stream whose descriptor can be handed to a process, which then reads this text from it. */
async function saying(directory: string, text: string): Promise<Socket> {
  const name = 'info';
  await makePipes(directory, [name]);
  const path = join(directory, name);
  const descriptor = openForWriting(path);
  rmSync(path);
  writeSync(descriptor, text);
  return new Socket({ fd: descriptor, readable: false, writable: true });
}

/** The control groups of a sandbox with every process in them that is inside. */
async function groupsWith(inside: Processes, options: ContainerOptions, versions: readonly (1 | 2)[]): Promise<ControlGroups> {
  const { installation, name, limits } = options;
  const pids = limits.pids > 0 ? limits.pids + inside.parentThreads - ownProcesses : 0;
  const groups = await makeControlGroups(installation, `${name}-${inside.pid}`, { ...limits, pids }, await findHierarchies(versions));
  try {
    for (const pid of [inside.parent, inside.pid]) {
      // With all its threads, unlike the entrance itself.
      for (const entrance of groups.entrances) await writeFile(join(dirname(entrance), 'cgroup.procs'), String(pid));
      await groups.add(pid);
    }
    return groups;
  } catch (error) {
    await groups.remove();
    if (versions.includes(1)) return await groupsWith(inside, options, [2]);
    throw error;
  }
}

function refusedRoot(): HermeticError {
  return new HermeticError('backend/unavailable', 'Apptainer cannot be run as the root of a user namespace.', {
    hint: 'Run Hermetic as an ordinary user, or use the bubblewrap or the docker backend.',
  });
}
