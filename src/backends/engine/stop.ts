import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withFileLock } from '../../lib/file-lock.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { Attachment, makeAttachmentPipes } from '../../shell/pipes/forker.ts';
import { hasLeftProcesses } from '../../shell/streams/left-processes.ts';
import { pathsIn } from '../sandbox-directory.ts';
import type { Engine } from './engine.ts';
import { attachTo } from './transport.ts';

/**
 * Stops the container of a sandbox and keeps it with what was installed in it. Resolves with false, and it runs on, when a program is attached to
 * it or `mayStop` says no. Under the lock: a program that opens it meanwhile attaches before or finds it stopped.
 */
export async function stopUnused(engine: Engine, container: string, directory: string, mayStop = async () => true): Promise<boolean> {
  if (!existsSync(directory)) return true;
  return await withFileLock(join(directory, 'lock'), undefined, async () => {
    const found = await engine.inspect(container);
    if (!found?.running) return true;
    if (liveAttachments(pathsIn(directory).run).length > 0 || !(await mayStop())) return false;
    await engine.kill(found.id);
    return true;
  });
}

/**
 * Whether a process that a command left in a container runs there; asked from outside, when no program is attached. Doubt counts as yes, as where
 * the directory of its sandbox is not known.
 */
export async function hasLeft(engine: Engine, container: string, directory: string | undefined): Promise<boolean> {
  if (await engine.isLibpod()) return directory === undefined || (await forkerHasLeft(engine, container, pathsIn(directory).run));
  return await hasLeftProcesses(attachTo(engine, container));
}

/** An exec of libpod leaves processes of its own for minutes, so its forker is asked. */
async function forkerHasLeft(engine: Engine, container: string, runDirectory: string): Promise<boolean> {
  const over = new AbortController();
  const ended = engine.wait(container, { signal: over.signal }).then(
    ({ reason }) => reason,
    () => 'the engine does not answer',
  );
  try {
    const attachment = await Attachment.open(runDirectory, await makeAttachmentPipes(runDirectory), ended);
    return await attachment.hasLiveProcesses().finally(() => attachment.close());
  } catch {
    return true;
  } finally {
    over.abort();
  }
}
