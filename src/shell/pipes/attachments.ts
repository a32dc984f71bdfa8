import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openForWriting } from './named-pipes.ts';

const pattern = /^(\d+)-(\d+)-[0-9a-f]+$/;

/** Names the process by pid and start time, so that a recycled pid is never taken for it. */
export function attachmentName(pid = process.pid): string {
  return `${pid}-${startTime(pid) ?? 0}-${randomBytes(4).toString('hex')}`;
}

/** Lets others see that this process is attached, where that takes no pipes. Returns what takes it back. */
export function claim(runDirectory: string): () => void {
  const path = join(runDirectory, attachmentName());
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return () => rmSync(path, { recursive: true, force: true });
}

/** Writes down which process runs the forker of this run directory, for those who did not start it. */
export function writeProcess(runDirectory: string, pid: number): void {
  writeFileSync(join(runDirectory, 'process'), attachmentName(pid), { mode: 0o600 });
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
      if (orphans.length === 0) orphans = descendantsOf(pid);
      killIfThere(pid);
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

/** The names of the processes it started and of those they started. */
function descendantsOf(pid: number): string[] {
  const children = contentOf(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? [];
  return children.map(Number).flatMap((child) => [attachmentName(child), ...descendantsOf(child)]);
}

/** Directories in `runDirectory` of processes that still run, ours included. Those of dead ones are removed. */
export function liveAttachments(runDirectory: string): string[] {
  return entries(runDirectory).filter((name) => {
    if (!pattern.test(name)) return false;
    if (isAlive(name)) return true;
    rmSync(join(runDirectory, name), { recursive: true, force: true });
    return false;
  });
}

/** Only one process at a time does `action` to this sandbox; a lock whose process is dead does not count. */
export async function withSandboxLock<T>(directory: string, signal: AbortSignal | undefined, action: () => Promise<T>): Promise<T> {
  const lock = join(directory, 'lock');
  const own = `${lock}.${attachmentName()}`;
  writeFileSync(own, attachmentName(), { mode: 0o600 });
  try {
    while (!linked(own, lock)) {
      if (!isAlive(contentOf(lock))) rmSync(lock, { force: true });
      await sleep(20, undefined, { signal });
    }
    try {
      return await action();
    } finally {
      rmSync(lock, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function linked(own: string, lock: string): boolean {
  try {
    linkSync(own, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether the process that made this name still runs. */
export function isAlive(name: string): boolean {
  const [, pid, started] = pattern.exec(name) ?? [];
  return pid !== undefined && startTime(Number(pid)) === started;
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

/**
 * In clock ticks since boot; undefined when there is no such process, or it is dead and only waits for its parent to notice. Where the
 * kernel does not tell by files, all processes have started at 0.
 */
function startTime(pid: number): string | undefined {
  if (process.platform !== 'linux') return isRunning(pid) ? '0' : undefined;
  const stat = contentOf(`/proc/${pid}/stat`);
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' || state === 'Z' ? undefined : fields[18];
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
