import { within } from '../../lib/deadline.ts';
import type { ShellStream } from './shell-stream.ts';

/** So many streams wait for their next shell; one more has a shell that waits for its command. */
const maxIdle = 2;
/** To wait so long for a stream whose command has just ended is better than to open another one. */
const nearlyFreeMs = 250;

/** The streams of one program at one sandbox. Each carries one shell at a time, and is used again when nothing of that shell is left. */
export class ShellStreams {
  readonly #open: () => Promise<ShellStream>;
  readonly #idle: ShellStream[] = [];
  /** Those that wait for a stream, and the number of streams that may be free in a moment. */
  readonly #takers: ((stream: ShellStream) => void)[] = [];
  #finishing = 0;
  #closed = false;

  /** `open` starts a supervisor. */
  constructor(open: () => Promise<ShellStream>) {
    this.#open = open;
  }

  /** A stream that a shell can be started on. */
  async take(): Promise<ShellStream> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isAlive) return idle;
      idle.destroy();
    }
    return (await this.#nearlyFree()) ?? (await this.#open());
  }

  async #nearlyFree(): Promise<ShellStream | undefined> {
    if (this.#finishing <= this.#takers.length) return undefined;
    const { promise, resolve } = Promise.withResolvers<ShellStream>();
    this.#takers.push(resolve);
    return await within<ShellStream, undefined>(nearlyFreeMs, promise, () => {
      this.#takers.splice(this.#takers.indexOf(resolve), 1);
      return undefined;
    });
  }

  /** Takes back a stream whose shell is not needed any more. */
  async giveBack(stream: ShellStream): Promise<void> {
    this.#finishing += 1;
    const isFree = await stream.release();
    this.#finishing -= 1;
    const taker = isFree && !this.#closed ? this.#takers.shift() : undefined;
    if (taker) taker(stream);
    else if (isFree && !this.#closed && this.#idle.length < maxIdle) this.#idle.push(stream);
    else stream.destroy();
  }

  close(): void {
    this.#closed = true;
    for (const stream of this.#idle.splice(0)) stream.destroy();
  }
}
