import type { Scrubbed } from './needle-finder.ts';
import { Readings } from './readings.ts';
import { Spellings } from './value-spellings.ts';

/**
 * Takes values out of answers: as they are, in UTF-16, in JSON, URLs and HTML, in hexadecimal and in base64. Best effort: a host that spells a value in
 * another way gives it away.
 */
export class Scrubber {
  readonly #spellings: Spellings;
  /** For whole texts. */
  #stream: ScrubStream | undefined;

  constructor(secrets: readonly Scrubbed[]) {
    this.#spellings = new Spellings(secrets);
  }

  /** Whole texts, such as those of headers. */
  texts(texts: readonly string[]): string[] {
    this.#stream ??= this.begin();
    const stream = this.#stream;
    return texts.map((text) => Buffer.concat([stream.push(Buffer.from(text, 'latin1')), stream.end()]).toString('latin1'));
  }

  begin(): ScrubStream {
    return new ScrubStream(this.#spellings);
  }
}

/**
 * Bytes that come in pieces, cut anywhere. As many come out as go in. Security: a program inside may choose what a host sends, and sees in which
 * pieces it arrives. So what passes, and when, does not depend on a value: a fixed number of bytes is held back until more come or the host is
 * silent. Only 8 characters in a row that cannot be guessed make a difference: then as many as the value has stay, or are masked at the end, whether
 * or not they are those of the value; only a whole value is replaced.
 */
export class ScrubStream {
  readonly #heldBytes: number;
  readonly #readings: Readings;
  #held: Buffer = Buffer.alloc(0);
  /** The place of the first held byte. */
  #from = 0;

  constructor(spellings: Spellings) {
    this.#heldBytes = spellings.heldBytes;
    this.#readings = new Readings(spellings, (secret, from, to) => this.#replace(secret, from, to));
  }

  push(piece: Buffer): Buffer {
    const next = this.#from + this.#held.length;
    // A copy: the piece belongs to the caller.
    this.#held = Buffer.concat([this.#held, piece]);
    this.#readings.read(piece, next);
    return this.#release(this.#held.length - this.#heldBytes);
  }

  /** The host has been silent for a while: a client may be waiting for what is held back. */
  pause(): Buffer {
    return this.#release(this.#held.length);
  }

  /** No more comes. */
  end(): Buffer {
    this.#readings.end(this.#from + this.#held.length);
    const rest = this.cut();
    this.#readings.interrupt(this.#from);
    return rest;
  }

  /** The client needs all that came so far. The beginning of a value is masked; if it goes on after all, so is the rest. */
  cut(): Buffer {
    const open = Math.max(0, this.#readings.openFrom - this.#from);
    const rest = this.#held;
    if (open < rest.length) rest.fill('*', open);
    this.#held = Buffer.alloc(0);
    this.#from += rest.length;
    return rest;
  }

  #release(count: number): Buffer {
    const free = Math.max(0, Math.min(count, this.#readings.openFrom - this.#from));
    const released = this.#held.subarray(0, free);
    // A copy, which does not keep the rest of the piece in memory.
    this.#held = Buffer.from(this.#held.subarray(free));
    this.#from += free;
    return released;
  }

  /** Without a secret by asterisks. */
  #replace(secret: Scrubbed | undefined, from: number, to: number): void {
    const length = to - from;
    const substitute = secret && length === secret.placeholder.length ? secret.placeholder : '*'.repeat(length);
    const passed = Math.max(0, this.#from - from);
    this.#held.write(substitute.slice(passed), from + passed - this.#from, 'latin1');
  }
}
