import { closeSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { descendantsOf } from '../../lib/process-facts.ts';
import { isAlive, isProcessName, processName } from '../../lib/process-name.ts';
import { openForWriting } from './named-pipes.ts';

/** Lets others see that this process is attached, where that takes no pipes. Returns what takes it back. */
export function claim(runDirectory: string): () => void {
  const path = join(runDirectory, processName());
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return () => rmSync(path, { recursive: true, force: true });
}

/** Writes down which process runs the forker of this run directory, for those who did not start it. */
export function writeProcess(runDirectory: string, pid: number): void {
  writeFileSync(join(runDirectory, 'process'), processName(pid), { mode: 0o600 });
}

/** The one that runs the forker of this run directory; undefined when it does not run any more. */
export function forkerProcess(runDirectory: string): number | undefined {
  const name = contentOf(join(runDirectory, 'process'));
  return isAlive(name) ? Number.parseInt(name, 10) : undefined;
}

/** How long the processes of one that was killed may take to die. Those that are not in a sandbox may have found a way to live on. */
const deathPatienceMs = 5_000;

/** Tells a forker to end with everything it started, and kills the process that runs it after so long. Resolves when they are gone. */
export async function endProcess(runDirectory: string, patienceMs: number): Promise<void> {
  const name = contentOf(join(runDirectory, 'process'));
  if (!isAlive(name)) return;
  // Held until the end: what is written to a pipe that a starting forker has not opened yet would go when we close it.
  const control = openForWriting(join(runDirectory, 'control'));
  try {
    const deadline = Date.now() + patienceMs;
    if (patienceMs > 0) tell(control, 'stop\n');
    let orphans: string[] = [];
    for (; isAlive(name); await sleep(5)) {
      if (Date.now() < deadline) continue;
      const pid = Number.parseInt(name, 10);
      if (orphans.length === 0) orphans = (await descendantsOf(pid)).map((orphan) => processName(orphan));
      if (isAlive(name)) killIfThere(pid);
    }
    // The kernel kills them for it, a moment later.
    for (const late = Date.now() + deathPatienceMs; orphans.some(isAlive) && Date.now() < late; await sleep(5));
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

/** Directories in `runDirectory` of processes that still run, ours included. Those of dead ones are removed. */
export function liveAttachments(runDirectory: string): string[] {
  return entries(runDirectory).filter((name) => {
    if (!isProcessName(name)) return false;
    if (isAlive(name)) return true;
    rmSync(join(runDirectory, name), { recursive: true, force: true });
    return false;
  });
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
