import type { RangeListener } from './known-values.ts';
import { kinds } from './token-formats.ts';
import { WordFinder } from './word-finder.ts';

const dash = 0x2d;
const colon = 0x3a;
const slash = 0x2f;
const atSign = 0x40;
const dashes = 5;
const maxLabel = 64;
const keyLabel = /PRIVATE KEY(?: BLOCK)?$/;
const labelSign = /[A-Z0-9 ]/;
const nothing = Number.POSITIVE_INFINITY;

/** Private keys, from their first line to their last, or to the end of the text. */
export class KeyScan {
  readonly #found: RangeListener;
  #from = nothing;
  #isInside = false;
  /** The text after BEGIN or END; undefined when no such line has begun. */
  #label: string | undefined;
  #dashes = 0;

  constructor(found: RangeListener) {
    this.#found = found;
  }

  /** Where that begins which may turn out to be a secret; Infinity when nothing may. */
  get openFrom(): number {
    return this.#isInside || this.#label === undefined ? nothing : this.#from;
  }

  get isIdle(): boolean {
    return !this.#isInside && this.#label === undefined;
  }

  begin(from: number): void {
    if (this.#isInside) return;
    this.#from = from;
    this.#read();
  }

  end(): void {
    if (this.#isInside) this.#read();
  }

  #read(): void {
    this.#label = '';
    this.#dashes = 0;
  }

  push(code: number, at: number): void {
    if (this.#isInside) this.#found(this.#from, at + 1);
    if (this.#label === undefined) return;
    const sign = String.fromCharCode(code);
    if (this.#dashes === 0 && labelSign.test(sign) && this.#label.length < maxLabel) {
      this.#label += sign;
      return;
    }
    this.#dashes += 1;
    if (code !== dash || !keyLabel.test(this.#label)) this.#label = undefined;
    else if (this.#dashes === dashes) {
      this.#label = undefined;
      this.#isInside = !this.#isInside;
      if (this.#isInside) this.#found(this.#from, at + 1);
    }
  }
}

const maxUser = 64;
const minPassword = 3;
const maxPassword = 1024;

/** The password in `scheme://user:password@host`. */
export class AddressScan {
  readonly #found: RangeListener;
  #part: 'none' | 'user' | 'password' = 'none';
  #length = 0;
  #from = nothing;

  constructor(found: RangeListener) {
    this.#found = found;
  }

  get openFrom(): number {
    return this.#part === 'password' ? this.#from : nothing;
  }

  get isIdle(): boolean {
    return this.#part === 'none';
  }

  /** After `://`, before which there was a sign of this kind. */
  begin(kindBefore: number): void {
    if ((kindBefore & kinds.header) === 0) return;
    this.#part = 'user';
    this.#length = 0;
  }

  push(code: number, at: number): void {
    if (this.#part === 'none') return;
    const isEnd = code === colon || code === atSign || code === slash || code <= 0x20 || isSpace(code);
    if (!isEnd) {
      this.#length += 1;
      if (this.#length > (this.#part === 'user' ? maxUser : maxPassword)) this.#part = 'none';
      return;
    }
    const [part, length] = [this.#part, this.#length];
    this.#part = 'none';
    if (part === 'password' && code === atSign && length >= minPassword) this.#found(this.#from, at);
    if (part !== 'user' || code !== colon) return;
    this.#part = 'password';
    this.#length = 0;
    this.#from = at + 1;
  }
}

const schemes = new Set(['bearer', 'basic', 'token']);
const maxScheme = 6;
const minCredentials = 8;
const headerName = new WordFinder([Buffer.from('authorization:')]);

/** The credential after `Authorization: Bearer` and its like. */
export class HeaderScan {
  readonly #found: RangeListener;
  #state = 0;
  #isNameAtWord = false;
  #part: 'none' | 'before' | 'scheme' | 'between' | 'credentials' = 'none';
  #scheme = '';
  #from = nothing;
  #isLongEnough = false;

  constructor(found: RangeListener) {
    this.#found = found;
  }

  get steps(): number {
    return headerName.steps;
  }

  get openFrom(): number {
    return this.#part === 'credentials' && !this.#isLongEnough ? this.#from : nothing;
  }

  get isIdle(): boolean {
    return this.#part === 'none' && this.#state === 0;
  }

  push(code: number, kind: number, at: number, isWordStart: boolean): void {
    if (this.#part !== 'none') this.#follow(code, kind, at);
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    this.#state = lower < 128 ? headerName.step(this.#state, lower) : 0;
    if (headerName.depth[this.#state] === 1) this.#isNameAtWord = isWordStart;
    if ((headerName.found[this.#state] ?? 0) > 0 && this.#isNameAtWord) this.#part = 'before';
  }

  #follow(code: number, kind: number, at: number): void {
    const isBlank = code <= 0x20 || isSpace(code);
    if (this.#part === 'before' && !isBlank) {
      this.#part = 'scheme';
      this.#scheme = '';
    }
    if (this.#part === 'scheme') {
      if (isBlank) this.#part = schemes.has(this.#scheme.toLowerCase()) ? 'between' : 'none';
      else if (this.#scheme.length < maxScheme) this.#scheme += String.fromCharCode(code);
      else this.#part = 'none';
    } else if (this.#part === 'between' && !isBlank) {
      this.#part = 'credentials';
      this.#from = at;
      this.#isLongEnough = false;
    }
    if (this.#part !== 'credentials') return;
    this.#isLongEnough = at + 1 - this.#from >= minCredentials;
    if ((kind & kinds.header) === 0) this.#part = 'none';
    else if (this.#isLongEnough) this.#found(this.#from, at + 1);
  }
}

function isSpace(code: number): boolean {
  return code === 0xa0 || (code > 0xff && /\s/.test(String.fromCharCode(code)));
}
