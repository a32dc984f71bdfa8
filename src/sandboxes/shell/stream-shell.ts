import { Readable, Writable } from 'node:stream';
import type { KillSignal } from '../../core/sandbox.ts';
import type { EndRecord } from './end-channel.ts';
import { FrameSplitter } from './frame-splitter.ts';
import type { Call, OutputPipe, Shell, ShellOwner } from './spawner.ts';
import { StreamRecords } from './stream-records.ts';

/** A command that runs in a sandbox, reached by its three streams. */
export interface AttachedCommand {
  /** `end` half-closes: the command sees the end of its input and can go on talking. Never emits an unheard error. */
  readonly stdin: Writable;
  /** They end when everything that had them open is gone, and fail when the connection is cut. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Asked when both have ended; undefined when nobody knows. */
  exitCode(): Promise<number | undefined>;
  /** Whether the program stays for it. */
  ref(): void;
  unref(): void;
  /** Lets go. As long as the command runs, it and what it started can go on printing without harm. */
  destroy(): void;
}

/** Starts an argument vector in a sandbox. A command that may have started is never started again. */
export type Attach = (command: readonly string[]) => Promise<AttachedCommand>;

const wordPatienceMs = 500;
/** How long a shell may take to start before somebody who wants it killed waits no longer. */
const startPatienceMs = 10_000;
/** More than an engine, the kernel and the network hold of what was printed. */
const mostHurriedBytes = 32 * 1024 * 1024;

/** What a shell is told before it is ready. */
export interface Opening {
  nonce: string;
  /** Bytes as latin1 text. */
  words: string;
  /** Whether there is a command for it already. */
  begun: boolean;
}

/** A message to a shell: a line of lengths, then the fields. Bytes as latin1 text. See `guest/stream.bash`. */
export function message(...fields: readonly string[]): string {
  return `${fields.map((field) => field.length).join(' ')}\n${fields.join('')}`;
}

export function callMessage({ script, sessionDirectory, directory, variables, args }: Call, delta: string): string {
  return message(delta, script, sessionDirectory, directory, String(variables.length), ...variables, ...args);
}

export class StreamShell implements Shell {
  readonly stdout: StreamPipe;
  readonly stderr: StreamPipe;
  readonly #owner: ShellOwner;
  readonly #input: Writable;
  readonly #records: StreamRecords;
  readonly #ready = Promise.withResolvers<void>();
  #attached: AttachedCommand | undefined;
  #open = 2;
  #started = false;
  #begun: boolean;
  #over = false;
  #released = false;

