import { EndChannel, type EndRecord } from '../end-channel.ts';
import type { Dump } from '../state.ts';

/** A sandbox decides how much it writes; this much and no more is kept of a state. */
const maxBytes = 8 * 1024 * 1024;
/** A shell reports its state when it starts, or when it ends, or both. */
const maxDumps = 4;
/** Security: all that is listened to of one shell, a frame counting for something however short it is. */
const maxReported = 2 * maxBytes + 64 * 1024;
const minCharge = 64;
/** A shell has a handful of records to make. */
const maxWaiting = 1000;

const endMarks: readonly string[] = ['E', 'X', 'S'];

/**
 * Puts the frames of one shell together to records. Standard output and standard error are two roads, and a record on the one may
 * overtake output on the other: a record that ends a command waits until the mark on standard output has arrived.
 */
export class StreamRecords {
  readonly #nonce: string;
  readonly #receive: (record: EndRecord) => void;
  readonly #flooded: () => void;
  readonly #channel: EndChannel;
  readonly #marks = new Set<string>();
  readonly #waiting: string[] = [];
  #pieces: string[] = [];
  #length = 0;
  #damaged = false;
  #reported = 0;
  #dumps = 0;

  /** `flooded` when it is more than a shell has to say: nothing that follows means anything. */
  constructor(nonce: string, receive: (record: EndRecord) => void, flooded: () => void) {
    this.#nonce = nonce;
    this.#receive = receive;
    this.#flooded = flooded;
    this.#channel = new EndChannel(receive);
  }

  /** A frame of standard output. */
  mark(kind: string, text: string): void {
    if (kind !== 'm' || this.#isTooMuch(text)) return;
    // That of the supervisor is the last, and a command may have closed the descriptor of the others.
    if (text === 'S') for (const letter of endMarks) this.#marks.add(letter);
    else if (endMarks.includes(text)) this.#marks.add(text);
    this.#letThrough();
  }

  /** Whether the end of a command was told, and the output before it did not arrive. */
  get isShort(): boolean {
    return this.#waiting.length > 0;
  }

  /** A frame of standard error. */
  frame(kind: string, text: string): void {
    if (this.#isTooMuch(text)) return;
    if (kind === 'r') {
      // Security: what waits is gone through again and again.
      if (this.#waiting.push(text) > maxWaiting) this.#flooded();
      else this.#letThrough();
    } else if (kind === 'p') {
      this.#length += text.length;
      if (this.#length <= maxBytes) this.#pieces.push(text);
    } else if (kind === 's') {
      const [, length, last = ''] = /^(\d+):(.*)$/s.exec(text) ?? [];
      const quoted = this.#pieces.join('') + last;
      const whole = !this.#damaged && String(quoted.length) === length;
      this.#pieces = [];
      this.#length = 0;
      this.#damaged = false;
      const dump = whole && this.#dumps < maxDumps ? this.#dump(quoted) : undefined;
      if (!dump) return;
      this.#dumps += 1;
      this.#receive({ kind: 'dump', dump });
    }
  }

  #isTooMuch(text: string): boolean {
    this.#reported += Math.max(text.length, minCharge);
    if (this.#reported > maxReported) this.#flooded();
    return this.#reported > maxReported;
  }

  /** Part of the state is missing from here on, or a record that its successor makes up for. */
  damaged(): void {
    this.#damaged = true;
  }

  #letThrough(): void {
    const isHeld = (record: string): boolean => {
      const [, letter] = /^([EXS]) /.exec(record) ?? [];
      return letter !== undefined && !this.#marks.has(letter);
    };
    const held = this.#waiting.findIndex(isHeld);
    const free = this.#waiting.splice(0, held === -1 ? this.#waiting.length : held);
    if (!free.every((record) => this.#channel.push(Buffer.from(`${record}\n`, 'latin1')))) this.#flooded();
  }

  #dump(quoted: string): Dump | undefined {
    const text = unquote(quoted);
    const fields = text?.split(this.#nonce);
    if (fields?.length !== 8 || fields[7] !== '') return undefined;
    const [exports = '', functionNames = '', functions = '', aliases = '', options = '', umask = '', directory = ''] = fields;
    return { exports, functionNames, functions, aliases, options, umask, directory };
  }
}

const escapes: Readonly<Record<string, string>> = { a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Decodes `$'…'` as bash quotes in the C locale; undefined for any other text. */
export function unquote(quoted: string): string | undefined {
  if (quoted.length < 3 || !quoted.startsWith("$'") || !quoted.endsWith("'")) return undefined;
  return quoted.slice(2, -1).replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, letter: string) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
    return escapes[letter] ?? letter;
  });
}
