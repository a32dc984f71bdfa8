/** Bytes that are read at once. */
export const maxBytesAtOnce = 1024;
/** `&#1114111;` */
export const maxEscapeBytes = 10;
/** Stands for those that no byte stands for. No value has it. */
const otherCharacter = 2;

/** So few are sooner copied one by one. */
export const maxShort = 48;
const maxCount = maxBytesAtOnce + maxEscapeBytes;
/** The places of bytes as they are. */
export const eachNumber = Int32Array.from({ length: maxCount + 1 }, (_, number) => number);

/** Characters that were read from bytes, each right after the one before. Used again and again, so that a stream keeps no memory for them. */
export class Characters {
  readonly codes = new Uint8Array(maxCount);
  readonly #ownPlaces = new Int32Array(maxCount + 1);
  /** From `base` on: those of their first bytes, and that of the byte after the last one. */
  places = eachNumber;
  count = 0;
  base = 0;

  /** The bytes as they are. `place`: that of the first one. */
  take(bytes: Buffer, begin: number, end: number, place: number): void {
    if (end - begin > maxShort) this.codes.set(bytes.subarray(begin, end));
    else for (let at = begin; at < end; at++) this.codes[at - begin] = bytes[at] as number;
    this.places = eachNumber;
    this.count = end - begin;
    this.base = place;
  }

  begin(base: number): void {
    this.places = this.#ownPlaces;
    this.count = 0;
    this.base = base;
  }

  add(character: number, from: number, to: number): void {
    const { codes, places, count, base } = this;
    codes[count] = character < 256 ? character : otherCharacter;
    places[count] = from - base;
    places[count + 1] = to - base;
    this.count = count + 1;
  }
}
