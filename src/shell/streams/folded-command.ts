import { type Readable, Writable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { TwoOutputs } from '../../lib/two-outputs.ts';
import { guestScript } from '../guest-scripts.ts';
import type { AttachedCommand } from './attached-command.ts';

/** The two streams on which those of a folded command travel. */
export interface FoldedStreams extends Pick<AttachedCommand, 'stdin' | 'ref' | 'unref' | 'destroy'> {
  /** Ends, or fails, when nothing more comes. */
  readonly stdout: Readable;
}

/** A piece of output in base64, with its number before it, is no longer. Security: a line without an end would be kept forever. */
const maxLineBytes = 128 * 1024;
const maxPieceBytes = 64 * 1024;
const newline = 0x0a;

/** The argument vector of a command whose streams are folded into two; see `guest/fold.bash`. */
export async function foldedCommand(command: readonly string[]): Promise<string[]> {
  return ['bash', '--noprofile', '--norc', '-c', await guestScript('fold'), 'hermetic', ...command];
}

/** The three streams of a folded command. */
export function unfold(folded: FoldedStreams): AttachedCommand {
  const { stdout: source } = folded;
  const outputs = new TwoOutputs(source);
  const line = new ByteStore(maxLineBytes);
  const open = new Set(['stdout', 'stderr'] as const);
  let code: number | undefined;
  let isOver = false;
  const finish = (settle: () => void): void => {
    if (isOver) return;
    isOver = true;
    stdin.destroy();
    settle();
    folded.destroy();
  };
  const cutOff = (cause?: unknown): void => {
    const lost = new HermeticError('sandbox/lost', 'The connection to the command was cut.', { cause });
    finish(() => outputs.destroy(lost));
  };
  const take = (text: string): void => {
    const name = text[0] === '1' ? 'stdout' : text[0] === '2' ? 'stderr' : undefined;
    if (/^=\d{1,3}$/.test(text)) {
      code = Number(text.slice(1));
    } else if (name === undefined || !open.has(name)) {
      cutOff(new Error('a line that no folded command prints'));
    } else if (text.length > 1) {
      outputs.deliver(name, Buffer.from(text.slice(1), 'base64'));
    } else {
      open.delete(name);
      outputs[name].push(null);
    }
  };
  const feed = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length && !isOver; ) {
      const end = chunk.indexOf(newline, at);
      const piece = chunk.subarray(at, end === -1 ? chunk.length : end);
      at += piece.length + 1;
      if (!line.push(piece)) cutOff(new Error('a line that is too long'));
      else if (end !== -1) take(line.take().toString('latin1'));
    }
  };
  const stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writePieces(folded.stdin, chunk).then(() => done(), done);
    },
    final: (done) => void folded.stdin.write('0\n', done),
  });
  for (const stream of [stdin, folded.stdin]) stream.on('error', () => undefined);
  source.on('data', feed);
  source.on('error', cutOff);
  // Without both ends and the code, more of it may be missing.
  source.on('close', () => (open.size === 0 && code !== undefined ? finish(() => undefined) : cutOff()));
  return {
    stdin,
    stdout: outputs.stdout,
    stderr: outputs.stderr,
    exitCode: async () => code,
    ref: () => folded.ref(),
    unref: () => folded.unref(),
    destroy: () => finish(() => outputs.destroy()),
  };
}

async function writePieces(stream: Writable, data: Buffer): Promise<void> {
  for (let at = 0; at < data.length; at += maxPieceBytes) {
    const piece = data.subarray(at, at + maxPieceBytes);
    await writeTo(stream, Buffer.concat([Buffer.from(`${piece.length}\n`), piece]));
  }
}

function writeTo(stream: Writable, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
