import { execFile, execFileSync } from 'node:child_process';
import { constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { programs } from '../../lib/program-pool.ts';

const run = promisify(execFile);

/** Makes named pipes that every user may open; the mode of the directory decides who can reach them. */
export async function makePipes(directory: string, names: readonly string[]): Promise<void> {
  const words = ['mkfifo', '-m', '666', '--', ...names] as const;
  const code = await programs.run({ words, cwd: directory, onOutput: () => undefined });
  // Says why.
  if (code !== 0) await run('mkfifo', words.slice(1), { cwd: directory });
}

export function makePipesNow(directory: string, names: readonly string[]): void {
  execFileSync('mkfifo', ['-m', '666', '--', ...names], { cwd: directory, stdio: 'ignore' });
}

/** Security: a link put in a pipe's place is not followed, and opening never waits, so a sandbox cannot hold a thread of ours. */
const careful = constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** A stream of what the other side writes; ends when its last writer is gone, and not before there was one. */
export function openForReading(path: string): { descriptor: number; socket: Socket } {
  const descriptor = openSync(path, constants.O_RDONLY | careful);
  const socket = new Socket({ fd: descriptor, readable: true, writable: false });
  socket.unref();
  return { descriptor, socket };
}

/** The bare reading end, for a caller that polls the pipe itself. */
export function openForLooking(path: string): number {
  return openSync(path, constants.O_RDONLY | careful);
}

/** The writing side also reads, so that opening needs no reader yet and writing without one is not an error. */
export function openForWriting(path: string): number {
  return openSync(path, constants.O_RDWR | careful);
}

/** 0 when the pipe is empty or at its end. */
export function readNow(descriptor: number, into: Buffer): number {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}
