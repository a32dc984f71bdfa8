import { setTimeout as sleep } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { shellQuote } from '../../lib/shell-quote.ts';

/** The primary codes of https://sqlite.org/rescode.html that mean something to the person who reads the message. */
const sqliteCodes = { busy: 5, locked: 6, readOnly: 8, io: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 };
/** The memory that connections share could not grow. */
const sharedMemoryIo = 4874;

const noSpace: readonly unknown[] = ['ENOSPC', 'EDQUOT', sqliteCodes.full, sharedMemoryIo];
const notWritable: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS', sqliteCodes.readOnly, sqliteCodes.cannotOpen];
const damaged: readonly unknown[] = [sqliteCodes.corrupt, sqliteCodes.notADatabase];
const inUse: readonly unknown[] = [sqliteCodes.busy, sqliteCodes.locked];

/**
 * Does the work, and does it again while another process has the database. The waiting does not hold up anything else this process
 * does. Failures of the database or its files come out as a `HermeticError`.
 */
export async function retryWhileBusy<T>(path: string, deadlineMs: number, work: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!inUse.includes(codeOf(error))) throw explained(path, error);
      if (performance.now() > deadline) throw busy(path, deadlineMs, error);
      // Not the same for all who wait, so that they do not meet again.
      await sleep(5 + Math.random() * 20);
    }
  }
}

export function corrupt(path: string, what: string, cause?: unknown): HermeticError {
  return new HermeticError('store/corrupt', `${path} ${what}. It was left as it is.`, {
    hint: `Stop Hermetic, move ${path} and the ${path}-wal beside it away, and put a backup in its place (${path}.v*.bak) or start without one.`,
    cause,
  });
}

export function failed(path: string, what: string, hint: string, cause?: unknown): HermeticError {
  return new HermeticError('store/failed', `${path} ${what}.`, { hint, cause });
}

function busy(path: string, deadlineMs: number, cause: unknown): HermeticError {
  return new HermeticError('store/busy', `${path} was held by another process for more than ${deadlineMs / 1000} seconds.`, {
    hint: `See which one: fuser -v ${shellQuote(path)}`,
    cause,
  });
}

/** Other errors, such as a mistake in a query, stay as they are. */
export function explained(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof HermeticError || code === undefined) return error;
  const said = errorText(error);
  if (damaged.includes(code)) return corrupt(path, `is damaged or not a database (${said})`, error);
  if (noSpace.includes(code)) return failed(path, 'cannot be written: no space is left', 'Free some space on its file system.', error);
  if (notWritable.includes(code)) {
    return failed(path, `cannot be opened for writing (${said})`, 'Make the file and its directory writable for this user.', error);
  }
  if (code === sqliteCodes.io || typeof code === 'string') {
    return failed(path, `cannot be read or written (${said})`, 'Check its file system and disk.', error);
  }
  return error;
}

/** The name of a file system error or the code of an SQLite error. */
function codeOf(error: unknown): string | number | undefined {
  const { code, errcode, syscall } = error as { code?: unknown; errcode?: unknown; syscall?: unknown };
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return errcode === sharedMemoryIo ? errcode : errcode & 0xff;
  return typeof code === 'string' && syscall !== undefined ? code : undefined;
}
