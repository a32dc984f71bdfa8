import type { Readable } from 'node:stream';
import { settlesWithin } from '../../lib/deadline.ts';
import { printable } from '../../lib/printable.ts';
import type { EndRecord } from '../end-channel.ts';
import type { AttachedCommand } from './attached-command.ts';
import { FrameSplitter } from './frame-splitter.ts';
import type { StreamPipe } from './stream-pipe.ts';
import { StreamRecords } from './stream-records.ts';

/** The max output of a shell that is not up yet. */
const maxEarlyBytes = 64 * 1024;
/** Security: a piece costs this much however short it is, for each is an object of its own. */
const minCost = 64;
const maxQuoted = 500;
/** How long nothing may arrive of the output of a shell that says it has ended. */
const lastOutputMs = 10_000;
/** How long a shell that has told how its command ended may take to be gone. */
const cleanDeadlineMs = 10_000;

const cutShort = 'the end of its output did not arrive';

/** The output of one shell, without its frames. */
export interface StreamPipes {
  readonly stdout: StreamPipe;
  readonly stderr: StreamPipe;
}

export interface StreamListener {
  receive(record: EndRecord): void;
  /** No record comes any more; only after the shell was up. */
  over(reason: string): void;
}

/** A supervisor in a sandbox, reached by its three streams: it starts shells on them, one after another. */
export class ShellStream {
  readonly #attached: AttachedCommand;
  readonly #key: string;
  readonly #leaves: (supervisor: number) => void;
  #supervisor: number | undefined;
  #turn: Turn | undefined;
  #open = 2;
  /** Why no shell can be started on it any more. */
  #over: string | undefined;
  /** Its input belongs to a command, or has ended. */
  #isInputTaken = false;

  /**
   * By the key the supervisor tells requests from input that a command left unread. `leaves` lets it end when its stream is read no more: the end of
   * its input may be that of a command's.
   */
  constructor(attached: AttachedCommand, key: string, leaves: (supervisor: number) => void) {
    this.#attached = attached;
    this.#key = key;
    this.#leaves = leaves;
    this.#listen(attached.stdout, 'stdout');
    this.#listen(attached.stderr, 'stderr');
  }

  #listen(source: Readable, name: keyof StreamPipes): void {
    source.on('data', (chunk: Buffer) => this.#turn?.push(name, chunk));
    source.on('error', (error) => this.#end(error.message));
    source.on('end', () => {
      this.#turn?.finish(name);
      this.#open -= 1;
      if (this.#open === 0) void this.#ended();
    });
  }

  /** A supervisor tells how its shell ended. Where it was killed itself, or never started, only the engine may know something. */
  async #ended(): Promise<void> {
    if (this.#turn?.isUp) return this.#end(this.#turn.isShort ? cutShort : 'the shell ended without a report');
    const reason = await this.#attached.exitCode().then(
      (code) => `it ended with code ${code ?? 'unknown'}`,
      (error: Error) => error.message,
    );
    this.#end(reason);
  }

  #end(reason: string): void {
    this.#over ??= reason;
    this.#turn?.fail(reason);
  }

  /** Whether it can start a shell. */
  get isAlive(): boolean {
    return this.#over === undefined && !this.#isInputTaken;
  }

  /**
   * Starts a shell. Resolves when it is up, or the sandbox has no room for one. Rejects with the reason when neither happens: then no
   * command has begun, and nothing of what was said is in the pipes.
   */
  async start(words: string, nonce: string, pipes: StreamPipes, listener: StreamListener): Promise<void> {
    if (this.#over !== undefined) throw new Error(this.#over);
    const carrier = {
      attached: this.#attached,
      isFirst: !this.#turn,
      destroy: () => this.destroy(),
      begun: (supervisor: number) => {
        this.#supervisor ??= supervisor;
      },
    };
    const turn = new Turn(carrier, nonce, pipes, listener);
    this.#turn = turn;
    this.#attached.stdin.write(`${this.#key} ${words}`, 'latin1');
    await turn.up;
  }

  /** A message to the shell itself. */
  tell(text: Buffer, done: () => void): void {
    this.#attached.stdin.write(text, () => done());
  }

  /** Input for the command of its shell: no other shell can be told anything after it. */
  write(data: Buffer, done: () => void): void {
    this.#isInputTaken = true;
    this.tell(data, done);
  }

  endInput(): void {
    this.#isInputTaken = true;
    this.#attached.stdin.end();
  }

  ref(): void {
    this.#attached.ref();
  }

  unref(): void {
    this.#attached.unref();
  }

  /** The output of its shell is not wanted any more. Resolves with whether another one can be started on it. */
  async release(): Promise<boolean> {
    const turn = this.#turn;
    this.#attached.unref();
    turn?.letGo();
    if (!turn?.hasReadAll || !this.isAlive) {
      // Before that its supervisor is not known, and cannot be told to leave.
      if (turn) await settlesWithin({ ms: cleanDeadlineMs, ref: false }, turn.begun);
      return false;
    }
    return (await settlesWithin({ ms: cleanDeadlineMs, ref: false }, turn.done)) && turn.isClean && this.isAlive;
  }

  /** Detaches. What commands left running may go on printing. */
  destroy(): void {
    this.#over ??= 'it was closed';
    this.#attached.destroy();
    if (this.#supervisor !== undefined) this.#leaves(this.#supervisor);
  }
}

interface Carrier {
  attached: AttachedCommand;
  /** No shell was on it before: what is said before the beginning is a complaint. */
  isFirst: boolean;
  destroy(): void;
  /** The process of the supervisor, as the sandbox counts. */
  begun(supervisor: number): void;
}

/** One shell on a stream: from the beginning that its supervisor marks to the end. */
class Turn {
  readonly #start = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<void>();
  readonly #carrier: Carrier;
  readonly #pipes: StreamPipes;
  readonly #listener: StreamListener;
  readonly #records: StreamRecords;
  readonly #splitters: Readonly<Record<keyof StreamPipes, FrameSplitter>>;
  /** The streams that are its own already. */
  readonly #begun = new Set<keyof StreamPipes>();
  readonly #beginning = Promise.withResolvers<void>();
  #early: [keyof StreamPipes, Buffer][] = [];
  #earlyBytes = 0;
  #quiet: NodeJS.Timeout | undefined;
  #isLetGo = false;
  isUp = false;
  /** Nothing of what it was told is left in the stream: a shell that was killed, or never started, may not have read its command. */
  hasReadAll = false;
  /** Nothing that its command started has the streams any more. */
  isClean = false;

  constructor(carrier: Carrier, nonce: string, pipes: StreamPipes, listener: StreamListener) {
    this.#carrier = carrier;
    this.#pipes = pipes;
    this.#listener = listener;
    this.#records = new StreamRecords(
      nonce,
      (record) => this.#receive(record),
      () => {
        carrier.destroy();
        this.fail('the shell reported more than a shell has to say');
      },
    );
    this.#splitters = {
      stdout: this.#splitter('stdout', nonce, (kind, text) => this.#records.mark(kind, text)),
      stderr: this.#splitter('stderr', nonce, (kind, text) => this.#records.frame(kind, text)),
    };
    pipes.stdout.holdUp(carrier.attached.stdout);
    pipes.stderr.holdUp(carrier.attached.stderr);
  }

