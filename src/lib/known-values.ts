import { EscapeDecoder, Utf8Encoder } from './escape-decoder.ts';
import { triggerLength, triggersFor } from './secret-triggers.ts';
import { WordFinder } from './word-finder.ts';

export type RangeListener = (from: number, to: number) => void;

/** Shorter ones are found in half of all texts. */
const minLength = 6;

const percent = 0x25;
const backslash = 0x5c;
const newline = 0x0a;
const carriageReturn = 0x0d;
/** Programs that break base64 or hexadecimal into lines break it into lines of at least so many signs. */
const minWrapped = { base64: 60, hex: 32 };

/** For each byte its sign in the one alphabet that is compared; 0 when it is none. */
const base64Signs = alphabet(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/+/',
);
const hexSigns = alphabet('0123456789abcdefABCDEF', '0123456789abcdefabcdef');
/** Signs that may stand between two hexadecimal digits. */
const hexSeparators = new Set([...' :-,'].map((sign) => sign.charCodeAt(0)));

function alphabet(signs: string, meanings: string): Uint8Array {
  const table = new Uint8Array(256);
  for (let at = 0; at < signs.length; at++) table[signs.charCodeAt(at)] = meanings.charCodeAt(at);
  return table;
}

/** Values to be found in a text as they are, with any of their signs escaped, in hexadecimal, and within anything encoded as base64. */
export class KnownValues {
  readonly plain: WordFinder;
  readonly base64: WordFinder;
  readonly hex: WordFinder;
  /** Of every word in base64: whether the sign before it says something about the value too. */
  readonly beginsBefore: readonly boolean[];
  /** Where to begin to look. */
  readonly triggers: readonly RegExp[];

  constructor(secrets: Iterable<string>) {
    // A program may print a secret of several lines line by line.
    const parts = [...secrets].flatMap((secret) => [secret, ...secret.split('\n')]).map((text) => text.trim());
    const values = [...new Set(parts)].filter(({ length }) => length >= minLength);
    const bytes = values.map((value) => Buffer.from(value));
    const encoded = bytes.flatMap((value) => [0, 1, 2].map((shift) => ({ word: base64Within(value, shift), shift })));
    const forms = values.filter((value) => value.includes(' ')).map((value) => value.replaceAll(' ', '+'));
    const words = {
      plain: [...new Set([...values, ...forms, ...values.map(unescaped).filter(({ length }) => length >= minLength)])],
      base64: encoded.map(({ word }) => word),
      hex: bytes.map((value) => value.toString('hex')),
    };
    this.plain = finderOf(words.plain);
    this.hex = finderOf(words.hex);
    this.base64 = finderOf(words.base64);
    this.triggers = triggersFor(words);
    this.beginsBefore = encoded.map(({ shift }) => shift > 0);
  }

  get steps(): number {
    return this.plain.steps + this.hex.steps + this.base64.steps;
  }

  get isEmpty(): boolean {
    return this.plain.longest === 0;
  }
}

/** A value that looks as if there were escapes in it is found among others that are. */
function unescaped(value: string): string {
  const bytes: number[] = [];
  const decoder = new EscapeDecoder((byte) => bytes.push(byte));
  for (let at = 0; at < value.length; at++) decoder.push(value.charCodeAt(at), at);
  decoder.push(newline, value.length);
  return Buffer.from(bytes).toString().slice(0, -1);
}

function finderOf(words: readonly string[]): WordFinder {
  return new WordFinder(words.map((word) => Buffer.from(word)));
}

/** The signs that stand for this value alone when so many bytes (of any multiple of three) are before it. */
function base64Within(value: Buffer, shift: number): string {
  const bits = 8 * (shift + value.length);
  const encoded = Buffer.concat([Buffer.alloc(shift), value]).toString('base64');
  return encoded.slice(shift === 0 ? 0 : shift + 1, Math.floor(bits / 6));
}

const firstPlaces = 64;

