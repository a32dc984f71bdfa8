import { randomBytes } from 'node:crypto';
import { type Characters, eachNumber, maxShort } from './characters.ts';

export interface Scrubbed {
  value: string;
  placeholder: string;
}

/** A sequence of characters that must not come back into a sandbox. */
export interface Needle {
  /** As its alphabet counts them. */
  characters: Uint8Array;
  /** So many of its first characters make a beginning of it. Fewer are never told from other text. */
  beginning: number;
  secret: Scrubbed;
}

/** For each character below 256 the code of the one that it counts as, `skipped`, or `foreign`. */
export type Alphabet = Uint8Array;

/** No needle has it. */
export const foreign = 0;
/** It may stand between characters of a needle. */
export const skipped = 1;
/** A line break with an indentation: more skipped characters in a row are foreign. */
export const maxGap = 8;

/** Needles whose beginnings have the same length. */
interface Group {
  size: number;
  needles: readonly Needle[];
  /** The sums of the beginnings, in the same order. */
  sums: Int32Array;
  /** For each character the term that removes it from a sum when it leaves the window. */
  leaving: Int32Array;
}

/** Needles of one alphabet. */
export interface Sought {
  /** The same for the same needles. */
  key: string;
  alphabet: Alphabet;
  /** Those that it skips. */
  gaps: readonly number[];
  groups: readonly Group[];
  minSize: number;
  maxSize: number;
}

/** A place where the beginning of a needle was read, until as many characters were read as the needle has. */
interface Begun {
  needle: Needle;
  /** The place of the first byte. */
  from: number;
  /** Characters that were read from there on, and where the next one is in the window. */
  count: number;
  next: number;
  /** All of them were those of the needle as long as it is 0. */
  difference: number;
}

/** Without a secret: bytes that are to be masked, whatever they are. */
export type OnFound = (secret: Scrubbed | undefined, from: number, to: number) => void;

/** Only a value that repeats a few characters has more beginnings in one place; what follows the others is masked as far as the value is long. */
const maxBegun = 64;
/** Not to be guessed, so that the sums of two texts are equal by chance alone. */
const weights = new Int32Array(new Uint8Array(randomBytes(256 * Int32Array.BYTES_PER_ELEMENT)).buffer);
weights[foreign] = 0;

export function soughtOf(key: string, alphabet: Alphabet, needles: readonly Needle[]): Sought {
  const different = new Map(needles.map((needle) => [needle.characters.join(), needle])).values();
  const groups = [...Map.groupBy(different, ({ beginning }) => beginning)].map(([size, found]): Group => {
    const sums = found.map(({ characters }) => sumOf(characters.subarray(0, size)));
    return { size, needles: found, sums: Int32Array.from(sums), leaving: weights.map((weight) => rotated(weight, size)) };
  });
  const sizes = groups.map(({ size }) => size);
  const gaps = [...alphabet.keys()].filter((character) => alphabet[character] === skipped);
  return { key, alphabet, gaps, groups, minSize: Math.min(...sizes), maxSize: Math.max(0, ...sizes) };
}

function sumOf(codes: Uint8Array): number {
  let sum = 0;
  for (const code of codes) sum = rotated(sum, 1) ^ (weights[code] as number);
  return sum;
}

function rotated(bits: number, by: number): number {
  return (bits << (by % 32)) | (bits >>> (32 - (by % 32)));
}

/**
 * What a finder looks at, from 1 on: the characters that it has kept, and those that it reads, as its alphabet counts them. At 0 is a foreign one. One
 * for all finders: each is done with it before the next one begins.
 */
let window = windowOf(4_096);

/** `numbers`: those of the characters that are read. */
function windowOf(length: number): { codes: Uint8Array; numbers: Int32Array } {
  return { codes: new Uint8Array(length), numbers: new Int32Array(length) };
}

/**
 * Finds needles in characters that come in turn. Security: as long as no beginning of a needle was read, the work depends on the text alone, so that
 * its time tells nothing about a value: beginnings are compared by rolling sums, not by their characters. After a beginning only the whole makes a
 * difference, so that nothing tells how many of the next characters are right.
 */
export class NeedleFinder {
  readonly #sought: Sought;
  readonly #onFound: OnFound;
  /** Of as many of the latest characters as a beginning has, for each group. */
  readonly #sums: Int32Array;
  /** The latest characters, at most as many as the longest beginning has. */
  #kept = { codes: new Uint8Array(), places: new Int32Array(), count: 0 };
  /** Skipped characters in a row. */
  #gap = 0;
  #begun: Begun[] = [];
  /** Characters that are still to be masked, and where the next one is in the window. */
  #masked = { count: 0, next: 0 };

