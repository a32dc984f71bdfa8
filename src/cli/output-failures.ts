import type { CliIo } from './io.ts';

/** The usual exit code of a program whose output is no longer read. */
const brokenPipeCode = 141;

export function exitCodeOfOutput(error: NodeJS.ErrnoException): number {
  return error.code === 'EPIPE' ? brokenPipeCode : 1;
}

const told = new WeakSet<object>();

/** Whether this is a failure of our output, which is said, as far as it can be. */
export function isToldOutputFailure(error: unknown): boolean {
  return typeof error === 'object' && error !== null && told.has(error);
}

/** Ends the program when its output cannot be written, silently when the reader has gone. A command that listens too stops its own work first. */
export function watchOutput(io: CliIo): void {
  for (const name of ['stdout', 'stderr'] as const) {
    io[name].on('error', (error: NodeJS.ErrnoException) => {
      const code = exitCodeOfOutput(error);
      if (code !== brokenPipeCode && name === 'stdout' && !told.has(error)) {
        io.stderr.write(`error: Standard output cannot be written (${error.code ?? error.message}).\n`);
      }
      told.add(error);
      io.setExitCode(code);
      if (io[name].listenerCount('error') === 1) process.exit(code);
    });
  }
}
