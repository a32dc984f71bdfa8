import { once } from 'node:events';
import { chmodSync, closeSync, constants, existsSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
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
    if (await isClaimed(path)) {
      lock.close();
      return undefined;
    }
    const short = shorten(path);
    const server = await listen(path, short.path, answer).catch((error: unknown) => {
      short.release();
      throw error;
    });
    return {
      close: async () => {
        server.close();
        short.release();
        rmSync(path, { force: true });
        lock.close();
      },
    };
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
    if (error instanceof Error) error.message = `${path}: ${error.message}`;
    throw error;
  }
}

/** What the kernel takes as the path of a socket, in bytes. */
const longestSocketPath = 107;

/** Another way to a path that is too long for a socket, through its open directory, until it is released. */
function shorten(path: string): { path: string; release(): void } {
  if (Buffer.byteLength(path) <= longestSocketPath) return { path, release: () => undefined };
  const directory = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${directory}/${basename(path)}`, release: () => closeSync(directory) };
}

async function listen(path: string, shortPath: string, answer: () => Promise<unknown>): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    answer().then(
      (value) => socket.end(JSON.stringify(value)),
      () => socket.destroy(),
    );
  });
  server.listen(shortPath);
  await once(server, 'listening');
  // Security: only the owner of the home may ask.
  chmodSync(path, 0o600);
  return server;
}

async function isClaimed(path: string): Promise<boolean> {
  return await talk(path, async (socket) => {
    await once(socket, 'connect');
    return true;
  }).catch(() => false);
}

/** What the program that has claimed this path answers; undefined when there is none. */
export async function askInstance(path: string): Promise<unknown> {
  return await talk(path, async (socket) => {
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer')));
    return JSON.parse(await text(socket));
    // Nobody is there, or what is there is no program of ours.
  }).catch(() => undefined);
}

async function talk<T>(path: string, work: (socket: Socket) => Promise<T>): Promise<T> {
  const short = shorten(path);
  const socket = connect(short.path);
  try {
    return await work(socket);
  } finally {
    socket.destroy();
    short.release();
  }
}
