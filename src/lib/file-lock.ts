import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, processName, processNamespace } from './process-name.ts';

/** A lock whose process cannot be seen from here, or that names none, is stale after so long. */
const staleAfterMs = 10_000;
const pauseMs = 5;

/**
 * Only one process at a time does `action`. The lock is a file that names its process: one whose process is dead does not count, and that of a living
 * one is never taken away.
 */
export async function withFileLock<Result>(path: string, signal: AbortSignal | undefined, action: () => Promise<Result>): Promise<Result> {
  while (!take(path)) await delay(pauseMs, undefined, { signal });
  try {
    return await action();
  } finally {
    rmSync(path, { force: true });
  }
}

/** The same for what is done at once. Throws when the lock does not get free in time. */
export function withFileLockSync<Result>(path: string, patienceMs: number, action: () => Result): Result {
  const deadline = Date.now() + patienceMs;
  while (!take(path)) {
    if (Date.now() > deadline) throw new Error(`${path} exists: something else is changing the file`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
  }
  try {
    return action();
  } finally {
    rmSync(path, { force: true });
  }
}

function take(path: string): boolean {
  if (created(path)) return true;
  if (!isStale(path)) return false;
  removeStale(path);
  return created(path);
}

/** Security: by one process at a time, so that of several that find a stale lock none removes the one that another has taken meanwhile. */
function removeStale(path: string): void {
  const guard = `${path}.stale`;
  if (!created(guard)) {
    // Its process died in the moment between two lines.
    if (isStale(guard)) rmSync(guard, { force: true });
    return;
  }
  try {
    if (isStale(path)) rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function created(path: string): boolean {
  const descriptor = createdFile(path);
  if (descriptor === undefined) return false;
  try {
    writeSync(descriptor, `${processNamespace()} ${processName()}`);
    return true;
  } catch (error) {
    // A full disk takes the file and not its content; without a name it would hold up everyone until it is stale.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** undefined when there is one already. */
function createdFile(path: string): number | undefined {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

function isStale(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return false;
  const content = contentOf(path);
  const [namespace, name] = content.split(' ');
  // Looked at again: its process may have released it and ended, and another one have taken it.
  if (name !== undefined && namespace === processNamespace()) return !isAlive(name) && contentOf(path) === content;
  return Date.now() - found.mtimeMs > staleAfterMs;
}

/** Empty when it has just gone, or its process has not written yet. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
