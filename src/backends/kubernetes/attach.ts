import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { OpenSandbox, SandboxSpec } from '../../core/sandbox.ts';
import { errorText } from '../../lib/error-text.ts';
import { withFileLock } from '../../lib/file-lock.ts';
import { claim, liveAttachments } from '../../shell/pipes/attachments.ts';
import { fileStateStore, memoryStateStore } from '../../shell/state-store.ts';
import { attachByStreams, type RemotePlace } from '../../shell/streams/stream-spawner.ts';
import { pathsIn } from '../sandbox-directory.ts';
import { type Reference, referenceTo } from './objects.ts';
import { podState } from './pod-state.ts';
import type { Pods } from './pods.ts';
import type { PodWatch } from './watch.ts';

export interface RunningPod {
  pods: Pods;
  watch: PodWatch;
  pod: Reference;
  spec: SandboxSpec;
  workdir: string;
  /** Nothing ran in it before. */
  isNew: boolean;
  /** What belongs to the sandbox besides the pod. */
  removeFiles(): Promise<void>;
}

/** The connections of a program that is frozen, or whose machine is cut off, stay open: neither the API server nor a node notices in bounded time. */
const pulse = { everyMs: 3_000, silenceSeconds: 15 };

/** A running pod as a sandbox. When this throws, no shell of ours is in the pod; a new one is gone, and one that was there before is still there. */
export async function attachToPod(running: RunningPod, signal: AbortSignal | undefined): Promise<OpenSandbox> {
  const { pods, watch, pod, spec, workdir, isNew, removeFiles } = running;
  const paths = pathsIn(spec.directory);
  const claimed = claim(paths.run);
  const over = Promise.withResolvers<string>();
  const following = watch.ended(pod);
  void following.reason.then(over.resolve);
  let isOpen = false;
  const remove = async (): Promise<void> => {
    await pods.remove(pod);
    over.resolve('it was ended');
    following.stop();
  };
  const removeAll = async (): Promise<void> => {
    await remove();
    await removeFiles();
  };
  const close = async (): Promise<void> => {
    claimed.release();
    if (spec.persistent) following.stop();
    else await removeAll();
  };
  const place: RemotePlace = {
    name: spec.name,
    workdir,
    limits: { isNew },
    ended: over.promise,
    // A pod that was there before holds the files of a session: it is not given up because its first shell does not start.
    end: async () => {
      if (isOpen || isNew) await (spec.persistent ? remove() : removeAll());
    },
    close,
    stop: async () => {
      await close();
      if (spec.persistent) await stopUnused(pods, pod.name, spec.directory);
    },
    destroy: async () => {
      claimed.release();
      await removeAll();
    },
    attach: pods.attachTo(pod.name),
    keep: 'background',
    processes: 'own',
    pulse,
  };
  try {
    const sandbox = await attachByStreams(place, spec.persistent ? fileStateStore(paths.state) : memoryStateStore(), signal);
    isOpen = true;
    return sandbox;
  } catch (error) {
    claimed.release();
    following.stop();
    signal?.throwIfAborted();
    throw new HermeticError('sandbox/open-failed', `No shell starts in a pod of ${spec.image}: ${errorText(error)}`, {
      hint: 'The image needs bash 5 or newer and coreutils.',
      cause: error,
    });
  }
}

/**
 * Ends the pod of a sandbox; a claim stays. Resolves with false, and it runs on, when a program is attached to it or `mayStop` says no. Under the
 * lock: a program that opens it meanwhile attaches before or finds it gone.
 */
export async function stopUnused(pods: Pods, name: string, directory: string, mayStop = async () => true): Promise<boolean> {
  if (!existsSync(directory)) return true;
  return await withFileLock(join(directory, 'lock'), undefined, async () => {
    const found = await pods.find(name);
    if (!found) return true;
    const isRunning = podState(found).kind !== 'ended';
    if (isRunning && (liveAttachments(pathsIn(directory).run).length > 0 || !(await mayStop()))) return false;
    await pods.remove(referenceTo(found));
    return true;
  });
}
