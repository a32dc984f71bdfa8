import { HermeticError } from '../core/errors.ts';
import type { Backend, ListedSandbox } from '../core/sandbox.ts';
import type { SandboxEntry, SandboxLedger } from '../core/store.ts';
import { isHeld } from './lease.ts';

/** A sandbox that takes space and can be removed. */
export interface Leftover {
  backend: string;
  name: string;
  session: string;
  why: 'belongs to no session' | 'was to be gone when it closed' | 'has not been used for long';
  directory: string;
  /** False, and nothing was removed, when it has been used meanwhile. */
  destroy(): Promise<boolean>;
}

export interface SweepOptions {
  backends: Iterable<Backend>;
  ledger: SandboxLedger;
  /** Persistent sandboxes last used before then are leftovers too. */
  unusedSince?: Date | undefined;
}

/**
 * The leftovers of this installation. A sandbox that a program holds is never among them, and neither are the files of a
 * session unless `unusedSince` says so. Rejects when any backend or the ledger cannot answer.
 */
export async function findLeftovers({ backends, ledger, unusedSince }: SweepOptions): Promise<Leftover[]> {
  const leftovers: Leftover[] = [];
  for (const backend of backends) {
    // In this order: a sandbox is in the ledger before it is made.
    const all = await backend.list();
    const entries = new Map((await ledger.list({ backend: backend.kind })).map((entry) => [entry.name, entry]));
    for (const listed of all) {
      const entry = entries.get(listed.name);
      const why = reason(listed, entry, unusedSince);
      if (why === undefined) continue;
      const { name, session, directory } = listed;
      const destroy = async (): Promise<boolean> => {
        // Removing the ones before it may have taken a while: it may be in use by now.
        if (reason(listed, await ledger.find({ backend: backend.kind, name }), unusedSince) === undefined) return false;
        if (!(await destroyed(listed))) return false;
        // What a crash left beside the sandbox of a session has its name, and no files.
        const isBeside = !listed.hasFiles && all.some((one) => one.hasFiles && one.name === name);
        if (!isBeside) await ledger.forget({ backend: backend.kind, name });
        return true;
      };
      leftovers.push({ backend: backend.kind, name, session, why, directory, destroy });
    }
  }
  return leftovers;
}

function reason(listed: ListedSandbox, entry: SandboxEntry | undefined, unusedSince: Date | undefined): Leftover['why'] | undefined {
  if (entry && isHeld(entry)) return undefined;
  const isSpare = entry?.session.length === 0;
  if (!listed.hasFiles || isSpare) return 'belongs to no session';
  if (entry && !entry.persistent) return 'was to be gone when it closed';
  const lastUsed = entry?.lastUsedAt ?? listed.createdAt;
  const isUnused = listed.state === 'stopped' && unusedSince !== undefined && lastUsed < unusedSince;
  return isUnused ? 'has not been used for long' : undefined;
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
  const leftovers = await findLeftovers(options);
  const removed: Leftover[] = [];
  for (const leftover of leftovers) if (await leftover.destroy()) removed.push(leftover);
  for (const backend of options.backends) {
    const there = new Set((await backend.list()).map(({ name }) => name));
    for (const entry of await options.ledger.list({ backend: backend.kind })) {
      if (isHeld(entry)) continue;
      if (!there.has(entry.name)) await options.ledger.forget(entry);
      else if (entry.state !== 'closed') await options.ledger.closed(entry, new Date(), entry.owner);
    }
  }
  return removed;
}