/** One way to read a text. */
class Reading {
  readonly words: WordFinder;
  state = 0;
  /** Where the last signs stand, as many as belong to a word that has begun. */
  #places = new Float64Array(firstPlaces);
  #count = 0;

  constructor(words: WordFinder) {
    this.words = words;
  }

  /** The length of the longest word that ends with this byte; 0 when none does. */
  take(byte: number, from: number): number {
    this.state = this.words.step(this.state, byte);
    if (this.state === 0) {
      this.#count = 0;
      return 0;
    }
    if ((this.words.depth[this.state] ?? 0) > this.#places.length) this.#grow();
    this.#places[this.#count % this.#places.length] = from;
    this.#count += 1;
    return this.words.found[this.state] ?? 0;
  }

  /** Where the sign stands that is the first of so many. */
  placeOf(length: number): number {
    return this.#places[(this.#count - length) % this.#places.length] ?? 0;
  }

  #grow(): void {
    const { length } = this.#places;
    const larger = new Float64Array(2 * length);
    for (let back = 1; back <= length; back++) larger[length - back] = this.placeOf(back);
    this.#places = larger;
    this.#count = length;
  }

  get openFrom(): number {
    return this.state === 0 ? Number.POSITIVE_INFINITY : this.placeOf(this.words.depth[this.state] ?? 0);
  }

  reset(): void {
    this.state = 0;
    this.#count = 0;
  }

  /** Only so much has begun that its trigger is still to come. */
  get isIdle(): boolean {
    return (this.words.depth[this.state] ?? 0) < triggerLength;
  }

  follow(other: Reading): void {
    this.state = other.state;
    this.#count = other.#count;
    this.#places = other.#places.slice();
  }
}

/** Reads what is encoded as base64, with ends of lines where programs put them. */
class Base64Reading extends Reading {
  readonly #values: KnownValues;
  readonly #found: RangeListener;
  #inLine = 0;
  /** A value has just ended. */
  isAfterValue = false;

  constructor(values: KnownValues, found: RangeListener) {
    super(values.base64);
    this.#values = values;
    this.#found = found;
  }

  read(byte: number, from: number, to: number): void {
    const sign = base64Signs[byte] ?? 0;
    if (sign === 0) this.#breakAt(byte);
    else {
      this.#inLine += 1;
      const length = this.take(sign, from);
      // The last bits of a value may share a sign with what follows.
      if (this.isAfterValue) this.#found(from, to);
      this.isAfterValue = length > 0;
      if (length > 0) this.#found(this.placeOf(length) - this.#before(), to);
    }
  }

  /** As the first bits may with what is before. */
  #before(): number {
    return this.#values.beginsBefore[this.words.word[this.state] ?? 0] ? 1 : 0;
  }

  #breakAt(byte: number): void {
    if (byte === carriageReturn) return;
    const isWrapped = byte === newline && this.#inLine >= minWrapped.base64;
    this.#inLine = 0;
    if (isWrapped) return;
    this.reset();
    this.isAfterValue = false;
  }

  skip(text: string, at: number): void {
    this.reset();
    this.#inLine = runBefore(text, at, (code) => base64Signs[code] !== 0);
  }

  override follow(other: Base64Reading): void {
    super.follow(other);
    this.#inLine = other.#inLine;
    this.isAfterValue = other.isAfterValue;
  }
}

/** Reads hexadecimal digits, with a sign between any two of them or none. */
class HexReading extends Reading {
  readonly #found: RangeListener;
  #inLine = 0;
  #isSeparated = false;

  constructor(values: KnownValues, found: RangeListener) {
    super(values.hex);
    this.#found = found;
  }

  read(byte: number, from: number, to: number): void {
    const sign = hexSigns[byte] ?? 0;
    if (sign === 0) this.#breakAt(byte);
    else {
      this.#inLine += 1;
      this.#isSeparated = false;
      const length = this.take(sign, from);
      if (length > 0) this.#found(this.placeOf(length), to);
    }
  }

