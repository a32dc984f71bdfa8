import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type KernelLock, takeKernelLock } from './kernel-lock.ts';
import { connectToOwner, listenForOwner } from './owner-socket.ts';

export interface Instance {
  /** Lets another take its place. */
  close(): Promise<void>;
}

const deadlineMs = 5_000;

/**
 * Makes this the one program of its kind: undefined when another one has claimed this path and lives, also when it is too busy to answer.
 * A client that connects gets the answer as JSON. The socket of a program that died is replaced.
 */
export async function claimInstance(path: string, answer: () => Promise<unknown>): Promise<Instance | undefined> {
  const lock = lockFile(instanceLock(path));
  if (!lock) return undefined;
  try {
    if (await isClaimed(path)) {
      lock.close();
      return undefined;
    }
    const socket = await listenForOwner(path, (asker) => {
      asker.on('error', () => asker.destroy());
      answer().then(
        (value) => asker.end(JSON.stringify(value)),
        () => asker.destroy(),
      );
    });
    return {
      close: async () => {
        socket.close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** The file that the program which has claimed this path keeps locked. */
export function instanceLock(path: string): string {
  return `${path}.lock`;
}

/** Of several who find a dead program at once, one takes its place. */
function lockFile(path: string): KernelLock | undefined {
  // To close a file that exists would release what this very program has locked.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  return takeKernelLock(path);
}

async function isClaimed(path: string): Promise<boolean> {
  try {
    (await connectToOwner(path)).destroy();
    return true;
  } catch {
    return false;
  }
}

/** The answer of the program that has claimed this path; undefined when there is none. */
export async function askInstance(path: string): Promise<unknown> {
  try {
    const socket = await connectToOwner(path);
    socket.setTimeout(deadlineMs, () => socket.destroy(new Error('no answer')));
    return JSON.parse(await text(socket));
  } catch {
    // No program answers, or it is not one of ours.
    return undefined;
  }
}
