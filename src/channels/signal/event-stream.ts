import { LineReader } from './line-reader.ts';

export interface StreamEvent {
  /** undefined when it is too large. */
  data: string | undefined;
  /** Of the last event that had one. */
  id: string | undefined;
}

/** Server-sent events out of pieces of any size. */
export class EventStream {
  readonly #maxBytes: number;
  readonly #lines: LineReader;
  #data: string[] = [];
  #length = 0;
  #id: string | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#lines = new LineReader(maxBytes);
  }

  /** The events that this piece ends. */
  push(piece: Uint8Array): StreamEvent[] {
    const events: StreamEvent[] = [];
    for (const line of this.#lines.push(piece)) {
      if (line === undefined) this.#length = Number.POSITIVE_INFINITY;
      else if (line !== '') this.#field(line);
      else if (this.#length > 0) events.push(this.#event());
    }
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') {
      this.#length += value.length + 1;
      if (this.#length <= this.#maxBytes) this.#data.push(value);
    }
    // Security: it is sent back in a header.
    if (name === 'id') this.#id = /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined;
  }

  #event(): StreamEvent {
    const event = { data: this.#length > this.#maxBytes ? undefined : this.#data.join('\n'), id: this.#id };
    this.#data = [];
    this.#length = 0;
    return event;
  }
}
