import type { Socket } from 'node:net';

/**
 * Looks at what a client sends first. Bytes stay in the socket until they are taken, so that they can be handed on to any reader, and a client that
 * leaves is noticed meanwhile.
 */
export class FirstBytes {
  readonly #socket: Socket;
  #waiting: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    for (const event of ['readable', 'end', 'close']) socket.on(event, this.#wake);
  }

  /** All bytes so far, once there are more than `known`. Undefined when no more will come. Takes none. */
  async peek(known = 0): Promise<Buffer | undefined> {
    while (this.#socket.readableLength <= known) if (!(await this.#moved())) return undefined;
    const bytes = this.#socket.read() as Buffer | null;
    if (bytes === null) return undefined;
    this.#socket.unshift(bytes);
    return bytes;
  }

  /** Undefined when the client sends fewer. */
  async take(count: number): Promise<Buffer | undefined> {
    if (count === 0) return Buffer.alloc(0);
    while (this.#socket.readableLength < count) if (!(await this.#moved())) return undefined;
    return (this.#socket.read(count) as Buffer | null) ?? undefined;
  }

  /** Leaves the socket to its next reader. */
  stop(): void {
    for (const event of ['readable', 'end', 'close']) this.#socket.off(event, this.#wake);
    this.#wake();
  }

  /** Resolves at the next event; false when no more bytes can come. */
  async #moved(): Promise<boolean> {
    if (this.#socket.destroyed || this.#socket.readableEnded) return false;
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  readonly #wake = (): void => {
    this.#waiting?.();
    this.#waiting = undefined;
  };
}
