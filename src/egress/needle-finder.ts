import { randomBytes } from 'node:crypto';

/** A sequence of characters that must not come back into a sandbox. */
export interface Needle {
  /** As its alphabet counts them. */
  characters: Uint8Array;
  /** So many of its first characters make a beginning of it. Fewer are never told from other text. */
  beginning: number;
  /** Stands for it where it has the same length. */
  placeholder: string;
}

/** For each character below 256 the code of the one that it counts as, `skipped`, or `foreign`. */
export type Alphabet = Uint8Array;

/** No needle has it. */
export const foreign = 0;
/** It may stand between characters of a needle. */
export const skipped = 1;

/** Needles of one alphabet whose beginnings have the same length. */
export interface Group {
  /** The same for groups of the same needles. */
  key: string;
  size: number;
  alphabet: Alphabet;
  needles: readonly Needle[];
  /** The sums of the beginnings, in the same order. */
  sums: Int32Array;
  /** What each character adds to a sum, and what takes it out once it is left behind. */
  entering: Int32Array;
  leaving: Int32Array;
}

/** A place where the beginning of a needle was read, until as many characters were read as the needle has. */
interface Begun {
  needle: Needle;
  /** The place of the first byte. */
  from: number;
  /** Characters that were read from there on. */
  count: number;
  /** All of them were those of the needle. */
  isEqual: boolean;
}

export type OnFound = (needle: Needle, from: number, to: number) => void;

/** Only a value that repeats a few characters has more beginnings in one place; the first of them then counts as found. */
const maxBegun = 64;
/** A line break with an indentation. */
const maxGap = 8;
/** Not to be guessed, so that the sums of two texts are equal by chance alone. */
const weights = new Int32Array(new Uint8Array(randomBytes(256 * Int32Array.BYTES_PER_ELEMENT)).buffer);
weights[foreign] = 0;

export function groupsOf(alphabet: Alphabet, needles: readonly Needle[]): Group[] {
  const different = new Map(needles.map((needle) => [needle.characters.join(), needle])).values();
  return [...Map.groupBy(different, ({ beginning }) => beginning)].map(([size, found]) => {
    const entering = Int32Array.from(alphabet, (character) => weights[character] as number);
    return {
      ...{ key: found.map(({ characters }) => characters.join()).join(' '), size, alphabet, needles: found, entering },
      sums: Int32Array.from(found, ({ characters }) =>
        characters.subarray(0, size).reduce((sum, one) => rotated(sum, 1) ^ (weights[one] as number), 0),
      ),
      leaving: entering.map((weight) => rotated(weight, size)),
    };
  });
}

/**
 * Finds the needles of a group in characters that come in turn. Security: as long as no beginning of a needle was read, the work for a character
 * depends on the text alone, so that its time tells nothing about a value: beginnings are compared by rolling sums, not by their characters. After a
 * beginning only the whole makes a difference, so that nothing tells how many of the next characters are right.
 */
export class NeedleFinder {
  readonly #group: Group;
  readonly #onFound: OnFound;
  /** Of as many characters as a beginning has. */
  #sum = 0;
  /** The latest characters, as their alphabet counts them, and the places of their first bytes; as rings. */
  readonly #counted: Uint8Array;
  readonly #places: Float64Array;
  readonly #ringMask: number;
  #count = 0;
  /** Skipped characters in a row. */
  #gap = 0;
  #begun: Begun[] = [];

  constructor(group: Group, onFound: OnFound) {
    this.#group = group;
    this.#onFound = onFound;
    const ringSize = 2 ** Math.ceil(Math.log2(group.size + 1));
    this.#counted = new Uint8Array(ringSize);
    this.#places = new Float64Array(ringSize);
    this.#ringMask = ringSize - 1;
  }

  /** That of its group. */
  get key(): string {
    return this.#group.key;
  }

  /** Where the first needle may begin whose end was not read yet; infinite without one. */
  get openFrom(): number {
    return this.#begun.reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY);
  }

