import { setTimeout as sleep } from 'node:timers/promises';
import type { Egress } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import type { OpenSandbox, SandboxSpec } from '../../core/sandbox.ts';
import { errorText } from '../../lib/error-text.ts';
import { type Claim, claim } from '../../shell/pipes/attachments.ts';
import { type AttachmentPipes, attachToForker, makeAttachmentPipes } from '../../shell/pipes/forker.ts';
import type { Place } from '../../shell/shell-sandbox.ts';
import { fileStateStore, memoryStateStore } from '../../shell/state-store.ts';
import { attachByStreams } from '../../shell/streams/stream-spawner.ts';
import { pathsIn } from '../sandbox-directory.ts';
import { placesInside } from './container.ts';
import { countsOf } from './container-counts.ts';
import { ContainerDoor } from './door.ts';
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
  /** When its pipes are being made already. */
  attachment?: { claimed: Claim; pipes: Promise<AttachmentPipes> } | undefined;
  /** For a restricted network. */
  egress: Egress;
  /** Removes the container. */
  remove(): Promise<void>;
  removeFiles(): Promise<void>;
}

/** A running container as a sandbox. When this throws, no shell of ours is in the container; one in which none starts is gone. */
export async function attachToContainer(container: RunningContainer, signal: AbortSignal | undefined): Promise<OpenSandbox> {
  const { engine, id, spec, isForked, found, egress, remove, removeFiles } = container;
  const isNew = !found;
  const paths = pathsIn(spec.directory);
  const waiting = new AbortController();
  const claimed = container.attachment?.claimed ?? claim(paths.run);
  const unclaim = (): void => claimed.release();
  const pipes = isForked ? (container.attachment?.pipes ?? makeAttachmentPipes(paths.run, claimed.name)) : undefined;
  const door = spec.network === 'restricted' ? new ContainerDoor({ egress, engine, id, runDirectory: paths.run }) : undefined;
  const removeAll = async (): Promise<void> => {
    await remove();
    await removeFiles();
  };
  const end = async (): Promise<void> => {
    await door?.close();
    await (spec.persistent ? engine.kill(id) : removeAll());
  };
  const close = async (): Promise<void> => {
    waiting.abort();
    unclaim();
    await door?.close();
    if (!spec.persistent) await removeAll();
  };
  const place: Place = {
    name: spec.name,
    workdir: placesInside(spec).workdir,
    limits: isForked ? { read: countsOf(engine, id, found), isCheap: true, isNew } : { isNew },
    network: door,
    ended: endWithDoor(containerEnd(engine, id, waiting.signal), door, end),
    end,
    close,
    stop: async () => {
      await close();
      if (spec.persistent) await stopUnused(engine, id, spec.directory);
    },
    destroy: async () => {
      unclaim();
      await door?.close();
      await removeAll();
    },
  };
  const store = spec.persistent ? fileStateStore(paths.state) : memoryStateStore();
  // Beside the shells, which take about as long.
  const opening = openAt(door, pipes, signal);
  let sandbox: OpenSandbox;
  try {
    const streams = { attach: attachTo(engine, id), keep: 'background', processes: 'own' } as const;
    sandbox = isForked
      ? await attachToForker({ ...place, runDirectory: paths.run, pipes }, store, signal)
      : await attachByStreams({ ...place, ...streams }, store, signal);
  } catch (error) {
    unclaim();
    await door?.close();
    // A new container may not have the fault that keeps a shell from starting in this one.
    await engine.remove(id);
    signal?.throwIfAborted();
    throw new HermeticError('sandbox/open-failed', `No shell starts in a container of ${spec.image}: ${errorText(error)}`, {
      hint: 'The image needs bash 5 or newer and coreutils.',
      cause: error,
    });
  }
  try {
    await opening;
    return sandbox;
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** Its rejection may be awaited later. */
function openAt(door: ContainerDoor | undefined, pipes: Promise<AttachmentPipes> | undefined, signal?: AbortSignal): Promise<void> {
  const open = async (): Promise<void> => {
    if (!door) return;
    // Security: without a forker the namespace could not be told from another one.
    if (!pipes) throw new HermeticError('backend/cannot-honour', 'The network of this container cannot be restricted.');
    await door.open((await pipes).name, signal);
  };
  const opening = open();
  opening.catch(() => undefined);
  return opening;
}

/** A container without its way out is ended, and the reason is that of the door. */
async function endWithDoor(ended: Promise<string>, door: ContainerDoor | undefined, end: () => Promise<void>): Promise<string> {
  if (!door) return await ended;
  const over = Promise.withResolvers<string>();
  let cause: string | undefined;
  void ended.then((reason) => over.resolve(cause ?? reason));
  void door.lost.then(async (reason) => {
    cause = `its network was lost: ${reason}`;
    // An engine that cannot end it now is not waited for.
    await end().catch(() => over.resolve(cause ?? reason));
  });
  const reason = await over.promise;
  await door.close();
  return reason;
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
