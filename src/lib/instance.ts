import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Instance {
  /** Lets another take its place. */
  close(): Promise<void>;
}

const patienceMs = 5_000;

/**
 * Makes this the one program of its kind: undefined when another one has claimed this path and lives, also when it is too busy to answer.
 * Whoever connects is given the answer as JSON. What a program left that died is replaced.
 */
export async function claimInstance(path: string, answer: () => Promise<unknown>): Promise<Instance | undefined> {
  if (await isClaimed(path)) return undefined;
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    answer().then(
      (value) => socket.end(JSON.stringify(value)),
      () => socket.destroy(),
    );
  });
  server.listen(path);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
  // Security: only the owner of the home may ask.
  chmodSync(path, 0o600);
  return {
    close: async () => {
      server.close();
      rmSync(path, { force: true });
    },
  };
}

async function isClaimed(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** What the program that has claimed this path answers; undefined when there is none. */
export async function askInstance(path: string): Promise<unknown> {
  const socket = connect(path);
  socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer')));
  try {
    return JSON.parse(await text(socket));
  } catch {
    // Nobody is there, or what is there is no program of ours.
    return undefined;
  }
}
