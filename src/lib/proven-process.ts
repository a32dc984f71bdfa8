import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openPaths } from './process-facts.ts';

/**
 * The process at the other end of a local connection, which Node cannot ask the kernel for. The other end is told of a new file in a directory that only
 * this user can enter, opens it and says its number: the process of that number must have the file open. undefined when it has not, or
 * when that cannot be seen. Rejects with `ask`.
 */
export async function provenProcess(directory: string, ask: (path: string) => Promise<unknown>): Promise<number | undefined> {
  const path = join(realpathSync(directory), `peer-${randomUUID()}`);
  await writeFile(path, '', { mode: 0o600, flag: 'wx' });
  try {
    const pid = await ask(path);
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid < 1) return undefined;
    return openPaths(pid)?.includes(path) ? pid : undefined;
  } finally {
    await rm(path, { force: true });
  }
}
