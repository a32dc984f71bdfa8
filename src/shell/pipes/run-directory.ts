import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxSpec } from '../../core/sandbox.ts';
import { fileFunction, fileScripts, guestScript } from '../guest-scripts.ts';
import { makePipes } from './named-pipes.ts';

/**
 * Makes the directory of a forker: its scripts and the control pipe. Every user may enter, because the user inside is another one; the
 * directories above keep other people out. The sandbox sees it read-only.
 */
export async function makeRunDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
  await rm(join(path, 'control'), { force: true });
  const scripts = [
    ['forker.bash', guestScript('forker')],
    ['shell.bash', guestScript('pipedShell')],
    ...fileScripts.map((name) => [`file-${name}.bash`, fileFunction(name)] as const),
  ] as const;
  const written = scripts.map(async ([file, text]) => {
    await writeFile(join(path, file), await text);
    await chmod(join(path, file), 0o644);
  });
  await Promise.all([...written, makePipes(path, ['control'])]);
}

/** Of the processes a sandbox may have, for the forker and what watches over its shells. */
const reserved = 8;

/** How many of a sandbox's processes commands may have together, where that can be held apart; 0 is no limit. */
export function maxForCommands(pids: number): number {
  return pids > 2 * reserved ? pids - reserved : 0;
}

/** How long a sandbox stays when no program is attached to it. */
export type Lease = Pick<SandboxSpec, 'idleSeconds' | 'backgroundSeconds'>;

/** For a sandbox that ends when no program is attached to it. */
export const noLease: Lease = { idleSeconds: 0, backgroundSeconds: 0 };

/** Bash counts whole seconds, and 0 has a meaning of its own. */
export function wholeSeconds(seconds: number): string {
  return String(Math.ceil(seconds));
}

export interface ForkerSight {
  /** Which processes it sees: those of its sandbox only, or those of the machine. */
  processes: 'own' | 'shared';
  /** How many of them may be those of commands; only where the sandbox has a user of its own. 0 is no limit. */
  maxForCommands?: number;
}

/** The command line of the forker, where the sandbox sees the run directory at `path`. */
export function forkerCommand(path: string, lease: Lease, { processes, maxForCommands = 0 }: ForkerSight): string[] {
  const times = [lease.idleSeconds, lease.backgroundSeconds].map(wholeSeconds);
  return ['bash', `${path}/forker.bash`, path, String(times[0]), String(maxForCommands), String(times[1]), processes];
}
