import { LineReader } from './line-reader.ts';

export interface StreamEvent {
  data: string;
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

  /** The events that this piece ends; undefined when one is too large. */
  push(piece: Uint8Array): StreamEvent[] | undefined {
    const events: StreamEvent[] = [];
    for (const line of this.#lines.push(piece) ?? [undefined]) {
      if (line === undefined || this.#length > this.#maxBytes) return undefined;
      if (line !== '') this.#field(line);
      else if (this.#data.length > 0) events.push(this.#event());
    }
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') {
      this.#data.push(value);
      this.#length += value.length + 1;
    }
    // Security: it is sent back in a header.
    if (name === 'id') this.#id = /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined;
  }

  #event(): StreamEvent {
    const event = { data: this.#data.join('\n'), id: this.#id };
    this.#data = [];
    this.#length = 0;
    return event;
  }
}
