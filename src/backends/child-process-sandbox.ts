import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Door } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import type { DiskUse, ListedSandbox, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { descendantsOf } from '../lib/process-facts.ts';
import { lifeOf } from '../lib/process-name.ts';
import type { LimitSource } from '../shell/limit-watch.ts';
import { type Claim, claim, endProcess, forkerProcess, liveAttachments, writeProcess } from '../shell/pipes/attachments.ts';
import { attachToForker } from '../shell/pipes/forker.ts';
import { makeRunDirectory } from '../shell/pipes/run-directory.ts';
import { fileStateStore, memoryStateStore } from '../shell/state-store.ts';
import { diskUseOf } from './disk-use.ts';
import { listDirectories, makeSandboxDirectory, pathsIn, removeSandboxDirectory, removeTree } from './sandbox-directory.ts';

/** A process that runs the forker, and is a sandbox or makes one. */
export interface ForkerProcess {
  child: ChildProcess;
  /** undefined where limit hits are not counted. */
  limits: LimitSource | undefined;
  /** Tells which connections failed; undefined where the network is not restricted. The child is ended when it is lost. */
  network?: Pick<Door, 'watch' | 'lost'> | undefined;
  /** Called when the child has ended. */
  release(): Promise<void>;
}

export interface ChildProcessSandboxOptions {
  spec: SandboxSpec;
  workdir: string;
  /** Starts the forker on this run directory. Leaves nothing behind when it throws. `isNew` when the session has no files yet. */
  start(runDirectory: string, isNew: boolean): Promise<ForkerProcess>;
  /** How long the forker may take to end everything when it is told to, before it is killed. 0 where killing ends everything. */
  endDeadlineMs: number;
}

/** How long a forker may take to notice that no program is attached any more. */
const closeDeadlineMs = 10_000;

/** A sandbox of processes of this machine that lives as long as this program. Only its files and its state return. */
export async function openChildProcessSandbox(
  { spec, workdir, start, endDeadlineMs }: ChildProcessSandboxOptions,
  signal?: AbortSignal,
): Promise<OpenSandbox> {
  const isNew = await makeSandboxDirectory(spec);
  const paths = pathsIn(spec.directory);
  liveAttachments(paths.run);
  const { directory: runDirectory, release: unclaim } = await claimIn(spec.directory, isNew);
  const removeFiles = async (): Promise<void> => {
    await removeTree(spec.persistent ? runDirectory : spec.directory);
    unclaim();
  };
  try {
    await makeRunDirectory(runDirectory);
    signal?.throwIfAborted();
    const { child, limits, network, release } = await start(runDirectory, isNew);
    const ended = endOf(child, network?.lost);
    if (child.pid !== undefined) writeProcess(runDirectory, child.pid);
    const close = async (): Promise<void> => {
      child.ref();
      await within(closeDeadlineMs, ended, () => {
        child.kill('SIGKILL');
        return ended;
      });
      await release();
      await removeFiles();
    };
    const end = async (): Promise<void> => {
      await endProcess(runDirectory, endDeadlineMs);
      await close();
    };
    const store = spec.persistent ? fileStateStore(paths.state) : memoryStateStore();
    const destroy = async (): Promise<void> => {
      await removeSandboxDirectory(spec.directory);
      unclaim();
    };
    // The forker ends, with all it started, when it notices that no program is attached any more.
    const place = { name: spec.name, runDirectory, workdir, limits, network, ended, end, close, stop: close, destroy };
    return await attachToForker(place, store, signal);
  } catch (error) {
    if (isNew) await removeTree(spec.directory);
    await removeFiles();
    signal?.throwIfAborted();
    if (error instanceof HermeticError) throw error;
    throw new HermeticError('sandbox/open-failed', `The sandbox could not be started: ${errorText(error)}`, { cause: error });
  }
}

async function claimIn(directory: string, isNew: boolean): Promise<Claim> {
  try {
    return claim(pathsIn(directory).run);
  } catch (error) {
    if (isNew) await removeTree(directory);
    throw error;
  }
}

/** Of the directory of a sandbox, and of what its processes hold open, whichever program started them. */
export async function childProcessDiskUse(directory: string): Promise<DiskUse> {
  const { run } = pathsIn(directory);
  const forkers = liveAttachments(run).flatMap((name) => forkerProcess(join(run, name)) ?? []);
  const trees = await Promise.all(forkers.map(async (pid) => [pid, ...(await descendantsOf(pid))]));
  return await diskUseOf([directory], trees.flat());
}

/** Nothing of the child keeps this program running. Kills it when its network is lost. */
function endOf(child: ChildProcess, networkLost: Promise<string> | undefined): Promise<string> {
  child.unref();
  for (const stream of child.stdio) (stream as { unref?(): void } | null | undefined)?.unref?.();
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve('its process was ended');
  let cause = 'its process was ended';
  void networkLost?.then((reason) => {
    cause = `its network was lost (${reason})`;
    child.kill('SIGKILL');
  });
  return new Promise((resolve) => {
    child.once('exit', () => resolve(cause));
    child.once('error', (error) => resolve(error.message));
  });
}

export async function listChildProcessSandboxes(backendDirectory: string, endDeadlineMs: number): Promise<ListedSandbox[]> {
  const { records, bare } = await listDirectories(backendDirectory);
  return [...records, ...bare].map((record) => {
    const { run } = pathsIn(record.directory);
    return {
      ...record,
      state: liveAttachments(run).length > 0 ? 'running' : 'stopped',
      // One that runs is held by a living program, so it is not stopped from here.
      stop: async () => liveAttachments(run).length === 0,
      destroy: async () => {
        const attached = liveAttachments(run);
        if (attached.some((name) => lifeOf(name) === 'unknown')) throw unseenProgram(record.session);
        await Promise.all(attached.map((name) => endProcess(join(run, name), endDeadlineMs)));
        await removeSandboxDirectory(record.directory);
      },
    };
  });
}

/** Its processes cannot be ended from here, and files that they use are not removed. */
function unseenProgram(session: string): HermeticError {
  return new HermeticError(
    'sandbox/in-use',
    `The sandbox of ${session || 'no session'} is open in a program that cannot be seen from here.`,
    {
      hint: 'Close it there, or run this command in the container or process namespace of that program.',
    },
  );
}
