import { closeSync, openSync, readFileSync, rmSync, statSync, utimesSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { lifeOf, processName } from './process-name.ts';

/** A lock whose process cannot be seen from here, or that names none, is stale when it was not refreshed for so long. */
const staleAfterMs = 10_000;
const refreshMs = 2_000;
const pauseMs = 5;

/**
 * Only one process at a time does `action`. The lock is a file that names its process: one whose process is dead does not count, and that of a living
 * one is never taken away. Where its process cannot be seen, one that it refreshes counts as that of a living one.
 */
export async function withFileLock<Result>(path: string, signal: AbortSignal | undefined, action: () => Promise<Result>): Promise<Result> {
  const name = processName();
  while (!take(path, name)) await delay(pauseMs, undefined, { signal });
  const refreshing = setInterval(() => refresh(path, name), refreshMs).unref();
  try {
    return await action();
  } finally {
    clearInterval(refreshing);
    release(path, name);
  }
}

/** The same for what is done at once. Throws when the lock does not get free in time. */
export function withFileLockSync<Result>(path: string, deadlineMs: number, action: () => Result): Result {
  const name = processName();
  const deadline = Date.now() + deadlineMs;
  while (!take(path, name)) {
    if (Date.now() > deadline) throw new Error(`${path} exists: something else is changing the file`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
  }
  try {
    return action();
  } finally {
    release(path, name);
  }
}

function take(path: string, name: string): boolean {
  if (created(path, name)) return true;
  if (!isStale(path)) return false;
  removeStale(path, name);
  return created(path, name);
}

/** A program that did not run for long may have lost the lock to another one, and must not touch it then. */
function release(path: string, name: string): void {
  if (contentOf(path) === name) rmSync(path, { force: true });
}

function refresh(path: string, name: string): void {
  const now = new Date();
  try {
    if (contentOf(path) === name) utimesSync(path, now, now);
  } catch {
    // It has just gone.
  }
}

/** Security: by one process at a time, so that of several that find a stale lock none removes the one that another has taken meanwhile. */
function removeStale(path: string, name: string): void {
  const guard = `${path}.stale`;
  if (!created(guard, name)) {
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

function created(path: string, name: string): boolean {
  const descriptor = createdFile(path);
  if (descriptor === undefined) return false;
  try {
    writeSync(descriptor, name);
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
  const name = contentOf(path);
  const life = lifeOf(name);
  if (life === 'unknown') return Date.now() - found.mtimeMs > staleAfterMs;
  // Looked at again: its process may have released it and ended, and another one have taken it.
  return life === 'dead' && contentOf(path) === name;
}

/** Empty when it has just gone, or its process has not written yet. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
