import { closeSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isKernelLocked, takeKernelLock } from '../../lib/kernel-lock.ts';
import { descendantsOf } from '../../lib/process-facts.ts';
import { isProcessName, lifeOf, livePid, processName } from '../../lib/process-name.ts';
import { openForWriting } from './named-pipes.ts';

/** The directory of one program in a run directory. While the program has the claim, every other one knows that it is attached. */
export interface Claim {
  name: string;
  directory: string;
  /** Also removes the directory. May be called again. */
  release(): void;
}

/** Lets others see that this process is attached, also those of another process namespace. */
export function claim(runDirectory: string): Claim {
  const name = processName();
  const directory = join(runDirectory, name);
  const path = lockOf(runDirectory, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Before the directory: one without a lock counts as left behind.
  let lock = takeKernelLock(path);
  const release = (): void => {
    try {
      rmSync(directory, { recursive: true, force: true });
    } finally {
      rmSync(path, { force: true });
      lock?.close();
      lock = undefined;
    }
  };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 });
  } catch (error) {
    release();
    throw error;
  }
  return { name, directory, release };
}

/** Security: beside the run directory, where no sandbox can reach it: a process inside must not look like an attached program. */
function lockOf(runDirectory: string, name: string): string {
  return join(dirname(runDirectory), 'attached', name);
}

/** Writes down which process runs the forker of this run directory, for those who did not start it. */
export function writeProcess(runDirectory: string, pid: number): void {
  writeFileSync(join(runDirectory, 'process'), processName(pid), { mode: 0o600 });
}

/** The one that runs the forker of this run directory; undefined when it does not run any more, or cannot be seen from here. */
export function forkerProcess(runDirectory: string): number | undefined {
  return livePid(contentOf(join(runDirectory, 'process')));
}

/** How long the processes of one that was killed may take to die. Those that are not in a sandbox may have found a way to live on. */
const deathDeadlineMs = 5_000;

/**
 * Tells a forker to end with everything it started, and kills the process that runs it after so long. Resolves when they are gone. Security: does
 * nothing when that process is one of another process namespace, where its number means another process.
 */
export async function endProcess(runDirectory: string, deadlineMs: number): Promise<void> {
  const name = contentOf(join(runDirectory, 'process'));
  if (livePid(name) === undefined) return;
  // Held until the end: what is written to a pipe that a starting forker has not opened yet would go when we close it.
  const control = openForWriting(join(runDirectory, 'control'));
  try {
    const deadline = Date.now() + deadlineMs;
    if (deadlineMs > 0) tell(control, 'stop\n');
    let orphans: string[] = [];
    for (let pid = livePid(name); pid !== undefined; pid = livePid(name)) {
      if (Date.now() >= deadline) {
        if (orphans.length === 0) orphans = (await descendantsOf(pid)).map((orphan) => processName(orphan));
        if (livePid(name) === pid) killIfThere(pid);
      }
      await sleep(5);
    }
    // The kernel kills them for it, a moment later.
    const areAlive = (): boolean => orphans.some((orphan) => lifeOf(orphan) === 'alive');
    for (const late = Date.now() + deathDeadlineMs; areAlive() && Date.now() < late; await sleep(5));
  } finally {
    closeSync(control);
  }
}

/** Security: a full pipe must not keep the forker from being killed in the end. */
function tell(control: number, text: string): void {
  try {
    writeSync(control, text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
}

/** Directories in `runDirectory` of processes that still run, ours included. Those of dead ones are removed, as far as that is possible. */
export function liveAttachments(runDirectory: string): string[] {
  return entries(runDirectory).filter((name) => {
    if (!isProcessName(name)) return false;
    const life = lifeOf(name);
    const lock = lockOf(runDirectory, name);
    if (life === 'alive' || (life === 'unknown' && isKernelLocked(lock))) return true;
    removeIfPossible(join(runDirectory, name));
    removeIfPossible(lock);
    return false;
  });
}

/** What cannot be removed is left: a dead program must not keep the living ones out. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The next one tries again.
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Empty when it has just gone. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function entries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
