import type { KillSignal } from '../../core/sandbox.ts';
import { within } from '../../lib/deadline.ts';
import type { Attach, AttachedCommand } from './attached-command.ts';

const killDeadlineMs = 8_000;
/** Looking at every process takes long beside hundreds of busy ones. */
const liveDeadlineMs = 20_000;
const lastWordsMs = 2_000;
const retryMs = 1_000;
/** Far more than the answers to one request. */
const maxBytes = 256 * 1024;

/** How a tether is told that this process lives, where its input does not end when this process dies or does not run any more. */
export interface Pulse {
  everyMs: number;
  /** It takes so many seconds without a word for the death of this process. */
  silenceSeconds: number;
}

export interface TetherOptions {
  attach: Attach;
  pulse?: Pulse | undefined;
  /** The command line of `guest/tether.bash`. */
  command: readonly string[];
  words: string;
  ended: Promise<string>;
}

/**
 * The one command that runs in a sandbox for as long as this process is attached to it by streams: it signals what commands started,
 * and kills what still runs when this process is gone. When it ends, as a command may end it, another takes its place.
 */
export class Tether {
  readonly #options: TetherOptions;
  readonly #running = new Set<string>();
  /** By the start of the answer. */
  readonly #waiting = new Map<string, (answer: string) => void>();
  #current: Promise<AttachedCommand>;
  /** Resolves when it is there for the first time, and has heard of the commands until then. Rejects when it is closed before. */
  readonly connected: Promise<unknown>;
  #sequence = 0;
  /** Since the last request. */
  #heardBytes = 0;
  #closed = false;
  readonly #beats: NodeJS.Timeout | undefined;

  constructor(options: TetherOptions) {
    this.#options = options;
    this.#current = this.#keepTrying();
    this.connected = this.#current;
    this.#beats = options.pulse && setInterval(() => this.#tell('here'), options.pulse.everyMs).unref();
    void options.ended.then(() => this.close());
  }

  /** Rejects only when it is closed. */
  #keepTrying(after = 0): Promise<AttachedCommand> {
    const trying = (async () => {
      if (after > 0) await new Promise((resolve) => setTimeout(resolve, after).unref());
      for (;;) {
        if (this.#closed) throw new Error('the sandbox is closed');
        try {
          return await this.#connect();
        } catch {
          await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
        }
      }
    })();
    trying.catch(() => undefined);
    return trying;
  }

  async #connect(): Promise<AttachedCommand> {
    const { attach, command, words } = this.#options;
    const connection = await attach(command);
    this.#heardBytes = 0;
    const hello = Promise.withResolvers<void>();
    let answers = '';
    let greeted = false;
    connection.stdout.on('data', (chunk: Buffer) => {
      this.#heardBytes += chunk.length;
      // Security: every process inside can write here.
      if (this.#heardBytes > maxBytes) return over();
      const lines = (answers + chunk.toString('latin1')).split('\n');
      answers = (lines.pop() ?? '').slice(-1000);
      for (const line of lines) {
        if (line === 'hello') {
          greeted = true;
          hello.resolve();
        } else this.#answered(line);
      }
    });
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      hello.reject(new Error('it ended'));
      connection.destroy();
      // Security: not at once, because something inside may end every one there is.
      if (greeted && !this.#closed) this.#current = this.#keepTrying(retryMs);
    };
    connection.stdout.once('end', over);
    connection.stdout.once('error', over);
    connection.stderr.on('error', () => undefined).resume();
    connection.stdin.write(words, 'latin1');
    await hello.promise;
    for (const mark of this.#running) connection.stdin.write(`started ${mark}\n`);
    connection.unref();
    if (this.#closed) connection.destroy();
    return connection;
  }

  #answered(line: string): void {
    const end = line.lastIndexOf(' ');
    this.#waiting.get(line.slice(0, end))?.(line.slice(end + 1));
  }

  #tell(line: string): void {
    // A word after the end would destroy the input, with words before it that are still on their way.
    if (this.#closed) return;
    void this.#current.then((connection) => connection.stdin.write(`${line}\n`)).catch(() => undefined);
  }

  /** Processes with this mark must not outlive us. */
  started(mark: string): void {
    this.#running.add(mark);
    this.#tell(`started ${mark}`);
  }

  ended(mark: string): void {
    if (this.#running.delete(mark)) this.#tell(`ended ${mark}`);
  }

  /** The stream of this supervisor is read no more: it ends as soon as nothing that its command left has it. */
  leaves(supervisor: number): void {
    this.#tell(`leaves ${supervisor}`);
  }

  /** Resolves when every process with the mark, or with any when it is `all`, has the signal; with KILL, when they are dead. */
  async kill(mark: string, signal: KillSignal): Promise<void> {
    const sequence = ++this.#sequence;
    const left = await this.#ask(`killed ${sequence}`, `kill ${mark} ${signal} ${sequence}`, killDeadlineMs);
    if (signal === 'KILL' && left !== '0') throw new Error(left === 'late' ? 'the sandbox does not answer' : `${left} processes survived`);
  }

  async hasLiveProcesses(waiting = '-'): Promise<boolean> {
    const sequence = ++this.#sequence;
    const answer = await this.#ask(`live ${sequence}`, `live ${waiting} ${sequence}`, liveDeadlineMs);
    if (answer === 'late') throw new Error('the sandbox does not answer');
    return answer !== '0';
  }

  /** The text after `start` in the answer; `late` when none comes in time, and `0` when the sandbox ends before. */
  async #ask(start: string, request: string, deadlineMs: number): Promise<string> {
    this.#heardBytes = 0;
    const answer = new Promise<string>((resolve) => this.#waiting.set(start, resolve));
    const over = this.#options.ended.then(() => '0');
    this.#tell(request);
    try {
      return await within(deadlineMs, Promise.race([answer, over]), () => 'late');
    } finally {
      this.#waiting.delete(start);
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#beats);
    void this.#current.then((connection) => this.#detach(connection)).catch(() => undefined);
  }

  /** It ends by itself, when it has heard which commands had ended: what those left in the background is to stay. */
  #detach(connection: AttachedCommand): void {
    connection.stdin.end();
    const timer = setTimeout(() => connection.destroy(), lastWordsMs).unref();
    connection.stdout.once('close', () => clearTimeout(timer));
  }
}
