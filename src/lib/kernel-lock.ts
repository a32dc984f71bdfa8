import { existsSync } from 'node:fs';
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';

export interface KernelLock {
  close(): void;
}

const sqliteBusy = 5;

/**
 * Locks a file, which is made when there is none, until the lock is closed or the kernel takes it back because its program died. So it tells every
 * process namespace of the machine whether that program lives. undefined when a program has it, also this one.
 */
export function takeKernelLock(path: string): KernelLock | undefined {
  const lock = open(path);
  try {
    // Nothing is ever written, so there need not be a journal beside it.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return undefined;
    if (error instanceof Error) error.message = `${path}: ${error.message}`;
    throw error;
  }
}

/** Whether a program has the lock, or that cannot be known. */
export function isKernelLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  let reader: DatabaseSync | undefined;
  try {
    // Several may look at once.
    reader = open(path, { readOnly: true });
    reader.exec('PRAGMA user_version');
    return false;
  } catch {
    return true;
  } finally {
    reader?.close();
  }
}

/** Loaded here: programs that lock nothing need no SQLite. */
function open(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
  return new Database(path, { timeout: 0, ...options });
}
