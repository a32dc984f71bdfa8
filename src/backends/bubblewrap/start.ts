import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { Door } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Enforcement, Limits, Mount } from '../../core/sandbox.ts';
import { settlesWithin, within } from '../../lib/deadline.ts';
import { guestBash, hostBash } from '../../lib/guest-files.ts';
import { started } from '../../lib/started.ts';
import { normalMount } from '../mounts.ts';
import { beginningOf } from '../namespaces/beginning.ts';
import { type ControlGroups, makeControlGroups } from '../namespaces/cgroup.ts';
import { enforcementWith, resourceLimits } from '../namespaces/enforcement.ts';
import { findHierarchies } from '../namespaces/hierarchies.ts';
import { type NetworkChoice, refuseObstacle, resolverOf, type SandboxNetwork, startNetwork } from '../namespaces/network.ts';
import * as staging from '../namespaces/stage.ts';
import { findProgram, standardPath } from '../programs.ts';
import { bubblewrapArguments, type Dispensable, dispensable, reservedTargets, type View } from './arguments.ts';
import * as descriptors from './descriptors.ts';
import { generatedEtc } from './etc.ts';
import { explainFailure, failureError, notInstalled } from './failures.ts';
import { seccompFilter } from './seccomp.ts';

export interface BubblewrapOptions {
  name: string;
  /** Names the control groups of this installation: hexadecimal. */
  installation: string;
  /**
   * Seen read-only at /run/hermetic. As root it is given to the sandbox's group, and so is what is made in it later. undefined, here and below:
   * empty and in memory.
   */
  runDirectory: string | undefined;
  /** Seen at /workspace. As root it is given to the sandbox's user. */
  workspace: string | undefined;
  /** Seen at /home/agent. As root it is given to the sandbox's user. */
  home: string | undefined;
  mounts: readonly Mount[];
  env: Readonly<Record<string, string>>;
  limits: Limits;
  network: NetworkChoice;
  command: readonly string[];
}

export interface BubblewrapProcess {
  /** Everything in the sandbox ends with it. Its standard streams are the command's; read or resume them. */
  child: ChildProcess;
  enforcement: Enforcement;
  /** Limit hits of the control groups; see there. */
  counter: ControlGroups['counter'];
  /** The sockets of a restricted network. Without them it is useless: end the child when they are lost. */
  door: Pick<Door, 'watch' | 'lost'> | undefined;
  /** Call when the child has ended. Ends what may be left and removes the control groups. */
  release(): Promise<void>;
}

const startTimeoutMs = 30_000;

/**
 * Resolves when the command is about to run inside; leaves nothing behind when it throws. Everything inside ends with the thread that
 * called this, even if that is killed: call it from the main thread.
 */
export async function startBubblewrap(options: BubblewrapOptions): Promise<BubblewrapProcess> {
  if (!/^[a-z0-9-]{1,40}$/.test(options.name) || !/^[0-9a-f]{1,64}$/.test(options.installation)) {
    throw new HermeticError('sandbox/open-failed', `${options.name} of ${options.installation} is not a name for a sandbox.`);
  }
  for (const mount of options.mounts) normalMount(mount, reservedTargets);
  refuseObstacle(options.network);
  await staging.checkSources(options.mounts);
  const program = findProgram('bwrap');
  if (program === undefined) throw failureError(notInstalled());
  const user = await staging.hostUserHere(options.name);
  const attempt: Attempt = { program, user, without: new Set(), versions: staging.groupVersions(user) };
  for (;;) {
    const started = await startOnce(options, attempt);
    if ('child' in started) return started;
    if (!dropUnsupportedOption(started.stderr, attempt)) throw await startError(started.stderr);
  }
}

interface Attempt {
  program: string;
  without: Set<Dispensable>;
  /** Of control groups. */
  versions: readonly (1 | 2)[];
  /** The host user to become; undefined: stay who we are. */
  user: number | undefined;
}

/** Drops an option that this bubblewrap refuses and the sandbox can be without. False: there is none. */
function dropUnsupportedOption(stderr: string, attempt: Attempt): boolean {
  const refused = dispensable.find((option) => !attempt.without.has(option) && refuses(stderr, option));
  if (refused !== undefined) attempt.without.add(refused);
  const isKeptOut = refused === undefined && attempt.versions.includes(1) && /\/tasks: /.test(stderr);
  if (isKeptOut) attempt.versions = [2];
  return refused !== undefined || isKeptOut;
}

