import { Writable } from 'node:stream';
import type { KillSignal } from '../../core/sandbox.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { EndRecord } from '../end-channel.ts';
import { type Call, callFields, type Shell, type ShellOwner } from '../spawner.ts';
import type { ShellStream } from './shell-stream.ts';
import type { ShellStreams } from './shell-streams.ts';
import { StreamPipe } from './stream-pipe.ts';

/** Until the next try to start a shell. A sandbox that is full or an engine that is busy may have room again. */
const retriesMs = [100, 400, 1_000];
/** How long a sandbox that ends may take to be the reason of what it takes along. */
const reasonDeadlineMs = 500;
/** How long a shell may take to start before a caller that kills it stops waiting. */
const startDeadlineMs = 10_000;

/** The input of a shell before it is ready. */
export interface Opening {
  mark: string;
  nonce: string;
  /** Bytes as latin1 text. */
  words: string;
  /** Whether there is a command for it already. */
  begun: boolean;
  /** Resolves when what is left of its command ends with this program. */
  tethered: Promise<unknown>;
}

/** A shell on a stream. Nothing of a command is sent before the shell is up and tethered. */
export class StreamShell implements Shell {
  readonly stdout = new StreamPipe();
  readonly stderr = new StreamPipe();
  readonly mark: string;
  readonly #owner: ShellOwner;
  readonly #input: Writable;
  readonly #ready = Promise.withResolvers<void>();
  readonly #streams: ShellStreams;
  #stream: ShellStream | undefined;
  #begun: boolean;
  /** The command has no input. */
  #isInputEmpty = false;
  #isUp = false;
  #over = false;
  #released = false;

  constructor(streams: ShellStreams, opening: Opening, owner: ShellOwner) {
    this.mark = opening.mark;
    this.#owner = owner;
    this.#streams = streams;
    this.#begun = opening.begun;
    let isCallSent = opening.begun;
    this.#input = new Writable({
      construct: (done) => void Promise.all([this.#ready.promise, opening.tethered]).then(() => done(), done),
      write: (chunk: Buffer, _encoding, done) => {
        if (this.#over) return done();
        if (isCallSent) this.#stream?.write(chunk, done);
        else this.#stream?.tell(chunk, done);
        isCallSent = true;
      },
      final: (done) => {
        this.#stream?.endInput();
        done();
      },
    });
    this.#input.on('error', () => undefined);
    void this.#start(opening);
  }

  async #start({ nonce, words, begun, tethered }: Opening): Promise<void> {
    for (let attempt = 0; !this.#over; attempt++) {
      try {
        if (begun) await tethered;
        const stream = await this.#streams.take();
        this.#stream = stream;
        if (this.#over) return this.#giveBack();
        stream.ref();
        await stream.start(words, nonce, this, { receive: (record) => this.#heard(record), over: (reason) => this.#cut(reason) });
        if (!this.#begun) stream.unref();
        this.#isUp = true;
        return this.#ready.resolve();
      } catch (error) {
        const retryMs = retriesMs[attempt];
        if (retryMs === undefined) return this.lost(`no shell starts in it: ${errorText(error)}`);
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  /** A shell that waits is given up at once, so that no command is handed to it. */
  #cut(reason: string): void {
    if (this.#begun) setTimeout(() => this.lost(reason), reasonDeadlineMs);
    else this.lost(reason);
  }

  #giveBack(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream) void this.#streams.giveBack(stream);
  }

  #heard(record: EndRecord): void {
    if (this.#over) return;
    if (record.kind === 'status' || record.kind === 'no-room') this.#end();
    this.#owner.receive(record);
  }

  lost(reason: string): void {
    if (this.#over) return;
    this.#end();
    this.#owner.lost(reason);
  }

  /**
   * Security: this program has detached, so a command that has not begun never does: nothing would end it with this
   * program.
   */
  detached(): void {
    if (!this.#isUp) this.lost('the sandbox was closed');
  }

  #end(): void {
    this.#over = true;
    this.#ready.resolve();
    this.#owner.forget();
  }

  begin(call: Call, delta: string): void {
    this.#begun = true;
    this.#isInputEmpty = call.input === 'empty';
    this.#stream?.ref();
    this.#input.write(Buffer.from(callMessage(call, delta), 'latin1'));
  }

  stdin(): Writable {
    return this.#input;
  }

  closeStdin(): void {
    if (!this.#isInputEmpty && !this.#input.writableEnded) this.#input.end();
  }

  async kill(signal: KillSignal): Promise<void> {
    // Before that nothing carries its mark.
    const isUp = await settlesWithin({ ms: startDeadlineMs, ref: false }, this.#ready.promise);
    if (!isUp && signal === 'KILL') throw new Error('its shell does not start');
    await this.#owner.kill(signal);
    if (signal !== 'KILL') return;
    // Output of dead processes is finite. It need not wait for our reader, and the end record is behind it.
    this.stdout.hurry();
    this.stderr.hurry();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (!this.#over) this.#end();
    this.#giveBack();
    this.#input.destroy();
    this.stdout.stream.destroy();
    this.stderr.stream.destroy();
  }
}

/** A message to a shell: a line of lengths, then the fields. Bytes as latin1 text. See `guest/stream.bash`. */
export function message(...fields: readonly string[]): string {
  return `${fields.map((field) => field.length).join(' ')}\n${fields.join('')}`;
}

export function callMessage(call: Call, delta: string): string {
  return message(delta, call.input, ...callFields(call));
}
