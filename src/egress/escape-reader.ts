import { type Characters, maxEscapeBytes } from './characters.ts';

/** The escapes that are undone, by the byte that they begin with: of JSON and most languages, of URLs, and of HTML. */
const starts = { json: 0x5c, url: 0x25, html: 0x26 } as const;
const [semicolon, letterU, letterX] = [0x3b, 0x75, 0x78];

export type EscapeFamily = keyof typeof starts;
/** Stands for every character above it. */
const lastCharacter = 0xffff;

const controls: Readonly<Record<string, number>> = { b: 8, t: 9, n: 10, f: 12, r: 13 };
const noEscape = 255;
/** For each byte what it stands for after a backslash. */
const afterBackslash = Uint8Array.from({ length: 256 }, (_, byte) => {
  const letter = String.fromCharCode(byte);
  return controls[letter] ?? (/[A-Za-z0-9\xff]/.test(letter) ? noEscape : byte);
});
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const notHex = 255;
/** For each byte its value as a hexadecimal digit. */
const hexDigits = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase());
  return digit === -1 ? notHex : digit;
});

/** How the bytes of an escape go on. */
type State = 'text' | 'backslash' | 'hex' | 'entity' | 'decimal' | 'hex-entity';

const firstStates: Readonly<Record<EscapeFamily, State>> = { json: 'backslash', url: 'hex', html: 'entity' };

/**
 * Reads bytes as characters, with the escapes of one family undone once: `\u0041`, `\x41` and `\/`, `%41`, or `&#65;` and `&amp;`. Security: of one
 * family, because bytes before a value may look like an escape of another one and take its first letters with them.
 */
export class EscapeReader {
  readonly #family: EscapeFamily;
  readonly #start: number;
  #state: State = 'text';
  /** The bytes of an escape that is not whole, and the place of the first one. */
  readonly #bytes = new Uint8Array(maxEscapeBytes);
  #length = 0;
  #from = 0;
  #code = 0;
  #digitsLeft = 0;

  constructor(family: EscapeFamily) {
    this.#family = family;
    this.#start = starts[family];
  }

  /** No escape has begun. */
  get isIdle(): boolean {
    return this.#state === 'text';
  }

  /** Adds what the bytes from `begin` to `end` stand for. `from`: the place of the first byte of all. */
  read(bytes: Buffer, begin: number, end: number, from: number, characters: Characters): void {
    for (let at = begin; at < end; at++) {
      const byte = bytes[at] as number;
      if (this.#state !== 'text') {
        if (this.#goOn(byte, from + at, characters)) continue;
        this.end(characters);
      }
      if (byte === this.#start) this.#begin(byte, from + at);
      else characters.add(byte, from + at, from + at + 1);
    }
  }

  /** What looked like an escape is none. */
  end(characters: Characters): void {
    for (let at = 0; at < this.#length; at++) characters.add(this.#bytes[at] as number, this.#from + at, this.#from + at + 1);
    this.#reset();
  }

  #begin(byte: number, at: number): void {
    this.#bytes[0] = byte;
    this.#length = 1;
    this.#from = at;
    this.#code = 0;
    this.#digitsLeft = 2;
    this.#state = firstStates[this.#family];
  }

  /** False when the byte does not belong to the escape. */
  #goOn(byte: number, at: number, characters: Characters): boolean {
    if (this.#length === maxEscapeBytes) return false;
    const digit = hexDigits[byte] as number;
    switch (this.#state) {
      case 'backslash':
        return this.#afterBackslash(byte, at, characters);
      case 'hex':
        if (digit === notHex) return false;
        this.#digitsLeft -= 1;
        return this.#addDigit(byte, 16, digit) && (this.#digitsLeft > 0 || this.#complete(this.#code, at, characters));
      case 'decimal':
        if (this.#length === 2 && (byte | 0x20) === 0x78) return this.#keep(byte, 'hex-entity');
        return digit < 10 ? this.#addDigit(byte, 10, digit) : byte === semicolon && this.#complete(this.#code, at, characters);
      case 'hex-entity':
        return digit === notHex ? byte === semicolon && this.#complete(this.#code, at, characters) : this.#addDigit(byte, 16, digit);
      default:
        return this.#inEntity(byte, at, characters);
    }
  }

  #afterBackslash(byte: number, at: number, characters: Characters): boolean {
    if (byte === letterU || byte === letterX) {
      this.#digitsLeft = byte === letterU ? 4 : 2;
      return this.#keep(byte, 'hex');
    }
    const character = afterBackslash[byte] as number;
    return character !== noEscape && this.#complete(character, at, characters);
  }

  #inEntity(byte: number, at: number, characters: Characters): boolean {
    if (this.#length === 1 && byte === 0x23) return this.#keep(byte, 'decimal');
    if (byte === semicolon) {
      const name = String.fromCharCode(...this.#bytes.subarray(1, this.#length));
      return Object.hasOwn(entities, name) && this.#complete((entities[name] ?? '').charCodeAt(0), at, characters);
    }
    return byte >= 0x61 && byte <= 0x7a && this.#keep(byte, 'entity');
  }

  #addDigit(byte: number, radix: number, digit: number): boolean {
    this.#code = Math.min(lastCharacter, this.#code * radix + digit);
    return this.#keep(byte, this.#state);
  }

  #keep(byte: number, state: State): boolean {
    this.#bytes[this.#length] = byte;
    this.#length += 1;
    this.#state = state;
    return true;
  }

  #complete(character: number, at: number, characters: Characters): boolean {
    const from = this.#from;
    this.#reset();
    characters.add(character, from, at + 1);
    return true;
  }

  #reset(): void {
    this.#state = 'text';
    this.#length = 0;
  }
}
