import { closeSync, unlinkSync, writeFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { KillSignal } from '../../core/sandbox.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { EndChannel, type EndRecord } from '../end-channel.ts';
import { type Call, callFields, type OutputPipe, type Shell, type ShellOwner, type SpawnRequest } from '../spawner.ts';
import { DumpReader } from './dump-reader.ts';
import { openForReading, openForWriting, readNow } from './named-pipes.ts';

/**
 * `in`, `out` and `err` are the command's; records come through `end`; the session's state through `state`; closing `ack` tells the
 * supervisor that the host has read all it wants.
 */
export const pipeSuffixes = ['in', 'out', 'err', 'end', 'state', 'ack'] as const;
const fileSuffixes = ['call', 'restore', 'delta'] as const;
/** Bytes that are read one by one in less time than a file takes to make. */
const shortCall = 1024;
const pipeCapacity = 64 * 1024;
/** A shared read buffer; its content is copied at once. */
const scratch = Buffer.allocUnsafe(pipeCapacity);
/** How often the state pipe of a running command is looked at. Only a state larger than the pipe has to wait for that. */
const statePollMs = 100;
/** How long a shell may take to start before a caller that kills it stops waiting. */
const startDeadlineMs = 2_000;

/** How long no command must have come before a shell prepares for the file tools. */
const pauseMs = 30;

/** A command of the file tools. See `guest/shell.bash`. */
const fileCommand = '__hermetic_file "$@"';

/** What the commands of one attachment have in common. */
export interface Habits {
  /** A file tool has run: the next one is not far, so that waiting shells prepare for it. */
  usesFiles: boolean;
}

interface SocketPipe extends OutputPipe {
  readonly stream: Socket;
}

export class PipedShell implements Shell {
  readonly stdout: SocketPipe;
  readonly stderr: SocketPipe;
  readonly mark: string;
  readonly #at: string;
  readonly #owner: ShellOwner;
  readonly #habits: Habits;
  readonly #end: Socket;
  readonly #state: DumpReader;
  readonly #acknowledge: number;
  /** Standard input until a caller asks for it as a stream. */
  #input: number | undefined;
  readonly #files = new Set<(typeof fileSuffixes)[number]>();
  #writable: Socket | undefined;
  #ready = false;
  /** Any word of it, or about it. */
  readonly #begun = Promise.withResolvers<void>();
  #closeWhenReady = false;
  #pause: NodeJS.Timeout | undefined;
  /** No command has come. */
  #waits: boolean;
  #over = false;
  #released = false;

  constructor(at: string, mark: string, request: SpawnRequest, owner: ShellOwner, habits: Habits) {
    this.mark = mark;
    this.#habits = habits;
    this.#at = at;
    this.#owner = owner;
    this.#waits = request.call === undefined;
    if (request.restore) this.#writeFile('restore', request.restore);
    if (request.call) this.#writeFile('call', fieldsOf(request.call).join(''));
    this.stdout = outputPipe(`${at}.out`);
    this.stderr = outputPipe(`${at}.err`);
    this.#input = openForWriting(`${at}.in`);
    this.#acknowledge = openForWriting(`${at}.ack`);
    this.#state = new DumpReader(`${at}.state`, statePollMs, (dump) => owner.receive({ kind: 'dump', dump }));
    this.#end = openForReading(`${at}.end`).socket;
    const channel = new EndChannel((record) => this.#heard(record));
    this.#end.on('data', (chunk: Buffer) => {
      if (channel.push(chunk)) return;
      this.#end.destroy();
      this.lost('the shell reported more than a shell has to say');
    });
    this.#end.on('end', () => this.lost('the shell ended without a report'));
    this.#end.on('error', (error) => this.lost(error.message));
    if (request.call) this.#stay();
  }

  /** A property, so that it can be kept in a set and called from there. */
  readonly lost = (reason: string): void => {
    if (this.#over) return;
    this.#over = true;
    this.#begun.resolve();
    this.#owner.forget();
    this.#owner.lost(reason);
  };

  /** A shell reports its state before the record that ends it. */
  #heard(record: EndRecord): void {
    this.#state.read();
    if (record.kind === 'ready') {
      this.#ready = true;
      if (this.#closeWhenReady) this.closeStdin();
      if (this.#waits && this.#habits.usesFiles) this.#pause = setTimeout(() => this.#useThePause(), pauseMs).unref();
    }
    this.#begun.resolve();
    this.#owner.receive(record);
  }

  #writeFile(suffix: (typeof fileSuffixes)[number], text: string): void {
    writeFileSync(`${this.#at}.${suffix}`, text, 'latin1');
    this.#files.add(suffix);
  }

  /** From here on the program stays until the command has ended. */
  #stay(): void {
    for (const pipe of [this.stdout.stream, this.stderr.stream, this.#end]) pipe.ref();
  }

  #useThePause(): void {
    try {
      // A process inside may report several times that the shell is ready.
      if (this.#waits && this.#input !== undefined) writeSync(this.#input, 'files\n');
    } catch {
      // The sandbox has filled the pipe of its shell.
    }
  }

  begin(call: Call, delta: string): void {
    this.#waits = false;
    clearTimeout(this.#pause);
    this.#habits.usesFiles ||= call.script === fileCommand;
    const fields = fieldsOf(call);
    const text = fields.join('');
    const isShort = text.length <= shortCall;
    if (!isShort) this.#writeFile('call', text);
    if (delta) this.#writeFile('delta', delta);
    const go = `${delta ? 'delta' : 'go'} ${isShort ? fields.length : ''}\n`;
    if (this.#input !== undefined) writeSync(this.#input, isShort ? go + text : go, null, 'latin1');
    this.#stay();
  }

  stdin(): Writable {
    if (this.#writable) return this.#writable;
    if (this.#input === undefined) throw new Error('standard input is closed');
    this.#writable = new Socket({ fd: this.#input, readable: false, writable: true });
    this.#writable.on('error', () => undefined);
    this.#input = undefined;
    return this.#writable;
  }

  closeStdin(): void {
    // Before the shell has opened its end, closing ours would lose what is in the pipe.
    if (!this.#ready && !this.#over) {
      this.#closeWhenReady = true;
      return;
    }
    this.#writable?.end();
    if (this.#input !== undefined) closeSync(this.#input);
    this.#input = undefined;
  }

  async kill(signal: KillSignal): Promise<void> {
    // Before its first word it has no mark to be found by.
    await settlesWithin({ ms: startDeadlineMs, ref: false }, this.#begun.promise);
    await this.#owner.kill(signal);
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#over = true;
    clearTimeout(this.#pause);
    this.#owner.forget();
    this.closeStdin();
    this.#writable?.destroy();
    this.#end.destroy();
    this.#state.close();
    closeSync(this.#acknowledge);
    for (const { stream } of [this.stdout, this.stderr]) stream.destroy();
    for (const suffix of [...pipeSuffixes, ...this.#files]) removeIfThere(`${this.#at}.${suffix}`);
  }
}

function fieldsOf(call: Call): string[] {
  return callFields(call).map((field) => `${field}\0`);
}

function outputPipe(path: string): SocketPipe {
  const { descriptor, socket } = openForReading(path);
  const drain = (): Buffer[] => {
    const chunks: Buffer[] = [];
    socket.removeAllListeners('data');
    socket.pause();
    for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null) chunks.push(chunk);
    // No more than a pipe holds: a background process that prints without end must not keep us here.
    for (let left = pipeCapacity; left > 0 && !socket.destroyed && !socket.readableEnded; ) {
      const length = readNow(descriptor, scratch.subarray(0, left));
      if (length === 0) break;
      chunks.push(Buffer.from(scratch.subarray(0, length)));
      left -= length;
    }
    return chunks;
  };
  return { stream: socket, drain };
}

/** The directory may have gone with everything in it. */
function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
