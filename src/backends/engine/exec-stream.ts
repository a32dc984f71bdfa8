import type { Socket } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import type { TerminalSize } from '../../core/sandbox.ts';
import { TwoOutputs } from '../../lib/two-outputs.ts';
import type { Engine } from './engine.ts';
import { errnoOf } from './errno.ts';
import { FrameParser, type FramePiece } from './frame-parser.ts';

export interface ExecOptions {
  /** An argument vector, never shell text. */
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** `uid:gid`; undefined is the user of the container. */
  user?: string | undefined;
  workdir?: string | undefined;
  /** Runs on a terminal: everything arrives as stdout. */
  terminal?: TerminalSize | undefined;
}

interface ExecState {
  running: boolean;
  /** undefined while unknown. */
  exitCode: number | undefined;
  /** On the machine of the engine; 0 when unknown. */
  pid: number;
}

export interface ExecStream {
  readonly id: string;
  /** `end` half-closes: the command sees the end of its input and can go on talking. Never emits an unheard error. */
  readonly stdin: Writable;
  /**
   * Both share one connection: as long as either is full and unread, nothing arrives on the other, and the command is held up. They end when
   * everything that had them open is gone, or fail with `sandbox/lost` when the connection is cut. An end says nothing about the exit.
   */
  readonly stdout: Readable;
  readonly stderr: Readable;
  inspect(): Promise<ExecState>;
  resize(size: TerminalSize): Promise<void>;
  /** Whether the program stays for it. */
  ref(): void;
  unref(): void;
  /** Lets go of the connection. The command goes on. */
  destroy(): void;
}

/** Starts a command in a running container. A command that may have started is never started again. */
export async function openExec(engine: Engine, container: string, options: ExecOptions, signal?: AbortSignal): Promise<ExecStream> {
  const tty = options.terminal !== undefined;
  const { Id: id } = await engine.request<{ Id: string }>(
    'POST',
    `/containers/${encodeURIComponent(container)}/exec`,
    {
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: !tty,
      Tty: tty,
      Cmd: options.command,
      Env: Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`),
      ...(options.user !== undefined && { User: options.user }),
      ...(options.workdir !== undefined && { WorkingDir: options.workdir }),
    },
    { signal },
  );
  const path = `/exec/${encodeURIComponent(id)}`;
  const resize = (size: TerminalSize): Promise<void> => engine.request('POST', `${path}/resize?h=${size.rows}&w=${size.columns}`);
  const size = options.terminal && { ConsoleSize: [options.terminal.rows, options.terminal.columns] };
  const socket = await engine.hijack(`${path}/start`, { Detach: false, Tty: tty, ...size }, { signal });
  const streams = join(socket, tty);
  if (options.terminal) {
    // Engines before API 1.42 do not know `ConsoleSize`: there the command may see its size a moment late.
    await resize(options.terminal).catch(() => {
      // The command is over already. Its output says so.
    });
  }
  return {
    id,
    ...streams,
    resize,
    async inspect() {
      const state = await engine.request<{ Running: boolean; ExitCode: number | null; Pid: number }>('GET', `${path}/json`);
      return { running: state.Running, exitCode: state.Running ? undefined : (state.ExitCode ?? undefined), pid: state.Pid };
    },
  };
}

/** Makes three streams of one socket, without ever holding more than their buffers and one read. */
function join(socket: Socket, tty: boolean): Pick<ExecStream, 'stdin' | 'stdout' | 'stderr' | 'ref' | 'unref' | 'destroy'> {
  let over = false;
  const outputs = new TwoOutputs(socket);
  const stdin = new Writable({
    write(chunk: Buffer, encoding, done) {
      // Not `socket.write`: a socket whose write fails destroys itself with everything it has not yet read, and a command that ends without
      // reading its input must not lose its output. This stream writes one chunk at a time, which is all that `_write` asks for.
      socket._write(chunk, encoding, done);
    },
    final(done) {
      socket.end(done);
    },
    destroy(error, done) {
      if (!over) {
        socket.end();
      }
      done(error);
    },
  });
  // Writers get the error by their own call. A stream without one must not end the program.
  stdin.on('error', () => undefined);

  const finish = (settle: () => void): void => {
    if (!over) {
      over = true;
      socket.destroy();
      stdin.destroy();
      settle();
    }
  };
  const end = (): void => finish(() => outputs.end());
  const cutOff = (cause?: unknown): void => {
    const lost = new HermeticError('sandbox/lost', 'The connection to the command was cut.', { cause });
    finish(() => outputs.destroy(lost));
  };

  const parser = new FrameParser();
  socket.on('data', (chunk: Buffer) => {
    if (tty) {
      outputs.deliver('stdout', chunk);
      return;
    }
    try {
      for (const { stream, data } of joinPieces(parser.feed(chunk))) {
        outputs.deliver(stream, data);
      }
    } catch (error) {
      cutOff(error);
    }
  });
  socket.on('end', () => (parser.atBoundary ? end() : cutOff()));
  // An engine that closes with unread input of ours makes a reset of what would be the end; all output has been read by then.
  socket.on('error', (error) => (parser.atBoundary && errnoOf(error) === 'ECONNRESET' ? end() : cutOff(error)));
  socket.on('close', () => cutOff());
  return {
    stdin,
    stdout: outputs.stdout,
    stderr: outputs.stderr,
    ref: () => void socket.ref(),
    unref: () => void socket.unref(),
    destroy: () => finish(() => outputs.destroy()),
  };
}

/** Security: pieces of one stream that arrive together become one, because a program that prints single bytes would make many small things of them. */
export function* joinPieces(pieces: Iterable<FramePiece>): Generator<FramePiece> {
  let stream: FramePiece['stream'] = 'stdout';
  let parts: Buffer[] = [];
  const joined = (): Buffer => (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
  for (const piece of pieces) {
    if (piece.stream !== stream && parts.length > 0) {
      yield { stream, data: joined() };
      parts = [];
    }
    stream = piece.stream;
    parts.push(piece.data);
  }
  if (parts.length > 0) yield { stream, data: joined() };
}
