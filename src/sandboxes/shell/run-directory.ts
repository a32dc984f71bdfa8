import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePipes } from './named-pipes.ts';

const guestDirectory = fileURLToPath(new URL('../../../guest/', import.meta.url));

const scripts = ['forker.bash', 'shell.bash'];

/** Changes when a running forker would no longer understand us. */
export async function guestVersion(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of scripts) hash.update(await readFile(join(guestDirectory, name)));
  return hash.digest('hex').slice(0, 12);
}

/**
 * What a forker needs: its two scripts and the control pipe. Everybody may enter, because the user inside is another one; the
 * directories above keep other people out. The sandbox sees it read-only.
 */
export async function makeRunDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
  await rm(join(path, 'control'), { force: true });
  const copies = scripts.map(async (name) => {
    await copyFile(join(guestDirectory, name), join(path, name));
    await chmod(join(path, name), 0o644);
  });
  await Promise.all([...copies, makePipes(path, ['control'])]);
}

/** The command line of the forker, where the sandbox sees the run directory at `path`. */
export function forkerCommand(path: string, leaseSeconds: number): string[] {
  return ['bash', `${path}/forker.bash`, path, String(leaseSeconds)];
}
