import { ByteStore } from '../../lib/byte-store.ts';
import { characterEnd } from '../../lib/decode-utf8.ts';

export interface FoundLine {
  path: string;
  line: number;
  text: string;
  /** False for a line of the context. */
  isMatch: boolean;
  isCut: boolean;
}

/** Of one line; the rest of it is thrown away as it comes. */
const maxKept = 16 * 1024;
const maxShown = 500;
/** No path is longer, and no message before it. */
const longestPath = 64 * 1024;
const newline = 10;

/** Ripgrep puts its remark about a binary file in front of the next path. */
const remark = /^[^\0]*?: (?:WARNING: stopped searching binary file|binary file matches)[^\n]*\n/;

/**
 * Reads what ripgrep and GNU grep print alike: path, NUL, line number, `:` or `-`, text, newline. Names may contain anything but NUL, and
 * lines may have any length.
 */
export class FoundLines {
  #store = new ByteStore();
  #path: string | undefined;
  readonly #emit: (line: FoundLine) => void;
  readonly #show: (text: string) => string;

  /** `show` picks the part of a long line that is worth it. */
  constructor(emit: (line: FoundLine) => void, show: (text: string) => string) {
    this.#emit = emit;
    this.#show = show;
  }

  push(data: Buffer): void {
    for (let rest = data; rest.length > 0; ) rest = this.#path === undefined ? this.#takePath(rest) : this.#takeLine(rest);
  }

  #takePath(data: Buffer): Buffer {
    const end = data.indexOf(0);
    this.#keep(end === -1 ? data : data.subarray(0, end), longestPath);
    if (end === -1) return data.subarray(data.length);
    const text = this.#take()
      .toString()
      .replace(/^(?:--\n)+/, '')
      .replace(remark, '')
      .replace(/^(?:--\n)+/, '');
    this.#path = text;
    return data.subarray(end + 1);
  }

  #takeLine(data: Buffer): Buffer {
    const end = data.indexOf(newline);
    this.#keep(end === -1 ? data : data.subarray(0, end), maxKept);
    if (end === -1) return data.subarray(data.length);
    this.#line(this.#path ?? '', this.#take());
    this.#path = undefined;
    return data.subarray(end + 1);
  }

  #line(path: string, bytes: Buffer): void {
    const start = /^(\d{1,15})([:-])/.exec(bytes.subarray(0, 20).toString('latin1'));
    if (!start) return;
    const whole = bytes.subarray(start[0].length, characterEnd(bytes, bytes.length)).toString().replace(/\r$/, '');
    const text = whole.length > maxShown ? this.#show(whole).slice(0, maxShown) : whole;
    this.#emit({ path, line: Number(start[1]), text, isMatch: start[2] === ':', isCut: text.length < whole.length });
  }

  #keep(data: Buffer, most: number): void {
    this.#store.push(data.subarray(0, Math.max(0, most - this.#store.length)));
  }

  #take(): Buffer {
    const bytes = this.#store.view();
    this.#store = new ByteStore();
    return bytes;
  }
}

/** Names with a NUL after each. */
export class FoundNames {
  #held = new ByteStore();
  readonly #emit: (name: string) => void;

  constructor(emit: (name: string) => void) {
    this.#emit = emit;
  }

  push(data: Buffer): void {
    for (let rest = data; rest.length > 0; ) {
      const end = rest.indexOf(0);
      const part = end === -1 ? rest : rest.subarray(0, end);
      this.#held.push(part.subarray(0, Math.max(0, longestPath - this.#held.length)));
      if (end === -1) return;
      const name = this.#held.view().toString().replace(remark, '');
      this.#held = new ByteStore();
      if (name !== '') this.#emit(name);
      rest = rest.subarray(end + 1);
    }
  }
}
