import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';

export interface Instance {
  /** Lets another take its place. */
  close(): Promise<void>;
}

const patienceMs = 5_000;
const sqliteBusy = 5;

/**
 * Makes this the one program of its kind: undefined when another one has claimed this path and lives, also when it is too busy to answer.
 * Whoever connects is given the answer as JSON. What a program left that died is replaced.
 */
export async function claimInstance(path: string, answer: () => Promise<unknown>): Promise<Instance | undefined> {
  const lock = lockFile(`${path}.lock`);
  if (!lock) return undefined;
  try {
    const server = (await isClaimed(path)) ? undefined : await listen(path, answer);
    if (!server) lock.close();
    return (
      server && {
        close: async () => {
          server.close();
          rmSync(path, { force: true });
          lock.close();
        },
      }
    );
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** A lock that the kernel takes back when its program dies: of several who find a dead one at once, one takes its place. */
function lockFile(path: string): DatabaseSync | undefined {
  // To close a file that exists would release what this very program has locked.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return undefined;
    throw error;
  }
}

async function listen(path: string, answer: () => Promise<unknown>): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    answer().then(
      (value) => socket.end(JSON.stringify(value)),
      () => socket.destroy(),
    );
  });
  server.listen(path);
  await once(server, 'listening');
  // Security: only the owner of the home may ask.
  chmodSync(path, 0o600);
  return server;
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
