/** Gets the bytes of a text whose escapes are resolved, each with the part of the text it comes from. */
export type ByteListener = (byte: number, from: number, to: number) => void;

const percent = 0x25;
const backslash = 0x5c;
const newline = 0x0a;
const letterU = 0x75;
const letterX = 0x78;
/** The meaning of `\n` and its like. Any other sign after a backslash stands for itself. */
const shortForms = new Map([...'abefnrtv'].map((letter, at) => [letter.charCodeAt(0), '\x07\b\x1b\f\n\r\t\v'.charCodeAt(at)]));

/** Turns the UTF-16 units of a text, sign by sign, into the bytes of UTF-8. */
export class Utf8Encoder {
  readonly #listener: ByteListener;
  /** The first half of a character that takes two. */
  #half = 0;
  #halfAt = 0;
  #halfTo = 0;

  constructor(listener: ByteListener) {
    this.#listener = listener;
  }

  /** Where a character begins that is not whole yet; Infinity when there is none. */
  get openFrom(): number {
    return this.#half === 0 ? Number.POSITIVE_INFINITY : this.#halfAt;
  }

  byte(byte: number, from: number, to: number): void {
    this.#passHalf();
    this.#listener(byte, from, to);
  }

  unit(code: number, from: number, to: number): void {
    if (this.#half !== 0 && code >= 0xdc00 && code <= 0xdfff) {
      const point = 0x10000 + (this.#half - 0xd800) * 0x400 + (code - 0xdc00);
      this.#half = 0;
      this.#bytes(point, this.#halfAt, to);
      return;
    }
    this.#passHalf();
    if (code >= 0xd800 && code <= 0xdbff) {
      this.#half = code;
      this.#halfAt = from;
      this.#halfTo = to;
    } else this.#bytes(code, from, to);
  }

  #passHalf(): void {
    if (this.#half === 0) return;
    const half = this.#half;
    this.#half = 0;
    this.#bytes(half, this.#halfAt, this.#halfTo);
  }

  /** As UTF-8. */
  #bytes(point: number, from: number, to: number): void {
    if (point < 0x80) {
      this.#listener(point, from, to);
      return;
    }
    const following = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    this.#listener(((0xf00 >> (following + 1)) & 0xff) | (point >> (6 * following)), from, to);
    for (let left = following - 1; left >= 0; left--) this.#listener(0x80 | ((point >> (6 * left)) & 0x3f), from, to);
  }
}

/**
 * Resolves `%41`, `\x41`, `\101`, `\u0041` and the short escapes of a text that arrives sign by sign, wherever they are mixed with plain
 * signs. What only begins like one is passed on as it is.
 */
export class EscapeDecoder {
  readonly #utf8: Utf8Encoder;
  /** An escape that has begun. */
  readonly #begun: number[] = [];
  #begunAt = 0;

  constructor(listener: ByteListener) {
    this.#utf8 = new Utf8Encoder(listener);
  }

  /** Where that begins which is not decided yet; Infinity when all is. */
  get openFrom(): number {
    return Math.min(this.#begun.length > 0 ? this.#begunAt : Number.POSITIVE_INFINITY, this.#utf8.openFrom);
  }

  push(code: number, at: number): void {
    if (this.#begun.length === 0) {
      if (code === percent || code === backslash) this.#begin(code, at);
      else this.#utf8.unit(code, at, at + 1);
      return;
    }
    this.#begun.push(code);
    const [first, second = 0] = this.#begun;
    const value = this.#value(first === percent, second);
    if (value === undefined) return;
    this.#begun.length = 0;
    if (first === percent || second === letterX || isOctal(second)) this.#utf8.byte(value, this.#begunAt, at + 1);
    else this.#utf8.unit(value, this.#begunAt, at + 1);
  }

  #begin(code: number, at: number): void {
    this.#begun.push(code);
    this.#begunAt = at;
  }

  /** undefined while the escape has not ended, and when it was none: then it has been passed on, and its last sign tried again. */
  #value(isPercent: boolean, second: number): number | undefined {
    if (isPercent) return this.#digits(1, 2, 16);
    if (second === letterU) return this.#digits(2, 4, 16);
    if (second === letterX) return this.#digits(2, 2, 16);
    if (isOctal(second)) return this.#digits(1, 3, 8);
    return shortForms.get(second) ?? (second < 0x80 && second !== newline ? second : this.#giveUp());
  }

  #digits(from: number, count: number, base: number): number | undefined {
    const digit = this.#begun.length > from ? digitOf(this.#begun.at(-1) ?? 0) : 0;
    if (digit >= base) return this.#giveUp();
    if (this.#begun.length < from + count) return undefined;
    return this.#begun.slice(from).reduce((value, code) => value * base + digitOf(code), 0);
  }

  #giveUp(): undefined {
    const signs = this.#begun.splice(0);
    const start = this.#begunAt;
    const last = signs.pop() ?? 0;
    for (const [index, sign] of signs.entries()) this.#utf8.unit(sign, start + index, start + index + 1);
    this.push(last, start + signs.length);
  }
}

/** The first digit of three: more is no byte. */
function isOctal(code: number): boolean {
  return code >= 0x30 && code <= 0x33;
}

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : 99;
}