  constructor(sought: Sought, onFound: OnFound) {
    this.#sought = sought;
    this.#onFound = onFound;
    this.#sums = new Int32Array(sought.groups.length);
  }

  /** That of its needles. */
  get key(): string {
    return this.#sought.key;
  }

  /** Where the first needle may begin whose end was not read yet; infinite without one. */
  get openFrom(): number {
    return this.#begun.reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY);
  }

  /** `goesOn`: what comes next continues what was read. */
  read(characters: Characters, goesOn: boolean): void {
    const { start, isLong } = this.#longRun(characters);
    if (goesOn || isLong) {
      if (start > 0) this.#reset();
      const first = 1 + this.#kept.count;
      const end = this.#look(characters, start);
      for (const begun of this.#begun) begun.next = first;
      this.#masked.next = first;
      for (let number = 0; number < this.#sums.length; number++) this.#scan(number, first, end, characters);
      this.#advance(end, characters);
      if (goesOn) this.#keep(first, end, characters);
    }
    if (!goesOn) this.#reset();
  }

  /** The first run of characters without a foreign one that is as long as a beginning, otherwise the last run, which may go on. Looks at few others. */
  #longRun({ codes, count }: Characters): { start: number; isLong: boolean } {
    if (this.#begun.length > 0 || this.#masked.count > 0) return { start: 0, isLong: true };
    const { alphabet, minSize } = this.#sought;
    const isForeign = (at: number): boolean => alphabet[codes[at] as number] === foreign;
    let start = 0;
    // What is kept has no foreign one.
    for (let probe = minSize - 1 - this.#kept.count; probe < count; probe = start + minSize - 1) {
      let at = probe;
      while (at >= start && !isForeign(at)) at -= 1;
      if (at < start) return { start, isLong: true };
      start = at + 1;
    }
    let at = count - 1;
    while (at >= start && !isForeign(at)) at -= 1;
    return { start: at + 1, isLong: false };
  }

  /** No occurrence of the secret is waited for any more that may begin at this place. */
  close(secret: Scrubbed, from: number): void {
    if (this.#begun.length > 0) this.#begun = this.#begun.filter((begun) => begun.needle.secret !== secret || begun.from !== from);
  }

  /** Goes on as another one with the same needles, which has read the same. */
  follow(other: NeedleFinder): void {
    const { codes, places, count } = other.#kept;
    this.#kept = { codes: codes.slice(0, count), places: places.slice(0, count), count };
    this.#sums.set(other.#sums);
    this.#gap = other.#gap;
    this.#begun = other.#begun.map((begun) => ({ ...begun }));
    this.#masked = { ...other.#masked };
  }

  /** Fills the window with what is kept and the characters from `start` on, and says where it ends. */
  #look(characters: Characters, start: number): number {
    const { codes, count } = this.#kept;
    if (count + characters.count >= window.codes.length) window = windowOf(2 * (count + characters.count));
    if (count > 0) window.codes.set(codes.subarray(0, count), 1);
    if (characters.count - start <= maxShort || this.#gap > 0) return this.#countWithGaps(characters, start);
    const read = characters.codes.subarray(start, characters.count);
    return this.#sought.gaps.some((gap) => read.includes(gap)) ? this.#countWithGaps(characters, start) : this.#count(read, start);
  }

  #count(read: Uint8Array, start: number): number {
    const { alphabet } = this.#sought;
    const { codes, numbers } = window;
    const begin = 1 + this.#kept.count;
    for (let at = 0; at < read.length; at++) codes[begin + at] = alphabet[read[at] as number] as number;
    numbers.set(eachNumber.subarray(start, start + read.length), begin);
    return begin + read.length;
  }

  #countWithGaps({ codes: read, count }: Characters, start: number): number {
    const { alphabet } = this.#sought;
    const { codes, numbers } = window;
    let [end, gap] = [1 + this.#kept.count, this.#gap];
    for (let number = start; number < count; number++) {
      let code = alphabet[read[number] as number] as number;
      if (code === skipped) {
        gap += 1;
        if (gap !== maxGap + 1) continue;
        code = foreign;
      } else gap = 0;
      codes[end] = code;
      numbers[end] = number;
      end += 1;
    }
    this.#gap = gap;
    return end;
  }

  /** Of the first byte of the character in a place of the window. */
  #placeOf(at: number, { places, base }: Characters): number {
    const { count, places: kept } = this.#kept;
    if (at > count) return base + (places[window.numbers[at] as number] as number);
    // Of those that are kept, the lower bits are.
    return base + (((kept[at - 1] as number) - base) | 0);
  }

  /** After the last byte of a character that was read. */
  #endOf(at: number, { places, base }: Characters): number {
    return base + (places[(window.numbers[at] as number) + 1] as number);
  }

