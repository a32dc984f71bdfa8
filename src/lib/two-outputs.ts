import { Readable } from 'node:stream';

export type OutputName = 'stdout' | 'stderr';

/** What the outputs come from. */
export interface OutputSource {
  pause(): unknown;
  resume(): unknown;
}

/** Two outputs of one source, which is paused as long as either is full and unread, so that no more is held than their buffers and one read. */
export class TwoOutputs {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #source: OutputSource;
  readonly #full = new Set<Readable>();

  constructor(source: OutputSource) {
    this.#source = source;
    this.stdout = this.#output();
    this.stderr = this.#output();
  }

  /** As long as it is, nothing arrives. */
  get isFull(): boolean {
    return this.#full.size > 0;
  }

  deliver(name: OutputName, data: Buffer): void {
    const stream = this[name];
    if (stream.destroyed || stream.readableEnded || data.length === 0 || stream.push(data)) return;
    this.#full.add(stream);
    this.#source.pause();
  }

  end(): void {
    this.stdout.push(null);
    this.stderr.push(null);
  }

  destroy(error?: Error): void {
    this.stdout.destroy(error);
    this.stderr.destroy(error);
  }

  #output(): Readable {
    const stream = new Readable({
      read: () => this.#drained(stream),
      destroy: (error, done) => {
        this.#drained(stream);
        done(error);
      },
    });
    // Readers get the error by their own call. A stream without one must not end the program.
    return stream.on('error', () => undefined);
  }

  #drained(stream: Readable): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#source.resume();
  }
}
