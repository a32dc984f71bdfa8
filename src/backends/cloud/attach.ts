import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { OpenSandbox, SandboxSpec } from '../../core/sandbox.ts';
import { within } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { withFileLock } from '../../lib/file-lock.ts';
import { claim, liveAttachments } from '../../shell/pipes/attachments.ts';
import { fileStateStore, memoryStateStore } from '../../shell/state-store.ts';
import type { Attach, AttachedCommand } from '../../shell/streams/attached-command.ts';
import { attachByStreams, type RemotePlace } from '../../shell/streams/stream-spawner.ts';
import { pathsIn } from '../sandbox-directory.ts';
import type { CloudProvider } from './provider.ts';
import { giveUp, readRecord, writeRecord } from './record.ts';
import { watchSandbox } from './watch.ts';

export interface RunningSandbox {
  provider: CloudProvider;
  product: string;
  reference: string;
  spec: SandboxSpec;
  home: string;
  workdir: string;
  /** No process ran in it before. */
  isNew: boolean;
  removeAll(): Promise<void>;
}

/** How long a sandbox that runs may take to answer. */
const answerMs = 20_000;
const ownTroubles: ReadonlySet<string> = new Set(['backend/unavailable', 'backend/not-permitted', 'backend/not-installed']);

export const neededPrograms = 'The image needs bash 5 or newer, coreutils and tar.';

/** A sandbox that runs at a provider, with its shells. When this throws, it still runs. */
export async function attachToCloud(running: RunningSandbox, signal: AbortSignal | undefined): Promise<OpenSandbox> {
  const { provider, product, reference, spec, home, workdir, isNew, removeAll } = running;
  const paths = pathsIn(spec.directory);
  const lock = join(spec.directory, 'lock');
  const claimed = claim(paths.run);
  const watch = watchSandbox(provider, product, reference);
  const over = Promise.withResolvers<string>();
  void watch.ended.then(over.resolve);
  const checkpoints = spec.persistent ? provider.checkpoints : undefined;
  const save = (): Promise<void> => saveCheckpoint(provider, spec.directory, reference);
  // One that cannot be saved now is saved the next time.
  const saving = checkpoints && setInterval(() => void save().catch(() => undefined), checkpoints.everyMs).unref();
  let isOpen = false;
  const finish = (): void => {
    watch.stop();
    clearInterval(saving);
    claimed.release();
  };
  const end = async (): Promise<void> => {
    // One whose first shell does not start is for `open` to decide about.
    if (!isOpen) return;
    try {
      if (spec.persistent) await withFileLock(lock, undefined, () => stopAndRecord(provider, spec.directory, reference));
      else await removeAll();
    } finally {
      // One that could not be ended now is not renewed any more, so that its provider ends it.
      over.resolve('it was ended');
      finish();
    }
  };
  const close = async (): Promise<void> => {
    finish();
    if (!spec.persistent) await removeAll();
    else if (checkpoints) await save();
  };
  const place: RemotePlace = {
    name: spec.name,
    workdir,
    limits: { isNew },
    ended: over.promise,
    end,
    close,
    stop: async () => {
      finish();
      if (spec.persistent) await stopUnused(provider, spec.directory);
      else await removeAll();
    },
    destroy: async () => {
      finish();
      await removeAll();
      over.resolve('it was removed');
    },
    endsByDestroying: true,
    attach: withVariables(watch.attach, { ...spec.env, HOME: home }),
    keep: 'background',
    processes: 'own',
    pulse: provider.pulse,
  };
  try {
    await makeWorkdir(place.attach, workdir, signal);
    const sandbox = await attachByStreams(place, spec.persistent ? fileStateStore(paths.state) : memoryStateStore(), signal);
    isOpen = true;
    return sandbox;
  } catch (error) {
    finish();
    signal?.throwIfAborted();
    // What is wrong on this side is not mended by another sandbox.
    if (error instanceof HermeticError && ownTroubles.has(error.code)) throw error;
    throw new HermeticError('sandbox/open-failed', `No shell starts in a sandbox of ${product}: ${errorText(error)}`, {
      hint: neededPrograms,
      cause: error,
    });
  }
}

/** Nothing of a provider's own variables is kept out: they are not secrets of this machine. */
function withVariables(attach: Attach, variables: Readonly<Record<string, string>>): Attach {
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return (command) => attach(['env', ...assignments, ...command]);
}

/** A session may begin anywhere, also where the image has no directory. One that cannot be made is told by its first command. */
async function makeWorkdir(attach: Attach, workdir: string, signal: AbortSignal | undefined): Promise<void> {
  let making: AttachedCommand | undefined;
  const make = async (): Promise<void> => {
    making = await attach(['mkdir', '-p', '--', workdir]);
    making.stdin.end();
    for (const stream of [making.stdout, making.stderr]) for await (const _ of stream);
  };
  try {
    // Security: what is still there of an earlier command may keep it from ever ending.
    await within({ ms: answerMs, signal }, make(), () => {
      signal?.throwIfAborted();
      throw new Error(`it did not answer in ${answerMs / 1000} s`);
    });
  } finally {
    making?.destroy();
  }
}

/** Ends every process of a sandbox; its files stay. Does nothing to one that its provider has ended. Call it under the lock of the session. */
export async function stopAndRecord(provider: CloudProvider, directory: string, reference: string): Promise<void> {
  const record = readRecord(directory);
  // Another program has replaced it, or given it up.
  if (record?.reference !== reference || (await provider.state(reference)) !== 'running') return;
  const { checkpoints } = provider;
  const stopped = checkpoints ? await checkpoints.save(reference) : await provider.stop(reference);
  if (stopped !== reference) {
    writeRecord(directory, { ...record, reference: stopped, checkpoint: undefined });
    giveUp(directory, reference);
  }
  // Not before it is written down where the files are: a program that dies here leaves one that is listed as left behind.
  if (checkpoints) await provider.remove(reference);
  if (record.checkpoint && stopped !== reference) await checkpoints?.remove(record.checkpoint.reference);
}

/**
 * Stops a sandbox that no program has open. Resolves with false, and it runs on, when one has, or `mayStop` says no. Under the lock: a program that
 * opens it meanwhile attaches before or finds it stopped.
 */
export async function stopUnused(provider: CloudProvider, directory: string, mayStop = async (_: string) => true): Promise<boolean> {
  if (!existsSync(directory)) return true;
  return await withFileLock(join(directory, 'lock'), undefined, async () => {
    const record = readRecord(directory);
    if (!record || (await provider.state(record.reference)) !== 'running') return true;
    if (liveAttachments(pathsIn(directory).run).length > 0 || !(await mayStop(record.reference))) return false;
    await stopAndRecord(provider, directory, record.reference);
    return true;
  });
}

async function saveCheckpoint(provider: CloudProvider, directory: string, reference: string): Promise<void> {
  const { checkpoints } = provider;
  if (!checkpoints || !existsSync(directory)) return;
  await withFileLock(join(directory, 'lock'), undefined, async () => {
    const record = readRecord(directory);
    // Another program has stopped it, and with that saved it.
    if (record?.reference !== reference) return;
    // Its provider has ended it, and there is nothing left to save.
    if ((await provider.state(reference)) !== 'running') return;
    const saved = await checkpoints.save(reference);
    writeRecord(directory, { ...record, checkpoint: { reference: saved, savedAt: new Date().toISOString() } });
    if (record.checkpoint) await checkpoints.remove(record.checkpoint.reference);
  });
}
