import { KnownScan, KnownValues } from './known-values.ts';
import { longestTrigger, TriggerSearch, triggerLength } from './secret-triggers.ts';
import { TokenScan } from './token-scan.ts';

/** Replaces a secret. */
const replacement = '[redacted]';

const newline = 0x0a;

/** Takes secrets out of a text that comes in pieces, wherever they are cut. */
export interface RedactionStream {
  /** The text that is surely free of secrets. A possible beginning of one is held back. */
  push(text: string): string;
  /** The text that was held back. Afterwards another text can begin. */
  end(): string;
  /** How many steps it has taken. Security: a text chooses how many signs it has, and no more than a bounded number of steps for each. */
  readonly steps: number;
}

/** Takes secrets out of a text. */
export interface Redact {
  (text: string): string;
  /** The same for a text that comes in pieces. */
  begin(): RedactionStream;
}

/** For those who want to see everything. */
export const unredacted: Redact = Object.assign((text: string) => text, {
  begin: () => ({ push: (text: string) => text, end: () => '', steps: 0 }),
});

/** No secret is shorter. */
const minLength = 6;

/**
 * Takes these values out of a text wherever they stand: as they are, partly or wholly escaped, in hexadecimal, or in base64, alone or with
 * anything around them; and everything that has the format of a token. Takes time that grows with the length of any text.
 */
export function redactor(secrets: Iterable<string>): Redact {
  const values = new KnownValues(secrets);
  const begin = (): Redaction => new Redaction(values);
  const redact = (text: string): string => {
    if (text.length < minLength || new TriggerSearch(values.triggers, text).after(0) === text.length) return text;
    const redaction = begin();
    return redaction.push(text, true) + redaction.end();
  };
  return Object.assign(redact, { begin });
}

/** So many signs of a trigger may have been read when nothing is known to have begun: digits may have signs between them. */
const maxBegun = 3 * triggerLength;
/** So many signs before a trigger are read with it. */
const contextLength = 8;
/** So many signs are read at least where something may begin. */
const minRead = 32;
/** How often it is asked whether anything is still begun. */
const readAtOnce = 16;

/** Of one text. */
class Redaction implements RedactionStream {
  readonly #values: KnownValues;
  readonly #known: KnownScan | undefined;
  readonly #tokens: TokenScan;
  /** The text that has not been given back yet, and where it begins. */
  #held = '';
  #heldAt = 0;
  #read = 0;
  readonly #stepsBefore: number;
  /** They may touch. */
  #ranges: Range[] = [];
  /** The last piece given back was the replacement of a secret that may go on. */
  #isWithin = false;

  constructor(values: KnownValues) {
    const found = (from: number, to: number): void => this.#add(from, to);
    this.#values = values;
    this.#known = values.isEmpty ? undefined : new KnownScan(values, found);
    this.#tokens = new TokenScan(found);
    this.#stepsBefore = values.steps + this.#tokens.steps;
  }

  /** `isWhole`: no other piece comes. */
  push(text: string, isWhole = false): string {
    const start = this.#heldAt + this.#held.length;
    const search = new TriggerSearch(this.#values.triggers, text);
    // A trigger may begin at the end of a piece and continue in the next one.
    const last = isWhole ? text.length : Math.max(0, text.length - longestTrigger);
    let at = 0;
    let readTo = isWhole ? 0 : minRead;
    for (;;) {
      while (at < text.length && (at < readTo || !this.#isIdle)) {
        const end = Math.min(text.length, at + readAtOnce);
        for (; at < end; at++) this.#take(text.charCodeAt(at), start + at);
      }
      if (at >= text.length) break;
      const next = Math.min(search.after(Math.max(0, at - maxBegun)), last);
      if (next === text.length) break;
      readTo = Math.max(next, at) + minRead;
      at = Math.max(0, next - contextLength);
      this.#known?.skip(text, at);
      this.#tokens.skip();
    }
    this.#held += text;
    const end = start + text.length;
    return this.#give(Math.min(end, this.#known?.openFrom ?? end, this.#tokens.openFrom(end)));
  }

  get steps(): number {
    return this.#read + this.#values.steps + this.#tokens.steps - this.#stepsBefore;
  }

  get #isIdle(): boolean {
    return this.#tokens.isIdle && (this.#known?.isIdle ?? true);
  }

  end(): string {
    const end = this.#heldAt + this.#held.length;
    // Secrets that end with a word or a line end here.
    this.#take(newline, end);
    return this.#give(end);
  }

  #take(code: number, at: number): void {
    this.#read += 1;
    this.#known?.push(code, at);
    this.#tokens.push(code, at);
  }

  #add(from: number, to: number): void {
    const last = this.#ranges.at(-1);
    if (last && from >= last.from && from <= last.to) last.to = Math.max(last.to, to);
    else this.#ranges.push({ from, to });
  }

  /** The held text up to there. */
  #give(end: number): string {
    let at = this.#heldAt;
    let given = '';
    const pass = (to: number): void => {
      if (to <= at) return;
      given += this.#held.slice(at - this.#heldAt, to - this.#heldAt);
      this.#isWithin = false;
      at = to;
    };
    for (const { from, to } of this.#ranges.sort((a, b) => a.from - b.from)) {
      pass(Math.min(from, end));
      if (Math.min(to, end) <= at) continue;
      if (!this.#isWithin) given += replacement;
      this.#isWithin = true;
      at = Math.min(to, end);
    }
    pass(end);
    this.#ranges = this.#ranges.filter(({ to }) => to > end);
    this.#held = this.#held.slice(at - this.#heldAt);
    this.#heldAt = at;
    return given;
  }
}

interface Range {
  from: number;
  to: number;
}
