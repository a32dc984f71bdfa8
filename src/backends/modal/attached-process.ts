import { Readable, Writable } from 'node:stream';
import type { ContainerProcess } from 'modal';
import { HermeticError } from '../../core/errors.ts';
import { within } from '../../lib/deadline.ts';
import type { AttachedCommand } from '../../shell/streams/attached-command.ts';
import { modalError } from './errors.ts';

/** A message to the machine of a sandbox is no longer. */
const maxMessageBytes = 256 * 1024;
const exitMs = 10_000;

/** A process that Modal runs. It stays there when the connection is cut, or this program dies: its input then simply does not go on. */
export function attachedProcess(process: ContainerProcess<Uint8Array>): AttachedCommand {
  const stdin = writableOf(process.stdin);
  const [stdout, stderr] = [readableOf(process.stdout), readableOf(process.stderr)];
  // Those who want to know listen too.
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
  return {
    stdin,
    stdout,
    stderr,
    exitCode: () => exitCodeOf(process),
    // The package keeps the program running while it reads, and has no way to change that.
    ref: () => undefined,
    unref: () => undefined,
    destroy() {
      stdout.destroy();
      stderr.destroy();
      // Security: a process whose input does not end would stay, and with it the sandbox and its price.
      if (stdin.errored) void process.closeStdin();
      else stdin.end();
    },
  };
}

function readableOf(source: ReadableStream<Uint8Array>): Readable {
  const reader = source.getReader();
  const next = async (): Promise<Uint8Array | null> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      if (value.length > 0) return value;
    }
  };
  return new Readable({
    read() {
      next().then(
        (data) => this.push(data),
        (error: unknown) => this.destroy(cutError(error)),
      );
    },
    destroy(error, done) {
      reader.cancel().catch(() => undefined);
      done(error);
    },
  });
}

function cutError(error: unknown): HermeticError {
  const { message } = modalError(error);
  return new HermeticError('sandbox/lost', `The connection to the sandbox was cut. ${message}`, { cause: error });
}

/** Everything that waits goes in one message, up to its size: each is a call of its own. */
function writableOf(target: WritableStream<Uint8Array>): Writable {
  const writer = target.getWriter();
  writer.closed.catch(() => undefined);
  const send = async (data: Buffer): Promise<void> => {
    for (let at = 0; at < data.length; at += maxMessageBytes) await writer.write(data.subarray(at, at + maxMessageBytes));
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      send(chunk).then(() => done(), done);
    },
    writev(chunks, done) {
      send(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer))).then(() => done(), done);
    },
    final(done) {
      writer.close().then(() => done(), done);
    },
  });
}

/** The package would ask for ever. */
async function exitCodeOf(process: ContainerProcess<Uint8Array>): Promise<number | undefined> {
  const late = new AbortController();
  const asking = process._wait(late.signal).then(
    // Security: anything else is not how a process ends, such as -1 for one that took too long.
    (code) => (Number.isInteger(code) && code >= 0 && code <= 255 ? code : undefined),
    () => undefined,
  );
  return await within(exitMs, asking, () => {
    late.abort();
    return undefined;
  });
}
