import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { withFileLockSync } from '../lib/file-lock.ts';
import type { Changes } from './state.ts';

/** Keeps what a session changed relative to the sandbox it runs in, so that a new sandbox can be brought to the same state. */
export interface StateStore {
  read(): Changes;
  /** Adds changes to what is kept; those of others are kept too. */
  update(merge: (kept: Changes) => Changes): void;
}

export function memoryStateStore(): StateStore {
  let kept: Changes = new Map();
  return {
    read: () => kept,
    update: (merge) => {
      kept = merge(kept);
    },
  };
}

const lockDeadlineMs = 2_000;
/** One command asks a dozen times where the session stands. */
const lookMs = 1;

/** A file only its owner can read. Several processes may use it at once: an update reads what is there now, under a lock. */
export function fileStateStore(path: string): StateStore {
  let kept: Changes = new Map();
  let seen = '';
  let lookedAt = Number.NEGATIVE_INFINITY;
  const refresh = (): Changes => {
    lookedAt = performance.now();
    const stamp = stampOf(path);
    if (stamp !== seen) {
      kept = stamp === '' ? new Map() : readChanges(path);
      seen = stamp;
    }
    return kept;
  };
  const write = (next: Changes): void => {
    const temporary = `${path}.${process.pid}.new`;
    try {
      writeFileSync(temporary, JSON.stringify([...next].map(([key, text]) => [key, text ?? null])), { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  };
  return {
    read: () => (performance.now() - lookedAt < lookMs ? kept : refresh()),
    update: (merge) => {
      try {
        withFileLockSync(`${path}.lock`, lockDeadlineMs, () => {
          const next = merge(refresh());
          write(next);
          kept = next;
          seen = stampOf(path);
        });
      } catch {
        // Security: a sandbox can fill the disk. The session goes on with what this process knows.
        kept = merge(kept);
      }
    },
  };
}

/** Empty when there is no file. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.ino} ${stat.mtimeNs} ${stat.size}` : '';
}

/** A damaged file is an empty one: a session then starts afresh instead of not at all. */
function readChanges(path: string): Changes {
  try {
    const entries = JSON.parse(readFileSync(path, 'utf8')) as unknown[];
    return new Map(entries.map(changeOf));
  } catch {
    return new Map();
  }
}

function changeOf(entry: unknown): [key: string, text: string | undefined] {
  const [key, text] = entry as unknown[];
  if (typeof key !== 'string' || !(text === null || typeof text === 'string') || `${key}${text}`.includes('\0')) {
    throw new TypeError('no change of a state');
  }
  return [key, text ?? undefined];
}