  #splitter(name: keyof StreamPipes, nonce: string, frame: (kind: string, text: string) => void): FrameSplitter {
    return new FrameSplitter(nonce, {
      bytes: (data) => this.#add(name, data),
      frame: (kind, text) => (kind === 'b' ? this.#begin(name, text) : frame(kind, text)),
      damaged: () => {
        if (name === 'stderr') this.#records.damaged();
      },
    });
  }

  #begin(name: keyof StreamPipes, text: string): void {
    this.#begun.add(name);
    if (name !== 'stderr') return;
    if (/^[1-9]\d{0,9}$/.test(text)) this.#carrier.begun(Number(text));
    this.#beginning.resolve();
  }

  /** Resolves when its supervisor has told who it is, or cannot any more. */
  get begun(): Promise<void> {
    return this.#beginning.promise;
  }

  /** Settles when it is up or cannot be. */
  get up(): Promise<void> {
    return this.#start.promise;
  }

  /** Resolves when it is known whether its streams can be those of another shell. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Whether the end of the command was told, and the output before it did not arrive. */
  get isShort(): boolean {
    return this.#records.isShort;
  }

  push(name: keyof StreamPipes, chunk: Buffer): void {
    this.#splitters[name].push(chunk);
    this.#awaitOutput();
  }

  finish(name: keyof StreamPipes): void {
    this.#splitters[name].end();
  }

  #add(name: keyof StreamPipes, data: Buffer): void {
    const isOfEarlierShell = !this.#carrier.isFirst && !this.#begun.has(name);
    if (this.#isLetGo || isOfEarlierShell) return;
    if (this.isUp) {
      this.#pipes[name].add(data);
      return;
    }
    this.#earlyBytes += Math.max(data.length, minCost);
    if (this.#earlyBytes <= maxEarlyBytes) this.#early.push([name, data]);
    // Security: what is no shell, and never will be, is not listened to for ever.
    else this.fail('it prints without end');
  }

  #receive(record: EndRecord): void {
    const { kind } = record;
    if (kind === 'clean' || kind === 'occupied') {
      this.#isKnown(kind === 'clean');
      return;
    }
    if (kind === 'status' && !this.isUp) {
      this.fail(`its shell ended with code ${record.code}`);
      return;
    }
    if (kind === 'ready' || kind === 'no-room') {
      this.isUp = true;
      for (const [name, data] of this.#early) this.#pipes[name].add(data);
      this.#early = [];
      this.#start.resolve();
    }
    this.hasReadAll ||= kind === 'completed' || kind === 'exiting';
    this.#listener.receive(record);
  }

  #isKnown(isClean: boolean): void {
    this.isClean = isClean;
    this.#beginning.resolve();
    this.#done.resolve();
  }

  /** Security: a command can keep a mark from arriving, and its supervisor waits for us. */
  #awaitOutput(): void {
    clearTimeout(this.#quiet);
    const { stdout, stderr } = this.#carrier.attached;
    if (!this.isShort || stdout.destroyed) return;
    const isHeldUp = (): boolean => stdout.isPaused() || stderr.isPaused();
    this.#quiet = setTimeout(() => (isHeldUp() ? this.#awaitOutput() : this.fail(cutShort)), lastOutputMs).unref();
  }

  /** Drops what it still prints. */
  letGo(): void {
    this.#isLetGo = true;
    for (const source of [this.#carrier.attached.stdout, this.#carrier.attached.stderr]) source.resume();
  }

  fail(reason: string): void {
    clearTimeout(this.#quiet);
    this.#isKnown(false);
    if (this.isUp) {
      this.#listener.over(reason);
      return;
    }
    this.#carrier.destroy();
    const said = printable(this.#early.map(([, data]) => data.toString()).join('')).slice(0, maxQuoted);
    this.#start.reject(new Error(said || reason));
  }
}
