import { once } from 'node:events';
import { constants } from 'node:os';
import type { ExecHandle, OutputChunk } from '../core/sandbox.ts';
import type { CliIo } from './io.ts';

/** Writes a chunk where it belongs, at the speed of whoever reads it. */
export function forwardOutput(io: CliIo): (chunk: OutputChunk) => Promise<void> {
  return async ({ stream, data }) => {
    const target = stream === 'stdout' ? io.stdout : io.stderr;
    if (!target.write(data)) await once(target, 'drain');
  };
}

/** Passes our standard input on until it ends or the command does, at the speed of the command. */
export async function forwardInput(io: CliIo, handle: ExecHandle): Promise<void> {
  const { stdin } = io;
  let over = false;
  void handle.exit.then(() => {
    over = true;
    stdin.pause();
    // A terminal or a pipe that stays open must not keep us here.
    (stdin as { unref?(): void }).unref?.();
  });
  stdin.on('data', async (chunk: Buffer) => {
    stdin.pause();
    await handle.write(chunk);
    if (!over) stdin.resume();
  });
  for (const event of ['end', 'error']) stdin.once(event, () => handle.closeStdin());
}

/** Ctrl-C and a request to end are for the command; the second time they are for us. A reader that went away ends it too. */
export function interruptSignal(io: CliIo): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort(new Error('interrupted'));
  };
  const brokenPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'EPIPE') controller.abort(error);
    else throw error;
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, interrupt);
  io.stdout.on('error', brokenPipe);
  return {
    signal: controller.signal,
    stop: () => {
      for (const name of signals) process.off(name, interrupt);
    },
  };
}

export function signalNumber(name: string): number | undefined {
  return (constants.signals as Record<string, number>)[`SIG${name}`];
}