async function startOnce(options: BubblewrapOptions, attempt: Attempt): Promise<BubblewrapProcess | { stderr: string }> {
  const { program, user, without } = attempt;
  // Before the process starts: the network must follow it at once.
  const [gate, stageScript, networkScript] = await Promise.all([
    guestBash('bubblewrap-gate'),
    hostBash('sandbox-stage'),
    hostBash('sandbox-network'),
  ]);
  const inside = [...staging.bash, gate, 'sandbox', ...options.command];
  const child = started(spawnLauncher(program, inside, user === undefined ? undefined : stageScript));
  const { stdin, stderr, args, filter, ready, stageStream, info, etcStreams } = streamsOf(child);
  let network: SandboxNetwork | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
  let isRunning = false;
  child.once('exit', () => {
    if (!isRunning) killGroup(child.pid);
    void network?.end();
  });
  const errorText = beginningOf(stderr);
  // A pipe breaks when the other end is gone, and the end of the process tells that better.
  for (const stream of [stdin, args, filter, ready, stageStream, info, ...etcStreams.values()]) stream.on('error', () => undefined);

  let groups: ControlGroups | undefined;
  const release = async (): Promise<void> => {
    await network?.end();
    await groups?.remove();
  };
  try {
    network = startNetwork(options.network, networkScript, { group: child.pid, info, user });
    const hierarchies = await findHierarchies(attempt.versions);
    // Of its own: the session may be open elsewhere, and the first to end empties and removes its groups.
    const group = `${options.name}-${child.pid}`;
    const { limits } = options;
    const groupLimits = network && limits.pids > 0 ? { ...limits, pids: limits.pids + network.processes } : limits;
    groups = await makeControlGroups(options.installation, group, groupLimits, hierarchies);
    const stage = user === undefined ? undefined : await prepareStage(options, user, groups.entrances);
    stageStream.end(staging.terminated(stage?.words ?? []));
    // Both wait for what is written to them, so they are under the limits before they do anything.
    await network?.enter(groups);
    await groups.add(child.pid);
    args.end(staging.terminated(await bubblewrapArguments(viewOf(options, stage?.places), without)));
    filter.end(seccompFilter());
    const handedOver = handOverFiles(etcStreams, network, options.network);
    const isUp = once(ready, 'data').then(() => 'ready' as const);
    const started = Promise.race([isUp, ended.then(() => 'ended' as const), failureOf(handedOver, ended)]);
    const outcome = await within({ ms: startTimeoutMs, ref: false }, started, () => {
      throw new HermeticError('sandbox/open-failed', `bubblewrap did not start in ${startTimeoutMs / 1000} s.`);
    });
    if (outcome === 'ready') {
      isRunning = true;
      const { processes, dataKilobytes } = resourceLimits(options.limits, groups);
      stdin.write(`${processes} ${dataKilobytes}\n`);
      errorText.stop();
      return { child, enforcement: enforcementWith(groups.held, 'bubblewrap'), counter: groups.counter, door: await handedOver, release };
    }
    await release();
    if (errorText.text() === '') await handedOver;
    return { stderr: errorText.text() };
  } catch (error) {
    // The process inside may not die with bubblewrap yet. Its pipes are closed, so it ends by itself.
    for (const stream of child.stdio) stream?.destroy();
    await settlesWithin({ ms: startTimeoutMs / 10, ref: false }, ended);
    child.kill('SIGKILL');
    await ended;
    await release();
    throw error;
  }
}

/**
 * The file of the resolver comes when the network is there. Until bubblewrap has read it, its process inside stays in the user namespace that
 * owns the network; from the one it moves to then, nothing could be attached any more.
 */
async function handOverFiles(
  files: Streams['etcStreams'],
  network: SandboxNetwork | undefined,
  choice: NetworkChoice,
): Promise<Door | undefined> {
  const isLate = (name: string): boolean => network !== undefined && name === 'resolv.conf';
  for (const [name, stream] of files) if (!isLate(name)) stream.end(generatedEtc[name]);
  const door = await network?.connect();
  for (const [name, stream] of files) if (isLate(name)) stream.end(resolverOf(choice));
  return door;
}

