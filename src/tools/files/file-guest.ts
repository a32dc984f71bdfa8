import { HermeticError } from '../../core/errors.ts';
import type { ExecHandle, Exit, OutputChunk } from '../../core/sandbox.ts';
import type { ToolContext } from '../../core/tool.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { printable } from '../../lib/printable.ts';
import { type RunEnd, run } from '../../shell/run.ts';

type GuestScript = 'read' | 'change' | 'search';

const maxComplaints = 16 * 1024;

/** A function that every shell of a sandbox has: see `guest/shell.bash`. */
const command = '__hermetic_file "$@"';

export interface GuestOptions {
  timeoutMs: number;
  /** Of standard output, in order. Awaited. */
  onOutput(data: Buffer, handle: ExecHandle): Promise<void> | void;
  /** First input of the script; its input stays open for more. */
  stdin?: Buffer | 'open';
}

export interface GuestEnd {
  end: RunEnd;
  /** Also after an interrupt: a script that had begun to write goes on to its end. */
  exit: Exit;
  /** Standard error of the script and its programs. */
  complaints: string;
}

/** Runs one of the file tools' scripts in the sandbox, in one round trip. */
export async function runGuest(context: ToolContext, name: GuestScript, args: readonly string[], options: GuestOptions): Promise<GuestEnd> {
  if (context.signal.aborted) throw new HermeticError('tool/failed', 'Interrupted before it began. Nothing was run.');
  const { stdin } = options;
  const handle = await context.sandbox.exec({
    command,
    args: [name, ...args],
    stdin: stdin === undefined ? 'empty' : 'open',
    stateless: true,
  });
  // When it cannot be written, the shell is gone, and its end says why.
  if (stdin instanceof Buffer) handle.write(stdin).catch(() => undefined);
  const complaints = new ByteStore(maxComplaints);
  const onOutput = ({ stream, data }: OutputChunk): Promise<void> | void => {
    if (stream === 'stdout') return options.onOutput(data, handle);
    complaints.push(data);
  };
  try {
    const end = await run(handle, { timeoutMs: options.timeoutMs, signal: context.signal, onOutput });
    return { end, exit: await handle.exit, complaints: complaints.view().toString() };
  } catch (error) {
    await handle.kill('KILL');
    throw error;
  }
}

/** Throws unless the script came to its own end; gives back its code. */
export function codeOf({ end, complaints }: GuestEnd, path: string, done: string): number {
  if (end.kind === 'timeout') throw new HermeticError('file/failed', `${path} could not be ${done} within ${end.afterMs / 1000} s.`);
  if (end.kind === 'interrupted') throw new HermeticError('tool/failed', `Interrupted before ${path} was ${done}.`);
  if (end.kind === 'lost') throw new HermeticError('sandbox/lost', `${path} was not ${done}: ${end.reason}`);
  if (end.kind === 'signaled') throw new HermeticError('file/failed', `${path} could not be ${done}: killed by ${end.signal}.`);
  if (end.code === 1 || /: line \d+: /.test(complaints))
    throw new HermeticError('file/failed', `${path} could not be ${done}: ${reasonIn(complaints)}`);
  return end.code;
}

/** Security: what the sandbox complains of is read by people, and a terminal obeys some characters. */
function reasonIn(complaints: string): string {
  const lines = complaints.split('\n').filter((line) => line !== '' && !line.startsWith('hermetic: '));
  return printable((lines.at(-1) ?? 'it did not say why').replace(/^.*?: line \d+: /, '')).slice(0, 500);
}
