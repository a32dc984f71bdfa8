import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withFileLock } from '../../lib/file-lock.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { pathsIn } from '../sandbox-directory.ts';
import type { Engine } from './engine.ts';

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