  /** Looks for the beginnings of a group. */
  #scan(number: number, first: number, end: number, characters: Characters): void {
    const { size, sums, leaving, needles } = this.#sought.groups[number] as Group;
    const { codes } = window;
    // Few secrets have few sums.
    const [one = 0, two = one, three = one] = sums;
    const hasMore = sums.length > 3;
    let sum = this.#sums[number] as number;
    let at = first;
    // Fewer than a beginning has.
    for (const few = Math.min(end, size); at < few; at++) sum = ((sum << 1) | (sum >>> 31)) ^ (weights[codes[at] as number] as number);
    for (; at < end; at++) {
      sum = ((sum << 1) | (sum >>> 31)) ^ (weights[codes[at] as number] as number) ^ (leaving[codes[at - size] as number] as number);
      if (sum === one || sum === two || sum === three || hasMore) {
        for (let each = 0; each < sums.length; each++) if (sums[each] === sum) this.#begin(needles[each] as Needle, at, characters);
      }
    }
    this.#sums[number] = sum;
  }

  /** The sum at this place of the window is that of the beginning of a needle. */
  #begin(needle: Needle, at: number, characters: Characters): void {
    const { beginning, characters: wanted, secret } = needle;
    const first = at + 1 - beginning;
    for (let number = 0; number < beginning; number++) if (window.codes[first + number] !== wanted[number]) return;
    const from = this.#placeOf(first, characters);
    if (beginning === wanted.length) {
      this.#onFound(secret, from, this.#endOf(at, characters));
      return;
    }
    if (this.#begun.length >= maxBegun) this.#advance(at + 1, characters);
    if (this.#begun.length < maxBegun) this.#begun.push({ needle, from, count: beginning, next: at + 1, difference: 0 });
    else {
      this.#onFound(undefined, from, this.#endOf(at, characters));
      this.#masked = { next: at + 1, count: Math.max(this.#masked.count, wanted.length - beginning) };
    }
  }

  /** Goes on with what has begun, up to a place of the window. */
  #advance(end: number, characters: Characters): void {
    if (this.#masked.count > 0) this.#mask(end, characters);
    if (this.#begun.length > 0) this.#begun = this.#begun.filter((begun) => this.#isOpen(begun, end, characters));
  }

  #mask(end: number, characters: Characters): void {
    const { next, count } = this.#masked;
    const stop = Math.min(end, next + count);
    let at = next;
    while (at < stop && window.codes[at] !== foreign) at += 1;
    if (at > next) this.#onFound(undefined, this.#placeOf(next, characters), this.#endOf(at - 1, characters));
    this.#masked = { next: at, count: at < stop ? 0 : count - (at - next) };
  }

  /** False once as many characters were read as the needle has, or one that no needle has. */
  #isOpen(begun: Begun, end: number, characters: Characters): boolean {
    const { needle, from } = begun;
    const { characters: wanted, secret } = needle;
    const stop = Math.min(end, begun.next + wanted.length - begun.count);
    for (; begun.next < stop; begun.next++, begun.count++) {
      const code = window.codes[begun.next] as number;
      if (code === foreign) return false;
      begun.difference |= code ^ (wanted[begun.count] as number);
    }
    if (begun.count < wanted.length) return true;
    if (begun.difference === 0) this.#onFound(secret, from, this.#endOf(stop - 1, characters));
    return false;
  }

  /** What comes after the last foreign one. `begin`: where the characters that were read begin in the window. */
  #keep(begin: number, end: number, characters: Characters): void {
    const { maxSize, groups } = this.#sought;
    const last = window.codes.subarray(begin, end).lastIndexOf(foreign);
    const count = Math.min(maxSize, last === -1 ? end - 1 : end - begin - last - 1);
    const first = end - count;
    const isRoomy = this.#kept.codes.length >= count;
    const room = isRoomy ? 0 : Math.min(maxSize, 2 * count);
    const { codes, places } = isRoomy ? this.#kept : { codes: new Uint8Array(room), places: new Int32Array(room) };
    const stays = Math.max(0, begin - first);
    places.set(this.#kept.places.subarray(begin - 1 - stays, begin - 1));
    for (let number = stays; number < count; number++) places[number] = this.#placeOf(first + number, characters);
    codes.set(window.codes.subarray(first, end));
    this.#kept = { codes, places, count };
    if (last !== -1) this.#sums.set(groups.map(({ size }) => sumOf(codes.subarray(Math.max(0, count - size), count))));
  }

  #reset(): void {
    this.#kept.count = 0;
    this.#gap = 0;
    this.#masked.count = 0;
    this.#sums.fill(0);
    if (this.#begun.length > 0) this.#begun = [];
  }
}