  constructor(attaching: Promise<AttachedCommand>, { nonce, words, begun }: Opening, owner: ShellOwner) {
    this.#owner = owner;
    this.#begun = begun;
    const flooded = (): void => {
      this.#attached?.destroy();
      this.lost('the shell reported more than a shell has to say');
    };
    this.#records = new StreamRecords(nonce, (record) => this.#heard(record), flooded);
    const records = this.#records;
    this.stdout = new StreamPipe((pipe) => {
      return new FrameSplitter(nonce, {
        bytes: (data) => pipe.add(data),
        frame: (kind, text) => records.mark(kind, text),
        damaged: () => undefined,
      });
    });
    this.stderr = new StreamPipe((pipe) => {
      return new FrameSplitter(nonce, {
        bytes: (data) => pipe.add(data),
        frame: (kind, text) => records.frame(kind, text),
        damaged: () => records.damaged(),
      });
    });
    this.#input = new Writable({
      construct: (done) => void attaching.then(() => done(), done),
      write: (chunk: Buffer, _encoding, done) => void this.#attached?.stdin.write(chunk, done),
      final: (done) => {
        this.#attached?.stdin.end();
        done();
      },
    });
    this.#input.on('error', () => undefined);
    this.#input.write(Buffer.from(words, 'latin1'));
    attaching.then(
      (attached) => this.#attach(attached),
      (error: Error) => this.lost(error.message),
    );
  }

  #attach(attached: AttachedCommand): void {
    this.#attached = attached;
    if (this.#released) {
      attached.destroy();
      return;
    }
    if (!this.#begun) attached.unref();
    const failed = (error: Error): void => this.lost(error.message);
    this.stdout.follow(attached.stdout, failed, () => {
      this.#records.allMarked();
      this.#oneEnded();
    });
    this.stderr.follow(attached.stderr, failed, () => this.#oneEnded());
  }

  /**
   * A supervisor tells how its shell ended, unless it could not start one. Where it was killed itself, nobody knows; the sandbox may
   * have ended altogether, and then that is the reason.
   */
  #oneEnded(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#over) return;
    const unknown = (): void => void setTimeout(() => this.lost('the shell ended without a word'), wordPatienceMs);
    this.#attached?.exitCode().then((code) => {
      if (code === undefined || code > 128 || this.#started) unknown();
      else this.#heard({ kind: 'status', code, killed: false });
    }, unknown);
  }

  #heard(record: EndRecord): void {
    if (this.#over) return;
    if (record.kind === 'ready') {
      this.#started = true;
      this.#ready.resolve();
    }
    if (record.kind === 'status' || record.kind === 'no-room') this.#end();
    this.#owner.receive(record);
  }

  /** A property, so that it can be kept in a set and called from there. */
  readonly lost = (reason: string): void => {
    if (this.#over) return;
    this.#end();
    this.#owner.lost(reason);
  };

  #end(): void {
    this.#over = true;
    this.#ready.resolve();
    this.#owner.forget();
  }

  begin(call: Call, delta: string): void {
    this.#begun = true;
    this.#attached?.ref();
    this.#input.write(Buffer.from(callMessage(call, delta), 'latin1'));
  }

  stdin(): Writable {
    return this.#input;
  }

  closeStdin(): void {
    if (!this.#input.writableEnded) this.#input.end();
  }

  async kill(signal: KillSignal): Promise<void> {
    // Before that nothing carries its mark.
    const late = new Promise<false>((resolve) => setTimeout(resolve, startPatienceMs, false).unref());
    const isUp = await Promise.race([this.#ready.promise.then(() => true), late]);
    if (!isUp && signal === 'KILL') throw new Error('its shell does not start');
    await this.#owner.kill(signal);
    if (signal !== 'KILL') return;
    // What the dead left in the pipes ends, so it can be read without waiting for whoever reads it from us; the record of the end is behind it.
    this.stdout.hurry();
    this.stderr.hurry();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (!this.#over) this.#end();
    this.#attached?.destroy();
    this.#input.destroy();
    this.stdout.stream.destroy();
    this.stderr.stream.destroy();
  }
}

/** The output of a command on one of its streams, without the frames. */
class StreamPipe implements OutputPipe {
  readonly stream: Readable;
  readonly #splitter: FrameSplitter;
  #source: Readable | undefined;
  /** So many bytes are taken whether anybody reads them or not. */
  #hurried = 0;

  constructor(splitter: (pipe: StreamPipe) => FrameSplitter) {
    this.#splitter = splitter(this);
    this.stream = new Readable({ read: () => void this.#source?.resume(), highWaterMark: 64 * 1024 });
    this.stream.on('error', () => undefined);
  }

  follow(source: Readable, failed: (error: Error) => void, ended: () => void): void {
    this.#source = source;
    source.on('data', (chunk: Buffer) => this.#splitter.push(chunk));
    source.on('error', failed);
    source.on('end', () => {
      this.#splitter.end();
      ended();
    });
  }

  add(data: Buffer): void {
    this.#hurried -= data.length;
    if (!this.stream.destroyed && !this.stream.push(data) && this.#hurried <= 0) this.#source?.pause();
  }

  /** What the dead have printed is taken at once. Security: and no more, because whoever says they are dead may lie. */
  hurry(): void {
    this.#hurried = mostHurriedBytes;
    this.#source?.resume();
  }

  drain(): Buffer[] {
    const chunks: Buffer[] = [];
    this.stream.removeAllListeners('data');
    this.stream.pause();
    for (let chunk = this.stream.read() as Buffer | null; chunk; chunk = this.stream.read() as Buffer | null) chunks.push(chunk);
    return chunks;
  }
}
