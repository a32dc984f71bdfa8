import { HermeticError } from '../core/errors.ts';
import type { ExecHandle, ExecRequest, Exit, Sandbox } from '../core/sandbox.ts';
import { ByteStore } from '../lib/byte-store.ts';
import { printable } from '../lib/printable.ts';
import { type RunEnd, run } from './run.ts';

export interface Answer {
  stdout: Buffer;
  /** Its beginning, safe to print. */
  stderr: string;
  exit: Exit;
}

/** `too-much`: it printed more than `maxBytes` and was ended. */
export type CollectedOutput = Omit<Answer, 'exit'> & { end: RunEnd | { kind: 'too-much' } };

export interface AskOptions {
  signal?: AbortSignal | undefined;
  /** A command that prints more, on both streams together, is ended. */
  maxBytes?: number;
  timeoutMs?: number;
  /** Its standard input; empty without. */
  stdin?: Uint8Array | string | undefined;
}

const defaultMaxBytes = 1024 * 1024;
const defaultTimeoutMs = 30_000;
const maxErrorText = 4_000;

/**
 * Runs one of our own commands in a sandbox, without the session's state, and resolves with all it prints.
 * Security: the answer comes from inside; it is bounded in bytes and time, and the caller must not believe it.
 */
export async function askSandbox(sandbox: Pick<Sandbox, 'exec'>, request: ExecRequest, options: AskOptions = {}): Promise<Answer> {
  const { maxBytes = defaultMaxBytes, timeoutMs = defaultTimeoutMs, signal } = options;
  const { end, ...printed } = await collectFrom(sandbox, request, options);
  signal?.throwIfAborted();
  if (end.kind === 'timeout') throw new HermeticError('tool/failed', `The sandbox did not answer in ${timeoutMs / 1000} s.`);
  if (end.kind === 'too-much' || end.kind === 'interrupted')
    throw new HermeticError('tool/failed', `The sandbox answered with more than ${maxBytes} bytes.`);
  return { ...printed, exit: end };
}

/** Throws unless the command exits with 0. */
export async function askToSucceed(sandbox: Pick<Sandbox, 'exec'>, request: ExecRequest, options?: AskOptions): Promise<Buffer> {
  const { stdout, stderr, exit } = await askSandbox(sandbox, request, options);
  if (exit.kind === 'exited' && exit.code === 0) return stdout;
  if (exit.kind === 'lost') throw new HermeticError('sandbox/lost', `The sandbox was lost: ${exit.reason}.`);
  throw new HermeticError('tool/failed', stderr || `It failed inside the sandbox (${exit.kind === 'exited' ? exit.code : exit.signal}).`);
}

/** The same as `askSandbox`, for callers with their own errors. */
export async function collectFrom(sandbox: Pick<Sandbox, 'exec'>, request: ExecRequest, options: AskOptions): Promise<CollectedOutput> {
  const { stdin } = options;
  const handle = await sandbox.exec({ ...request, plain: true, stdin: stdin === undefined ? 'empty' : 'open' });
  if (stdin !== undefined) {
    void handle
      .write(stdin)
      .catch(() => undefined)
      .finally(() => handle.closeStdin());
  }
  return await collect(handle, options);
}

/** Runs a started command to its end and resolves with what it printed, bounded in bytes and time. */
export async function collect(handle: ExecHandle, options: Omit<AskOptions, 'stdin'>): Promise<CollectedOutput> {
  const { signal, maxBytes = defaultMaxBytes, timeoutMs = defaultTimeoutMs } = options;
  const stdout = new ByteStore(maxBytes);
  let bytes = 0;
  let stderr = '';
  const tooMuch = new AbortController();
  const end = await run(handle, {
    timeoutMs,
    signal: signal ? AbortSignal.any([signal, tooMuch.signal]) : tooMuch.signal,
    onOutput: ({ stream, data }) => {
      bytes += data.length;
      if (bytes > maxBytes) tooMuch.abort();
      else if (stream === 'stdout') stdout.push(data);
      else if (stderr.length < maxErrorText) stderr += data.toString();
    },
  });
  const isTooMuch = end.kind === 'interrupted' && tooMuch.signal.aborted;
  return { stdout: stdout.take(), stderr: printable(stderr), end: isTooMuch ? { kind: 'too-much' } : end };
}
