import { DottedScan } from './dotted-scan.ts';
import type { RangeListener } from './known-values.ts';
import { AddressScan, HeaderScan, KeyScan } from './place-scans.ts';
import { botToken, kinds, kindsOf, placeholderSign, type TokenFormat, tokenFormats } from './token-formats.ts';
import { WordFinder } from './word-finder.ts';

/** The starts of tokens and of places for a secret. */
const starts: readonly { text: string; format?: TokenFormat }[] = [
  ...tokenFormats.flatMap((format) => format.starts.map((text) => ({ text, format }))),
  ...['-----BEGIN ', '-----END ', '://', 'eyJ'].map((text) => ({ text })),
];

const finder = new WordFinder(starts.map(({ text }) => Buffer.from(text)));

const colon = 0x3a;
const everyKind = 0xff;
/** Longer than any start. */
const ringSize = 32;

/** The sign of a placeholder may come after a beginning such as `sk-ant-api03-`. */
const maxBeforeSign = 12;

interface OpenToken {
  from: number;
  format: TokenFormat;
  count: number;
  /** So many letters of the sign of a placeholder have been read, at a place where one may stand. */
  signed: number;
}

/**
 * Finds secrets by their format, in a text that comes sign by sign. Security: an attacker may choose the text, so every sign takes a
 * bounded number of steps, and what is held back has a bound.
 */
export class TokenScan {
  readonly #found: RangeListener;
  #state = 0;
  readonly #dotted: DottedScan;
  readonly #key: KeyScan;
  readonly #address: AddressScan;
  readonly #header: HeaderScan;
  #open: OpenToken[] = [];
  /** Of a number at the beginning of a word. */
  #digits = 0;
  readonly #kinds = new Uint8Array(ringSize);
  #steps = 0;

  constructor(found: RangeListener) {
    this.#found = found;
    this.#dotted = new DottedScan(found);
    this.#key = new KeyScan(found);
    this.#address = new AddressScan(found);
    this.#header = new HeaderScan(found);
  }

  get steps(): number {
    return this.#steps + finder.steps + this.#header.steps;
  }

  /** Nothing has begun, but for what a trigger tells of. */
  get isIdle(): boolean {
    const isNothingOpen = this.#open.length === 0 && this.#digits === 0 && this.#state === 0;
    return isNothingOpen && this.#dotted.isIdle && this.#key.isIdle && this.#address.isIdle && this.#header.isIdle;
  }

  /** Sets the position of the next sign. Only while it is idle. */
  skip(): void {
    this.#dotted.skip();
  }

  /** Where that begins which may turn out to be a secret; Infinity when nothing may. */
  openFrom(next: number): number {
    const begun = this.#state === 0 ? Number.POSITIVE_INFINITY : next - (finder.depth[this.#state] ?? 0);
    const digits = this.#digits > 0 ? next - this.#digits : Number.POSITIVE_INFINITY;
    const tokens = this.#open.reduce((first, { from, format, count }) => (isToken(format, count) ? first : Math.min(first, from)), digits);
    return Math.min(begun, tokens, this.#dotted.openFrom(next), this.#key.openFrom, this.#address.openFrom, this.#header.openFrom);
  }

  push(code: number, at: number): void {
    const kind = code < 128 ? (kindsOf[code] ?? 0) : 0;
    this.#kinds[at % ringSize] = kind;
    if (this.#open.length > 0) this.#extend(code, kind, at);
    this.#countDigits(code, kind, at);
    this.#dotted.push(code, kind, at);
    this.#key.push(code, at);
    this.#address.push(code, at);
    this.#header.push(code, kind, at, this.#isWordStart(at));
    this.#state = code < 128 ? finder.step(this.#state, code) : 0;
    const length = finder.found[this.#state] ?? 0;
    if (length > 0) this.#begin(starts[finder.word[this.#state] ?? 0], at + 1 - length);
  }

  #begin(start: (typeof starts)[number] | undefined, from: number): void {
    if (!start) return;
    const { text, format } = start;
    if (format && this.#isWordStart(from)) this.#open.push({ from, format, count: 0, signed: 0 });
    else if (text === 'eyJ' && this.#isWordStart(from)) this.#dotted.json(from);
    else if (text === '://') this.#address.begin(from > 0 ? (this.#kinds[(from - 1) % ringSize] ?? 0) : 0);
    else if (text === '-----BEGIN ') this.#key.begin(from);
    else if (text === '-----END ') this.#key.end();
  }

  #extend(code: number, kind: number, at: number): void {
    const before = this.#kinds[(at - 1) % ringSize] ?? 0;
    const isWordEnd = (kind & kinds.word) !== (before & kinds.word);
    const isAfterMark = (before & kinds.alphanumeric) === 0;
    this.#steps += this.#open.length;
    // Security: what begins within a token that takes the same signs adds nothing to it, and there may be any number of those.
    let covered = 0;
    this.#open = this.#open.filter((token) => {
      const { format, from } = token;
      if ((covered & format.kind) !== 0) return false;
      if (format.isExact && token.count === format.min) {
        if (isWordEnd) this.#found(from, at);
        return false;
      }
      if ((kind & format.kind) === 0) return false;
      if (isSigned(token, code, isAfterMark)) return false;
      token.count += 1;
      if (isToken(format, token.count)) {
        this.#found(from, at + 1);
        covered |= format.kind === kinds.withDash ? everyKind : format.kind;
      }
      return true;
    });
  }

  #countDigits(code: number, kind: number, at: number): void {
    if ((kind & kinds.digit) !== 0) {
      if (this.#digits > 0) this.#digits = this.#digits < botToken.digits.max ? this.#digits + 1 : 0;
      else if (this.#isWordStart(at)) this.#digits = 1;
    } else if (this.#digits > 0) {
      if (code === colon && this.#digits >= botToken.digits.min)
        this.#open.push({ from: at - this.#digits, format: botToken, count: 0, signed: 0 });
      this.#digits = 0;
    }
  }

  #isWordStart(at: number): boolean {
    return at === 0 || ((this.#kinds[(at - 1) % ringSize] ?? 0) & kinds.word) === 0;
  }
}

function isToken(format: TokenFormat, count: number): boolean {
  return !format.isExact && count >= format.min;
}

/** Whether this sign is the last one that makes it a placeholder, directly after the start or after a mark such as a dash near it. */
function isSigned(token: OpenToken, code: number, isAfterMark: boolean): boolean {
  const { count, format } = token;
  const mayBegin = count === 0 || (isAfterMark && count <= maxBeforeSign && count + placeholderSign.length < format.min);
  const isNext = (token.signed > 0 || mayBegin) && code === placeholderSign.charCodeAt(token.signed);
  token.signed = isNext ? token.signed + 1 : 0;
  return token.signed === placeholderSign.length;
}
