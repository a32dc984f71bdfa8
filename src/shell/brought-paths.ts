import { posix } from 'node:path';
import * as z from 'zod';
import type { Brought } from '../core/approval.ts';
import type { Changes } from './state.ts';
import type { StateStore } from './state-store.ts';

/** Not of a shell: no dump has this key, so nothing inside can set it. */
export const broughtKey = 'brought';

/** How many commands after the one that brought it a path is remembered. */
const maxCommands = 20;
const maxPaths = 100;

interface Kept extends Brought {
  /** Commands until it is forgotten. */
  left: number;
}

/** What earlier commands brought, the oldest first. */
export function broughtIn(kept: Changes): readonly Brought[] {
  return keptIn(kept).map(({ path, how }) => ({ path, how }));
}

/** Counts one more command, which brings these. */
export function bringTo(store: StateStore, added: readonly Brought[]): void {
  // Most commands bring nothing, and nothing was brought before them.
  if (added.length > 0 || store.read().has(broughtKey)) store.update((kept) => withBrought(kept, added));
}

/** What is kept after one more command, which brings these. */
export function withBrought(kept: Changes, added: readonly Brought[]): Changes {
  const older = keptIn(kept).map((one) => ({ ...one, left: one.left - 1 }));
  const next = bounded([...older.filter(({ left }) => left > 0), ...added.map((one) => ({ ...one, left: maxCommands }))]);
  const changes = new Map(kept);
  if (next.length === 0) changes.delete(broughtKey);
  else changes.set(broughtKey, JSON.stringify(next));
  return changes;
}

const keptPaths = z.array(z.object({ path: z.string(), how: z.enum(['downloaded', 'unpacked', 'patched', 'own']), left: z.number() }));

function keptIn(kept: Changes): readonly Kept[] {
  const text = kept.get(broughtKey);
  if (text === undefined) return [];
  try {
    return keptPaths.parse(JSON.parse(text));
  } catch {
    // Security: of a damaged list it is not known what it held.
    return [{ path: '/', how: 'downloaded', left: maxCommands }];
  }
}

/** Security: of too many, the directory that holds the oldest stands for them, so that none is forgotten early. */
function bounded(paths: readonly Kept[]): readonly Kept[] {
  const newest = new Map<string, Kept>();
  for (const one of paths) {
    newest.delete(one.path);
    newest.set(one.path, one);
  }
  const distinct = [...newest.values()];
  const oldest = distinct.slice(0, Math.max(0, distinct.length - maxPaths + 1));
  const brought = oldest.filter(({ how }) => how !== 'own');
  const [first] = brought;
  if (distinct.length <= maxPaths || !first) return distinct.slice(-maxPaths);
  const whole = {
    ...first,
    path: `${commonDirectory(brought.map(({ path }) => path))}/`.replace('//', '/'),
    left: Math.max(...brought.map(({ left }) => left)),
  };
  return [whole, ...distinct.slice(oldest.length)];
}

function commonDirectory(paths: readonly string[]): string {
  return paths
    .map((path) => posix.dirname(path))
    .reduce((one, other) => {
      let shared = one;
      while (other !== shared && !other.startsWith(shared === '/' ? '/' : `${shared}/`)) shared = posix.dirname(shared);
      return shared;
    });
}
