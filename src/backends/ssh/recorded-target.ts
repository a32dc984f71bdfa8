import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The machine that has the files of a session, for when the settings name another one. Beside the record of the sandbox. */
export async function recordTarget(directory: string, target: string): Promise<void> {
  await writeFile(fileIn(directory), target, { mode: 0o600 });
}

/** undefined when none was recorded. */
export async function formerTarget(directory: string): Promise<string | undefined> {
  return await readFile(fileIn(directory), 'utf8').catch(() => undefined);
}

function fileIn(directory: string): string {
  return join(directory, 'target');
}
