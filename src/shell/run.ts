import type { ExecHandle, Exit, OutputChunk } from '../core/sandbox.ts';
import type { Clock } from '../core/tool.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { PausableTimer } from '../lib/pausable-timer.ts';

export interface RunOptions {
  timeoutMs: number;
  /** Counts the time, and may stand still. */
  clock?: Clock | undefined;
  /** Ends the command. */
  signal?: AbortSignal | undefined;
  /** Awaited, so that a slow receiver holds the command up. */
  onOutput(chunk: OutputChunk): Promise<void> | void;
}

/** How a run ended: as the command did, or by an interrupt or a timeout. */
export type RunEnd = Exit | { kind: 'timeout'; afterMs: number } | { kind: 'interrupted' };

/** Between TERM and KILL, for a program to clean up. */
const graceMs = 2_000;

/**
 * Runs a started command to its end. All output printed before the end has been delivered when this resolves, and after a timeout
 * or an interrupt nothing the command started is alive.
 */
export async function run(handle: ExecHandle, options: RunOptions): Promise<RunEnd> {
  let cut: RunEnd | undefined;
  let killing: Promise<void> | undefined;
  const cutShort = (end: RunEnd): void => {
    cut ??= end;
    killing ??= endTree(handle);
    // Awaited below, which may be after it has failed.
    killing.catch(() => undefined);
  };
  const interrupt = (): void => cutShort({ kind: 'interrupted' });
  const clock: Clock = options.clock ?? new PausableTimer();
  clock.start(options.timeoutMs, () => cutShort({ kind: 'timeout', afterMs: options.timeoutMs }));
  if (options.signal?.aborted) interrupt();
  options.signal?.addEventListener('abort', interrupt, { once: true });
  try {
    for await (const chunk of handle.output) await options.onOutput(chunk);
    const exit = await handle.exit;
    await killing;
    return cut ?? exit;
  } finally {
    clock.stop();
    options.signal?.removeEventListener('abort', interrupt);
  }
}

/** Sends TERM to the whole tree, waits for the grace period, and sends KILL. */
export async function endTree(handle: ExecHandle): Promise<void> {
  await handle.kill('TERM');
  await settlesWithin(graceMs, handle.exit);
  // Also when the shell is gone: something it started may have stayed.
  await handle.kill('KILL');
}

/** By the convention of shells: 124 after a timeout, 130 after an interrupt, 128 plus the signal. */
export function exitCodeOf(end: RunEnd, signalNumber: (name: string) => number | undefined): number {
  switch (end.kind) {
    case 'exited':
      return end.code;
    case 'signaled':
      return 128 + (signalNumber(end.signal) ?? 0);
    case 'timeout':
      return 124;
    case 'interrupted':
      return 130;
    case 'lost':
      return 1;
  }
}
