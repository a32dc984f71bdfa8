import { once } from 'node:events';
import { chmodSync, closeSync, constants, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';

export interface OwnerSocket {
  /** Takes no more connections. Those that exist stay. */
  close(): void;
}

/** The longest path of a socket that the kernel takes, in bytes. */
const maxPathBytes = 107;

/** Another way to a path that is too long for a socket, through its open directory, until it is released. */
function shorten(path: string): { path: string; release(): void } {
  if (Buffer.byteLength(path) <= maxPathBytes) return { path, release: () => undefined };
  const directory = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${directory}/${basename(path)}`, release: () => closeSync(directory) };
}

/** Listens at this path, for its owner alone. A socket left there by a dead program is replaced: the caller knows that none is alive. */
export async function listenForOwner(path: string, onConnection: (socket: Socket) => void): Promise<OwnerSocket> {
  const short = shorten(path);
  try {
    rmSync(path, { force: true });
    const server = createServer(onConnection);
    // Security: only the owner of the home may connect, from the first moment on. `listen` makes the socket before it returns.
    const umask = process.umask(0o177);
    try {
      server.listen(short.path);
    } finally {
      process.umask(umask);
    }
    await once(server, 'listening');
    // Where a directory has default rights of its own, the umask does not count.
    chmodSync(path, 0o600);
    return {
      close: () => {
        server.close();
        short.release();
        rmSync(path, { force: true });
      },
    };
  } catch (error) {
    short.release();
    throw error;
  }
}

/** Rejects when no program listens there. */
export async function connectToOwner(path: string): Promise<Socket> {
  const short = shorten(path);
  const socket = connect(short.path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    short.release();
  }
}
