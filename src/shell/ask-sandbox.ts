import { HermeticError } from '../core/errors.ts';
import type { ExecRequest, Exit, Sandbox } from '../core/sandbox.ts';
import { ByteStore } from '../lib/byte-store.ts';
import { printable } from '../lib/printable.ts';
import { run } from './run.ts';

export interface Answer {
  stdout: Buffer;
  stderr: string;
  exit: Exit;
}

export interface AskOptions {
  signal?: AbortSignal | undefined;
  /** What is printed beyond that is not wanted, and the command is ended. */
  mostBytes?: number;
  timeoutMs?: number;
  /** What it reads. */
  stdin?: Uint8Array | string;
}

const mostErrorText = 4_000;

/**
 * One of our own commands in a sandbox, with all it prints. Runs in a plain shell.
 * Security: the answer comes from inside; it is bounded in bytes and time, and whoever asks must not believe it.
 */
export async function askSandbox(sandbox: Sandbox, request: ExecRequest, options: AskOptions = {}): Promise<Answer> {
  const { signal, mostBytes = 1024 * 1024, timeoutMs = 30_000, stdin } = options;
  const handle = await sandbox.exec({ ...request, plain: true, stdin: stdin === undefined ? 'empty' : 'open' });
  if (stdin !== undefined) {
    void handle
      .write(stdin)
      .catch(() => undefined)
      .finally(() => handle.closeStdin());
  }
  const stdout = new ByteStore(mostBytes);
  let bytes = 0;
  let stderr = '';
  const tooMuch = new AbortController();
  const end = await run(handle, {
    timeoutMs,
    signal: signal ? AbortSignal.any([signal, tooMuch.signal]) : tooMuch.signal,
    onOutput: ({ stream, data }) => {
      bytes += data.length;
      if (bytes > mostBytes) tooMuch.abort();
      else if (stream === 'stdout') stdout.push(data);
      else if (stderr.length < mostErrorText) stderr += data.toString();
    },
  });
  signal?.throwIfAborted();
  if (end.kind === 'timeout') throw new HermeticError('tool/failed', `The sandbox did not answer in ${timeoutMs / 1000} s.`);
  if (end.kind === 'interrupted') throw new HermeticError('tool/failed', `There was more to read than ${mostBytes} bytes.`);
  return { stdout: stdout.take(), stderr: printable(stderr), exit: end };
}

/** For what must succeed. */
export async function askToSucceed(sandbox: Sandbox, request: ExecRequest, options?: AskOptions): Promise<Buffer> {
  const { stdout, stderr, exit } = await askSandbox(sandbox, request, options);
  if (exit.kind === 'exited' && exit.code === 0) return stdout;
  if (exit.kind === 'lost') throw new HermeticError('sandbox/lost', `The sandbox was lost: ${exit.reason}.`);
  throw new HermeticError('tool/failed', stderr || `It failed inside the sandbox (${exit.kind === 'exited' ? exit.code : exit.signal}).`);
}