  /** A character, and the bytes that it was read from. */
  push(character: number, from: number, to: number): void {
    const counted = character < 256 ? (this.#group.alphabet[character] as number) : foreign;
    this.#gap = counted === skipped ? this.#gap + 1 : 0;
    if (counted !== skipped) this.#add(counted, from, to);
    else if (this.#gap > maxGap) this.#add(foreign, from, to);
  }

  /** No needle is waited for any more that may begin between these places. */
  close(from: number, to: number): void {
    if (this.#begun.length > 0) this.#begun = this.#begun.filter((begun) => begun.from < from || begun.from >= to);
  }

  /** What comes next does not continue what was read. */
  interrupt(at: number): void {
    this.#add(foreign, at, at);
  }

  /** As `push` for each of the bytes from `begin` on, none of which is skipped. `from`: the place of the first byte of all. */
  pushAll(bytes: Buffer, begin: number, end: number, from: number): void {
    const { size, alphabet } = this.#group;
    for (let at = begin; at < end; ) {
      // What is left behind is in the ring only, or a needle has begun.
      for (const near = Math.min(end, at + size); at < near || (at < end && this.#begun.length > 0); at++) {
        this.#add(alphabet[bytes[at] as number] as number, from + at, from + at + 1);
      }
      at = this.#skim(bytes, at, end, from);
    }
    this.#gap = 0;
  }

  /**
   * As `pushAll`, after another finder of the same needles has read the same bytes: as soon as all characters that matter are among them, both have
   * read the same.
   */
  pushAllAfter(other: NeedleFinder, bytes: Buffer, begin: number, end: number, from: number): void {
    const near = Math.min(end, begin + this.#group.size);
    this.pushAll(bytes, begin, near, from);
    if (this.#begun.length > 0) this.pushAll(bytes, near, end, from);
    else if (near < end) this.#follow(other);
  }

  #follow(other: NeedleFinder): void {
    this.#sum = other.#sum;
    this.#count = other.#count;
    this.#counted.set(other.#counted);
    this.#places.set(other.#places);
    this.#begun = other.#begun.map((begun) => ({ ...begun }));
  }

  /** Reads on from `begin` as long as no sum is that of a beginning. At least as many bytes as one has were read right before. */
  #skim(bytes: Buffer, begin: number, end: number, from: number): number {
    const { size, alphabet, sums, entering, leaving } = this.#group;
    let sum = this.#sum;
    let at = begin;
    for (let isBeginning = 0; at < end; at++) {
      const next =
        ((sum << 1) | (sum >>> 31)) ^ (entering[bytes[at] as number] as number) ^ (leaving[bytes[at - size] as number] as number);
      for (let number = 0; number < sums.length; number++) isBeginning |= Number(sums[number] === next);
      if (isBeginning !== 0) break;
      sum = next;
    }
    if (at === begin) return at;
    this.#sum = sum;
    this.#count = 0;
    for (let read = at - size; read < at; read++, this.#count++) {
      this.#counted[this.#count] = alphabet[bytes[read] as number] as number;
      this.#places[this.#count] = from + read;
    }
    return at;
  }

  #add(counted: number, from: number, to: number): void {
    const { size, sums } = this.#group;
    const ring = this.#counted;
    const mask = this.#ringMask;
    const at = this.#count;
    const left = ring[(at - size) & mask] as number;
    ring[at & mask] = counted;
    this.#places[at & mask] = from;
    this.#count = at + 1;
    if (this.#begun.length > 0) this.#goOn(counted, to);
    this.#sum = rotated(this.#sum, 1) ^ (weights[counted] as number) ^ rotated(weights[left] as number, size);
    for (let number = 0; number < sums.length; number++) if (sums[number] === this.#sum) this.#begin(number, to);
  }

  #goOn(counted: number, to: number): void {
    this.#begun = this.#begun.filter((begun) => {
      const { needle, from } = begun;
      begun.isEqual &&= needle.characters[begun.count] === counted;
      begun.count += 1;
      if (begun.count < needle.characters.length) return counted !== foreign;
      if (begun.isEqual) this.#onFound(needle, from, to);
      return false;
    });
  }

  /** The sum is that of the beginning of a needle. */
  #begin(number: number, to: number): void {
    const needle = this.#group.needles[number] as Needle;
    const { characters, beginning } = needle;
    const first = this.#count - beginning;
    for (let at = 0; at < beginning; at++) {
      if (this.#counted[(first + at) & this.#ringMask] !== characters[at]) return;
    }
    const from = this.#places[first & this.#ringMask] as number;
    if (beginning === characters.length) {
      this.#onFound(needle, from, to);
      return;
    }
    this.#begun.push({ needle, from, count: beginning, isEqual: true });
    const oldest = this.#begun.length > maxBegun ? this.#begun.shift() : undefined;
    if (oldest) this.#onFound(oldest.needle, oldest.from, to);
  }
}

function rotated(bits: number, by: number): number {
  return (bits << (by % 32)) | (bits >>> (32 - (by % 32)));
}
