import { setTimeout as sleep } from 'node:timers/promises';
import type { Door } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import type { OpenSandbox, SandboxSpec } from '../../core/sandbox.ts';
import { errorText } from '../../lib/error-text.ts';
import { claim } from '../../shell/pipes/attachments.ts';
import type { AttachmentPipes } from '../../shell/pipes/forker.ts';
import { attachToForker } from '../../shell/pipes/forker.ts';
import type { Place } from '../../shell/shell-sandbox.ts';
import { fileStateStore, memoryStateStore } from '../../shell/state-store.ts';
import { attachByStreams } from '../../shell/streams/stream-spawner.ts';
import { pathsIn } from '../sandbox-directory.ts';
import { placesInside } from './container.ts';
import { countsOf } from './container-counts.ts';
import type { ContainerState, Engine } from './engine.ts';
import { stopUnused } from './stop.ts';
import { attachTo } from './transport.ts';

const lookAttempts = 5;
const lookPauseMs = 1_000;

export interface RunningContainer {
  engine: Engine;
  id: string;
  spec: SandboxSpec;
  /** Whether a forker runs in it, or a keeper. */
  isForked: boolean;
  /** How it was found running; undefined when nothing ran in it before. */
  found: ContainerState | undefined;
  /** When they are being made already. */
  pipes?: Promise<AttachmentPipes> | undefined;
  /** Tells which connections failed; undefined where the network is not restricted. */
  network?: Pick<Door, 'watch'> | undefined;
  /** Removes the container. */
  remove(): Promise<void>;
  removeFiles(): Promise<void>;
}

/** A running container as a sandbox. When this throws, the container is gone. */
export async function attachToContainer(container: RunningContainer, signal: AbortSignal | undefined): Promise<OpenSandbox> {
  const { engine, id, spec, isForked, found, pipes, network, remove, removeFiles } = container;
  const isNew = !found;
  const paths = pathsIn(spec.directory);
  const waiting = new AbortController();
  const unclaim = isForked ? () => undefined : claim(paths.run);
  const removeAll = async (): Promise<void> => {
    await remove();
    await removeFiles();
  };
  const close = async (): Promise<void> => {
    waiting.abort();
    unclaim();
    if (!spec.persistent) await removeAll();
  };
  const place: Place = {
    name: spec.name,
    workdir: placesInside(spec).workdir,
    limits: isForked ? { read: countsOf(engine, id, found), isCheap: true, isNew } : { isNew },
    network,
    ended: containerEnd(engine, id, waiting.signal),
    end: () => (spec.persistent ? engine.kill(id) : removeAll()),
    close,
    stop: async () => {
      await close();
      if (spec.persistent) await stopUnused(engine, id, spec.directory);
    },
    destroy: async () => {
      unclaim();
      await removeAll();
    },
  };
  const store = spec.persistent ? fileStateStore(paths.state) : memoryStateStore();
  try {
    if (isForked) return await attachToForker({ ...place, runDirectory: paths.run, pipes }, store, signal);
    const streams = { attach: attachTo(engine, id), keep: 'background', processes: 'own' } as const;
    return await attachByStreams({ ...place, ...streams }, store, signal);
  } catch (error) {
    unclaim();
    // A new container may not have the fault that keeps a shell from starting in this one.
    await engine.remove(id);
    signal?.throwIfAborted();
    throw new HermeticError('sandbox/open-failed', `No shell starts in a container of ${spec.image}: ${errorText(error)}`, {
      hint: 'The image needs bash 5 or newer and coreutils.',
      cause: error,
    });
  }
}

/** Resolves with the reason when the container has ended. A cut connection is none: the container is looked for again. */
async function containerEnd(engine: Engine, id: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    try {
      return (await engine.wait(id, { signal })).reason;
    } catch (error) {
      const state = await lookAgain(engine, id, signal);
      if (state !== 'running') return state ?? errorText(error);
    }
  }
}

/** undefined when the engine does not answer. */
async function lookAgain(engine: Engine, id: string, signal: AbortSignal): Promise<string | undefined> {
  for (let attempt = 0; attempt < lookAttempts && !signal.aborted; attempt++) {
    try {
      const found = await engine.inspect(id, { signal });
      if (!found) return 'the container was removed';
      return found.running ? 'running' : `the container stopped with code ${found.exitCode}`;
    } catch {
      await sleep(lookPauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
  return undefined;
}
