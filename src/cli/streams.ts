import { once } from 'node:events';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import type { ExecHandle, OutputChunk } from '../core/sandbox.ts';
import type { CliIo } from './io.ts';
import { exitCodeOfOutput } from './output-failures.ts';

/** Writes a chunk to its stream, at the reader's speed. Drops it when the reader has gone. `held`: what is printed meanwhile waits. */
export function forwardOutput(io: CliIo, held?: HeldInput): (chunk: OutputChunk) => Promise<void> {
  return async ({ stream, data }) => {
    await held?.isFree();
    const target = (stream === 'stdout' ? io.stdout : io.stderr) as Writable;
    if (target.destroyed || target.write(data)) return;
    const settled = new AbortController();
    const waits = ['drain', 'close'].map((event) => once(target, event, { signal: settled.signal }));
    await Promise.race(waits).catch(() => undefined);
    // The other one stops listening: a slow reader is waited for thousands of times.
    settled.abort();
  };
}

/** Passes our standard input on until it ends or the command does, at the speed of the command. */
export function forwardInput(io: CliIo, handle: ExecHandle): HeldInput {
  const { stdin } = io;
  let over = false;
  let holds = 0;
  let free = Promise.withResolvers<void>();
  void handle.exit.then(() => {
    over = true;
    stdin.pause();
    // A terminal or a pipe that stays open must not keep us here.
    (stdin as { unref?(): void }).unref?.();
  });
  stdin.on('data', async (chunk: Buffer) => {
    if (holds > 0) return;
    stdin.pause();
    await handle.write(chunk);
    if (!over && holds === 0) stdin.resume();
  });
  for (const event of ['end', 'error']) stdin.once(event, () => handle.closeStdin());
  return {
    hold: async (work) => {
      holds += 1;
      try {
        return await work();
      } finally {
        holds -= 1;
        if (holds === 0) {
          free.resolve();
          free = Promise.withResolvers();
          if (!over) stdin.resume();
        }
      }
    },
    isFree: async () => {
      if (holds > 0) await free.promise;
    },
  };
}

export interface HeldInput {
  /** What is typed meanwhile is not for the command. Several may overlap. */
  hold<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Resolves when nothing is held. */
  isFree(): Promise<void>;
}

export interface Interrupt {
  signal: AbortSignal;
  /** How to exit after it: 130, or as our output says that could not be written. */
  code(): number;
  stop(): void;
}

/** npm and our own start script pass on what a terminal has sent to everybody already. */
const echoMs = 500;

/** Ctrl-C and a request to end are for the command; the second time they are for us. Output that cannot be written ends it too. */
export function interruptSignal(io: CliIo): Interrupt {
  const controller = new AbortController();
  let firstAt = 0;
  const interrupt = (): void => {
    if (controller.signal.aborted) {
      if (performance.now() - firstAt > echoMs) process.exit(130);
      return;
    }
    firstAt = performance.now();
    controller.abort(new Error('interrupted'));
  };
  let failure: NodeJS.ErrnoException | undefined;
  const outputFailed = (error: NodeJS.ErrnoException): void => {
    failure ??= error;
    controller.abort(error);
  };
  const outputs = [io.stdout, io.stderr];
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, interrupt);
  for (const stream of outputs) stream.on('error', outputFailed);
  return {
    signal: controller.signal,
    code: () => (failure ? exitCodeOfOutput(failure) : 130),
    stop: () => {
      for (const name of signals) process.off(name, interrupt);
      for (const stream of outputs) stream.off('error', outputFailed);
    },
  };
}

export function signalNumber(name: string): number | undefined {
  return (constants.signals as Record<string, number>)[`SIG${name}`];
}
