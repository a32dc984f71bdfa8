import type { Duplex } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { errorText } from '../../lib/error-text.ts';

/** One line of JSON. A call has a number and a name, its answer the same number, and a note only a name. */
interface Line {
  id?: number;
  name?: string;
  value?: unknown;
  error?: string;
}

export interface WireOptions {
  /** Does what the other side calls, and resolves with the answer to it. */
  handle(name: string, value: unknown): unknown;
  /** The connection has ended, once. */
  onEnd(): void;
}

/** A file of 50 MiB as base64, and room for what is around it. */
const maxLineBytes = 80 * 1024 * 1024;

/** Calls in both directions over one connection, a line of JSON each. A side that sends anything else is disconnected. */
export class Wire {
  readonly #stream: Duplex;
  readonly #options: WireOptions;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  /** Of a line that has begun. */
  readonly #begun = new ByteStore(maxLineBytes);
  #lastId = 0;
  #isOpen = true;

  constructor(stream: Duplex, options: WireOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', () => this.close());
    stream.on('close', () => this.close());
    stream.on('end', () => this.close());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Written and not taken by the other side yet. */
  get unsentBytes(): number {
    return this.#stream.writableLength;
  }

  /** Resolves with the answer. Rejects with what the other side failed with, or when the connection ends. */
  async call(name: string, value?: unknown): Promise<unknown> {
    if (!this.#isOpen) throw disconnected();
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#write({ id, name, value });
    return await answer.promise;
  }

  /** Without an answer. */
  tell(name: string, value?: unknown): void {
    this.#write({ name, value });
  }

  /** Ends the connection once what was written is sent. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#stream.end();
    for (const { reject } of this.#waiting.values()) reject(disconnected());
    this.#waiting.clear();
    this.#options.onEnd();
  }

  /** Ends it now, also with a side that takes nothing any more. */
  destroy(): void {
    this.#stream.destroy();
    this.close();
  }

  #write(line: Line): void {
    if (this.#isOpen) this.#stream.write(`${JSON.stringify(line)}\n`);
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1 && this.#isOpen; end = chunk.indexOf(10, start)) {
      this.#begun.push(chunk.subarray(start, end));
      start = end + 1;
      this.#line(this.#begun.take().toString());
    }
    if (!this.#begun.push(chunk.subarray(start))) this.destroy();
  }

  #line(text: string): void {
    const line = parsed(text);
    if (!line) this.destroy();
    else if (line.name === undefined) this.#answered(line);
    else void this.#handle(line.id, line.name, line.value);
  }

  #answered({ id = 0, value, error }: Line): void {
    const answer = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) answer?.resolve(value);
    else answer?.reject(new HermeticError('channel/refused', error));
  }

  async #handle(id: number | undefined, name: string, value: unknown): Promise<void> {
    try {
      const answer = await this.#options.handle(name, value);
      if (id !== undefined) this.#write({ id, value: answer });
    } catch (error) {
      if (id !== undefined) this.#write({ id, error: errorText(error) });
    }
  }
}

function parsed(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line !== 'object' || line === null) return undefined;
    const { id, name, value, error } = line as Record<string, unknown>;
    const isLine =
      ['number', 'undefined'].includes(typeof id) && [name, error].every((one) => one === undefined || typeof one === 'string');
    return isLine && (id !== undefined || name !== undefined) ? ({ id, name, value, error } as Line) : undefined;
  } catch {
    return undefined;
  }
}

/** It may not have arrived, so it is shown again to the next terminal. */
function disconnected(): HermeticError {
  return new HermeticError('channel/busy', 'The other side of the connection is gone.');
}
