import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import type { Backend, ListedSandbox } from '../core/sandbox.ts';
import type { SandboxEntry, SandboxLedger } from '../core/store.ts';
import { isKept } from './kept.ts';
import { isHeld } from './lease.ts';

interface Found {
  backend: string;
  name: string;
  session: string;
  directory: string;
}

/** A sandbox that takes space and can be removed. */
export interface Leftover extends Found {
  why: 'belongs to no session' | 'was to be gone when it closed' | 'has not been used for long' | 'has files, and its session is not known';
  /** False, and nothing was removed, when it has been used meanwhile. */
  destroy(): Promise<boolean>;
}

/** A sandbox that is not removed. */
export interface Kept extends Found {
  why:
    | 'is in use'
    | 'has the files of a session'
    | 'has the files of a session, whose directory is not here'
    | 'has files, and its session is not known';
}

export interface SweepOptions {
  backends: Iterable<Backend>;
  ledger: SandboxLedger;
  /** Persistent sandboxes of sessions that were last used before then are leftovers too. */
  unusedSince?: Date | undefined;
  /** Those with files whose session the ledger does not know are leftovers too. Only a person can say so. */
  removesUnknown?: boolean | undefined;
}

/** Everything of this installation. Rejects when any backend or the ledger cannot answer. */
export interface Survey {
  leftovers: Leftover[];
  kept: Kept[];
}

type Limits = Pick<SweepOptions, 'unusedSince' | 'removesUnknown'>;
type Verdict = { isLeftover: true; why: Leftover['why'] } | { isLeftover: false; why: Kept['why'] };

/**
 * Decides alone what may be removed, from what a backend lists and what the ledger says: a backend removes nothing by itself. Never a leftover is a
 * sandbox that a program holds, nor the files of a session unless `unusedSince` says so, wherever the directory of that session is.
 */
export async function survey({ backends, ledger, ...limits }: SweepOptions): Promise<Survey> {
  const found: Survey = { leftovers: [], kept: [] };
  for (const backend of backends) {
    // In this order: a sandbox is in the ledger before it is made.
    const all = await backend.list();
    const entries = new Map((await ledger.list({ backend: backend.kind })).map((entry) => [entry.name, entry]));
    for (const listed of all) {
      const { name, session, directory } = listed;
      const key = { backend: backend.kind, name };
      const others = all.filter((one) => one !== listed && one.name === name);
      const verdict = judge(listed, others, entries.get(name), limits);
      if (!verdict.isLeftover) {
        found.kept.push({ ...key, session, directory, why: verdict.why });
        continue;
      }
      const destroy = async (): Promise<boolean> => {
        // Removing the ones before it may have taken a while: it may be in use by now.
        const entry = await ledger.find(key);
        if (!judge(listed, others, entry, limits).isLeftover) return false;
        if (!(await destroyed(listed))) return false;
        // Of several parts each is judged by the entry, which goes when none is left.
        if (others.length === 0) await ledger.forget(key);
        return true;
      };
      found.leftovers.push({ ...key, session, directory, why: verdict.why, destroy });
    }
  }
  return found;
}

/** `others` are listed under the same name. */
function judge(listed: ListedSandbox, others: readonly ListedSandbox[], entry: SandboxEntry | undefined, limits: Limits): Verdict {
  const { unusedSince, removesUnknown = false } = limits;
  if (entry && isHeld(entry)) return { isLeftover: false, why: 'is in use' };
  const isElsewhere = [listed, ...others].every(({ directory }) => directory === '');
  // Beside a directory with a record a backend knows what has no files.
  const isBeside = others.some(({ directory, hasFiles }) => directory !== '' && hasFiles);
  // Security: what the ledger gives to a session is kept whatever else a backend says of its files: it may not see them from here, or a record was lost.
  const isEmpty = !listed.hasFiles && !(entry && isKept(entry) && !isBeside);
  if (isEmpty || entry?.session.length === 0) return { isLeftover: true, why: 'belongs to no session' };
  if (entry && !entry.persistent) return { isLeftover: true, why: 'was to be gone when it closed' };
  const isStopped = listed.state === 'stopped';
  if (!entry) return { isLeftover: removesUnknown && isStopped, why: 'has files, and its session is not known' };
  if (isStopped && unusedSince !== undefined && entry.lastUsedAt < unusedSince)
    return { isLeftover: true, why: 'has not been used for long' };
  return { isLeftover: false, why: isElsewhere ? 'has the files of a session, whose directory is not here' : 'has the files of a session' };
}

/** A program whose lease is over may have it open still, where it cannot be ended from here: it is swept when that program is gone. */
async function destroyed(listed: ListedSandbox): Promise<boolean> {
  try {
    await listed.destroy();
    return true;
  } catch (error) {
    if (error instanceof HermeticError && error.code === 'sandbox/in-use') return false;
    throw error;
  }
}

/**
 * For the start of a gateway: removes leftovers, and brings the ledger in line with the sandboxes that a crash left. Files of sessions stay and are adopted.
 * Any doubt ends it before anything is removed.
 */
export async function sweep(options: SweepOptions): Promise<Leftover[]> {
  const { leftovers } = await survey(options);
  const removed: Leftover[] = [];
  for (const leftover of leftovers) if (await leftover.destroy()) removed.push(leftover);
  for (const backend of options.backends) {
    const there = new Set((await backend.list()).map(({ name }) => name));
    for (const entry of await options.ledger.list({ backend: backend.kind })) {
      if (isHeld(entry)) continue;
      if (there.has(entry.name)) {
        if (entry.state !== 'closed') await options.ledger.closed(entry, new Date(), entry.owner);
      } else if (isGone(entry, options.unusedSince)) await options.ledger.forget(entry);
    }
  }
  return removed;
}

/**
 * Whether nothing is left of a sandbox that its backend does not list. A session's is not gone because all directories beside its own are missing too:
 * they were moved, or their disk is not mounted.
 */
function isGone(entry: SandboxEntry, unusedSince: Date | undefined): boolean {
  if (existsSync(entry.directory)) return false;
  const isUnused = unusedSince !== undefined && entry.lastUsedAt < unusedSince;
  return !isKept(entry) || isUnused || isRemoved(entry.directory);
}

/** Security: a place that cannot be read says nothing about what is in it. */
function isRemoved(directory: string): boolean {
  try {
    return !readdirSync(dirname(directory)).includes(basename(directory));
  } catch {
    return false;
  }
}