  #breakAt(byte: number): void {
    if (byte === carriageReturn) return;
    const isSeparator = hexSeparators.has(byte) && !this.#isSeparated;
    this.#isSeparated = isSeparator;
    if (isSeparator) return;
    const isWrapped = byte === newline && this.#inLine >= minWrapped.hex;
    this.#inLine = 0;
    if (!isWrapped) this.reset();
  }

  skip(text: string, at: number): void {
    this.reset();
    this.#isSeparated = false;
    this.#inLine = runBefore(text, at, (code) => hexSigns[code] !== 0 || hexSeparators.has(code));
  }
}

/** Looks for known values in a text that comes sign by sign. */
export class KnownScan {
  readonly #found: RangeListener;
  readonly #plain: Reading;
  readonly #base64: Base64Reading;
  readonly #hex: HexReading;
  /** The same with escapes resolved, from the first escape on. */
  readonly #unescaped: Reading;
  readonly #unescapedBase64: Base64Reading;
  #hasEscapes = false;
  readonly #utf8 = new Utf8Encoder((byte, from, to) => this.#take(byte, from, to));
  readonly #decoder = new EscapeDecoder((byte, from, to) => this.#takeUnescaped(byte, from, to));

  constructor(values: KnownValues, found: RangeListener) {
    this.#found = found;
    this.#plain = new Reading(values.plain);
    this.#base64 = new Base64Reading(values, found);
    this.#hex = new HexReading(values, found);
    this.#unescaped = new Reading(values.plain);
    this.#unescapedBase64 = new Base64Reading(values, found);
  }

  /** Where that begins which may turn out to be a value; Infinity when nothing may. */
  get openFrom(): number {
    const open = Math.min(this.#plain.openFrom, this.#base64.openFrom - 1, this.#hex.openFrom, this.#utf8.openFrom);
    return this.#hasEscapes ? Math.min(open, this.#unescaped.openFrom, this.#unescapedBase64.openFrom - 1, this.#decoder.openFrom) : open;
  }

  /** Nothing has begun, but for what a trigger tells of. */
  get isIdle(): boolean {
    const isRead = this.#plain.isIdle && this.#base64.isIdle && this.#hex.isIdle && !this.#base64.isAfterValue;
    if (!isRead || this.#utf8.openFrom !== Number.POSITIVE_INFINITY) return false;
    // Escapes may make a few signs as long as they like.
    return (
      !this.#hasEscapes ||
      (this.#unescaped.state === 0 && this.#unescapedBase64.state === 0 && this.#decoder.openFrom === Number.POSITIVE_INFINITY)
    );
  }

  /** Sets the position of the next sign. Only while it is idle. */
  skip(text: string, at: number): void {
    this.#plain.reset();
    this.#base64.skip(text, at);
    this.#hex.skip(text, at);
    this.#hasEscapes = false;
  }

  push(code: number, at: number): void {
    if (!this.#hasEscapes && (code === percent || code === backslash)) {
      this.#hasEscapes = true;
      this.#unescaped.follow(this.#plain);
      this.#unescapedBase64.follow(this.#base64);
    }
    this.#utf8.unit(code, at, at + 1);
    if (this.#hasEscapes) this.#decoder.push(code, at);
  }

  #take(byte: number, from: number, to: number): void {
    const length = this.#plain.take(byte, from);
    if (length > 0) this.#found(this.#plain.placeOf(length), to);
    this.#base64.read(byte, from, to);
    this.#hex.read(byte, from, to);
  }

  #takeUnescaped(byte: number, from: number, to: number): void {
    const length = this.#unescaped.take(byte, from);
    if (length > 0) this.#found(this.#unescaped.placeOf(length), to);
    this.#unescapedBase64.read(byte, from, to);
  }
}

/** How many signs of a kind stand before this place, as far as it matters. */
function runBefore(text: string, at: number, isOfKind: (code: number) => boolean): number {
  const far = Math.max(0, at - minWrapped.base64);
  let first = at;
  while (first > far && text.charCodeAt(first - 1) < 128 && isOfKind(text.charCodeAt(first - 1))) first -= 1;
  return at - first;
}