/** A process inside that still waits for its maps does not die with bubblewrap. Its group has this number for as long as it is there. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // There is none.
  }
}

/** Rejects when the work fails, and otherwise never settles. Where bubblewrap fails too, its end is the better account. */
async function failureOf(work: Promise<unknown>, ended: Promise<void>): Promise<never> {
  await work.catch(async (error: unknown) => {
    await settlesWithin({ ms: 500, ref: false }, ended);
    throw error;
  });
  return await new Promise<never>(() => undefined);
}

interface Streams {
  stdin: Writable;
  stderr: Readable;
  args: Writable;
  filter: Writable;
  ready: Readable;
  stageStream: Writable;
  info: Duplex;
  etcStreams: ReadonlyMap<string, Writable>;
}

function streamsOf(child: ChildProcess): Streams {
  const all = child.stdio as unknown as Duplex[];
  const at = (descriptor: number): Duplex => all[descriptor] as Duplex;
  return {
    stdin: at(0),
    stderr: at(2),
    args: at(descriptors.argumentsDescriptor),
    filter: at(descriptors.seccompDescriptor),
    ready: at(descriptors.readyDescriptor),
    stageStream: at(staging.stageDescriptor),
    info: at(descriptors.infoDescriptor),
    etcStreams: new Map([...descriptors.etcDescriptors].map(([name, descriptor]) => [name, at(descriptor)])),
  };
}

/** Security: the arguments, and with them environment and paths, go through descriptors. A command line can be read by every user. */
function spawnLauncher(program: string, inside: readonly string[], stageScript: string | undefined): ChildProcess {
  const [argumentsAt, seccompAt] = [String(descriptors.argumentsDescriptor), String(descriptors.seccompDescriptor)];
  const bubblewrap = [program, '--args', argumentsAt, '--seccomp', seccompAt, '--', ...inside];
  const stage = ['unshare', '--mount', '--propagation', 'slave', '--', ...staging.bash, stageScript ?? '', 'sandbox', ...bubblewrap];
  const [file = '', ...rest] = stageScript === undefined ? bubblewrap : stage;
  return spawn(file, rest, {
    stdio: Array.from({ length: descriptors.infoDescriptor + 1 + descriptors.etcDescriptors.size }, () => 'pipe' as const),
    env: { PATH: standardPath },
    cwd: '/',
    // A process group of its own: Ctrl-C at the terminal is for the product to handle.
    detached: true,
  });
}

/** Gives the directories to the user and plans where that user will find them. */
async function prepareStage(options: BubblewrapOptions, user: number, entrances: readonly string[]): Promise<staging.Stage> {
  const { runDirectory, workspace, home } = options;
  await Promise.all([
    workspace && staging.give(workspace, user),
    home && staging.give(home, user),
    runDirectory && staging.shareRunDirectory(runDirectory, user),
  ]);
  return await staging.planStage(user, sourcesOf(options), entrances);
}

function sourcesOf({ runDirectory, workspace, home, mounts }: BubblewrapOptions): (string | undefined)[] {
  return [runDirectory, workspace, home, ...mounts.map((mount) => mount.source)];
}

function viewOf(options: BubblewrapOptions, places: readonly (string | undefined)[] | undefined): View {
  const { env, mounts, limits } = options;
  const [runDirectory, workspace, home, ...sources] = places ?? sourcesOf(options);
  const shown = mounts.map((mount, index) => ({ ...mount, source: sources[index] ?? '' }));
  return {
    runDirectory,
    workspace,
    home,
    mounts: shown,
    etcDescriptors: descriptors.etcDescriptors,
    infoDescriptor: options.network !== 'none' ? descriptors.infoDescriptor : undefined,
    env,
    memoryBytes: Math.round(limits.memoryMb * 1024 * 1024),
  };
}

function refuses(stderr: string, option: Dispensable): boolean {
  if (stderr.includes(`Unknown option ${option}`)) return true;
  return option === '--disable-userns' && /max_user_namespaces|disable.*user namespaces?/i.test(stderr);
}

async function startError(stderr: string): Promise<HermeticError> {
  const failure = await explainFailure(stderr);
  if (failure !== undefined) return failureError(failure);
  return new HermeticError('sandbox/open-failed', `bubblewrap could not start: ${stderr.trim() || 'it ended without a message'}`);
}
