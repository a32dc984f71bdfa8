import type { RangeListener } from './known-values.ts';
import { kinds } from './token-formats.ts';

/** A part of a JSON Web Token has no more. */
const maxPart = 4096;
const minPart = 8;
const jsonStartLength = 3;
const sendGrid = { min: 16, max: 128 };
/** Of Discord: a user in base64, whose first digit makes it begin like that, a time of 6 signs and the rest. */
const discord = { first: new Set(['M', 'N', 'O'].map((letter) => letter.charCodeAt(0))), user: [24, 25, 26], time: 6, min: 27 };
/** Signs of a part that has not ended which may be the beginning of a token. */
const maxUser = 26;
const dot = 0x2e;
const [letterS, letterG] = [0x53, 0x47];
const none = -1;
const ringSize = 32;

/** The part between two dots. */
interface Part {
  start: number;
  length: number;
  /** Where `eyJ` stands at the beginning of a word. */
  json: number;
  lastJson: number;
  /** Where a token of SendGrid or Discord would begin, when the part has ended. */
  sendGrid: number;
  discord: number;
}

const emptyPart = (): Part => ({ start: none, length: 0, json: none, lastJson: none, sendGrid: none, discord: none });

/** Tokens of three parts with dots between them: JSON Web Tokens, and those of SendGrid and Discord. */
export class DottedScan {
  readonly #found: RangeListener;
  #first = emptyPart();
  #second = emptyPart();
  #last = emptyPart();
  /** Where the token begins that the last part belongs to. */
  #tokenFrom = none;
  /** Codes and kinds of the last signs. */
  readonly #codes = new Uint16Array(ringSize);
  readonly #kinds = new Uint8Array(ringSize);

  constructor(found: RangeListener) {
    this.#found = found;
  }

  /** Where that begins which may turn out to be a token; Infinity when nothing may. */
  openFrom(next: number): number {
    const { length, start } = this.#last;
    if (start === none) return Number.POSITIVE_INFINITY;
    const candidates = [this.#second.json, this.#second.sendGrid, this.#second.discord, this.#last.json];
    if (length < discord.min) candidates.push(this.#first.json, this.#first.sendGrid, this.#first.discord);
    const begun = candidates.filter((from) => from !== none);
    return Math.min(...begun, this.#tokenFrom === none ? Math.max(start, next - maxUser) : next);
  }

  get isIdle(): boolean {
    const begun = [this.#first, this.#second, this.#last];
    return this.#tokenFrom === none && begun.every(({ json, sendGrid, discord }) => json === none && sendGrid === none && discord === none);
  }

  skip(): void {
    this.#forget();
  }

  /** `eyJ` begins here, and a word with it. */
  json(from: number): void {
    if (this.#tokenFrom !== none) return;
    if (this.#last.json === none) this.#last.json = from;
    this.#last.lastJson = from;
  }

  push(code: number, kind: number, at: number): void {
    this.#codes[at % ringSize] = code;
    this.#kinds[at % ringSize] = kind;
    if ((kind & kinds.withDash) !== 0) this.#extend(at);
    else if (code === dot && this.#last.start !== none) this.#endPart(at);
    else if (this.#last.start !== none) this.#forget();
  }

  #extend(at: number): void {
    const last = this.#last;
    if (last.start === none) last.start = at;
    last.length += 1;
    if (this.#tokenFrom !== none) this.#found(this.#tokenFrom, at + 1);
    else if (last.length === minPart && this.#isJson()) this.#begin(this.#first.json, at);
    else if (last.length === sendGrid.min && this.#first.sendGrid !== none && isWithin(this.#second.length, sendGrid))
      this.#begin(this.#first.sendGrid, at);
    else if (last.length === discord.min && this.#first.discord !== none && this.#second.length === discord.time)
      this.#begin(this.#first.discord, at);
    if (last.length === maxPart + jsonStartLength + 1) for (const part of [this.#first, this.#second]) Object.assign(part, emptyPart());
    // Too long for a part: what began later in it may still be one.
    if (last.json !== none && at - last.json > maxPart) last.json = at - last.lastJson > maxPart ? none : last.lastJson;
  }

  #isJson(): boolean {
    const [first, second] = [this.#first, this.#second];
    const length = first.start + first.length - first.json;
    const min = minPart + jsonStartLength;
    return first.json !== none && length >= min && second.json === second.start && second.length >= min;
  }

  #begin(from: number, at: number): void {
    this.#tokenFrom = from;
    this.#last.json = none;
    for (const part of [this.#first, this.#second]) Object.assign(part, emptyPart());
    this.#found(from, at + 1);
  }

  #endPart(at: number): void {
    const ended = this.#last;
    if (ended.length === 0) {
      this.#forget();
      return;
    }
    ended.sendGrid = this.#endsWithSendGrid(at) ? at - 2 : none;
    ended.discord = discord.user.map((length) => at - length).find((from) => from >= ended.start && this.#isDiscord(from)) ?? none;
    this.#tokenFrom = none;
    [this.#first, this.#second, this.#last] = [this.#second, ended, this.#first];
    Object.assign(this.#last, emptyPart(), { start: at + 1 });
  }

  #endsWithSendGrid(at: number): boolean {
    return this.#codeAt(at - 2) === letterS && this.#codeAt(at - 1) === letterG && this.#isWordStart(at - 2);
  }

  #isDiscord(from: number): boolean {
    return discord.first.has(this.#codeAt(from)) && this.#isWordStart(from);
  }

  #codeAt(at: number): number {
    return at < 0 ? 0 : (this.#codes[at % ringSize] ?? 0);
  }

  #isWordStart(at: number): boolean {
    return at === 0 || ((this.#kinds[(at - 1) % ringSize] ?? 0) & kinds.word) === 0;
  }

  #forget(): void {
    this.#tokenFrom = none;
    for (const part of [this.#first, this.#second, this.#last]) if (part.start !== none) Object.assign(part, emptyPart());
  }
}

function isWithin(value: number, { min, max }: { min: number; max: number }): boolean {
  return value >= min && value <= max;
}
