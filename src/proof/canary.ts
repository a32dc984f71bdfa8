import { lstat, open, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lifeOf, processName } from '../lib/process-name.ts';
import { type Bait, token } from './bait.ts';

export interface Canary extends Bait {
  path: string;
  /** Content of the file: random, so that only a reader of the file can know it. */
  secret: string;
}

/** Those of earlier versions, which end with fewer numbers, are known by their age alone. */
const namePattern = /^hermetic-proof-((?:[0-9a-f]+-)?\d+-\d+-\d+-[0-9a-f]+|[0-9a-f]{32})$/;
/** A proof takes seconds. */
const staleMs = 24 * 60 * 60 * 1000;

/** A file with no protection but its place. Its name tells which process made it, so that a later sweep can remove it when that process is dead. */
export async function plantCanary(directory: string): Promise<Canary> {
  const path = join(await realpath(directory), `hermetic-proof-${processName()}${token()}`);
  const secret = token();
  // Security: made anew, so that no link in a directory that others can write is followed.
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(`${secret}\n`);
    await file.chmod(0o644);
  } finally {
    await file.close();
  }
  return { path, secret, remove: () => rm(path, { force: true }) };
}

/** Removes canaries of this user whose programs have died. What cannot be looked at or removed is left. Never rejects. */
export async function sweepCanaries(hermeticHome: string): Promise<void> {
  for (const directory of canaryDirectories(hermeticHome)) await sweepDirectory(directory);
}

/** Where a proof puts them. */
export function canaryDirectories(hermeticHome: string): [temporary: string, home: string] {
  return [tmpdir(), hermeticHome];
}

async function sweepDirectory(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const [, program] = namePattern.exec(name) ?? [];
    if (program === undefined) continue;
    const path = join(directory, name);
    const found = await lstat(path).catch(() => undefined);
    if (!found?.isFile() || found.uid !== process.getuid?.()) continue;
    const life = lifeOf(program);
    const isLeft = life === 'unknown' ? Date.now() - found.mtimeMs > staleMs : life === 'dead';
    if (isLeft) await rm(path, { force: true }).catch(() => undefined);
  }
}
