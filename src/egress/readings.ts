import { Characters, maxBytesAtOnce } from './characters.ts';
import { EscapeReader } from './escape-reader.ts';
import { maxGap, NeedleFinder, type OnFound, type Scrubbed, type Sought } from './needle-finder.ts';
import { bytesIn, type Spellings } from './value-spellings.ts';

const lineBreaks = bytesIn(/[\r\n]/);
const blanks = bytesIn(/[\t ]/);
/** For each byte whether an escape begins with it, as a bit for each family. */
const signs = new Uint8Array(256);
const families = ['json', 'url', 'html'] as const;
for (const [number, sign] of [...'\\%&'].entries()) signs[sign.charCodeAt(0)] = 1 << number;

/** What is read at the moment. Only one answer is read at a time. */
const [asTheyAre, unescaped] = [new Characters(), new Characters()];

/** Some bytes of an answer. */
interface Part {
  bytes: Buffer;
  begin: number;
  end: number;
  /** The place of the first byte of all. */
  from: number;
  /** The signs of escapes that may be in it. */
  signs: number;
  /** What comes next continues it. */
  goesOn: boolean;
}

/** Reads an answer with the escapes of one family undone. */
class UnescapedReading {
  readonly #escapes: EscapeReader;
  readonly #sign: number;
  readonly #finders: readonly { finder: NeedleFinder; leader: NeedleFinder | undefined }[];
  /** So far it has read the same as the bytes are, so its finders have nothing of their own where one of the bytes as they are looks for the same. */
  #isFollowing = true;

  constructor(family: (typeof families)[number], sought: readonly Sought[], leaders: readonly NeedleFinder[], onFound: OnFound) {
    this.#escapes = new EscapeReader(family);
    this.#sign = 1 << families.indexOf(family);
    this.#finders = sought.map((each) => ({
      finder: new NeedleFinder(each, onFound),
      leader: leaders.find(({ key }) => key === each.key),
    }));
  }

  get finders(): NeedleFinder[] {
    return this.#finders.map(({ finder }) => finder);
  }

  /** Before those that it follows read the same. */
  read({ bytes, begin, end, from, signs: found, goesOn }: Part): void {
    if (this.#escapes.isIdle && (found & this.#sign) === 0) {
      for (const { finder, leader } of this.#finders) if (!leader || !this.#isFollowing) finder.read(asTheyAre, goesOn);
    } else {
      if (this.#isFollowing) for (const { finder, leader } of this.#finders) if (leader) finder.follow(leader);
      this.#isFollowing = false;
      unescaped.begin(from + begin);
      this.#escapes.read(bytes, begin, end, from, unescaped);
      if (!goesOn) this.#escapes.end(unescaped);
      for (const { finder } of this.#finders) finder.read(unescaped, goesOn);
    }
    if (!goesOn) this.#isFollowing = true;
  }

  /** No more bytes come: what looked like an escape is none. */
  end(at: number): void {
    if (this.#escapes.isIdle) return;
    unescaped.begin(at);
    this.#escapes.end(unescaped);
    for (const { finder } of this.#finders) finder.read(unescaped, true);
  }
}

/**
 * Reads one answer in every way. Security: the work depends on the text, and of the values only on their lengths, their public beginnings and
 * `Spellings.parts`, so that its time tells nothing else about them.
 */
export class Readings {
  readonly #spellings: Spellings;
  readonly #plain: readonly NeedleFinder[];
  readonly #unescaped: readonly UnescapedReading[];
  readonly #all: readonly NeedleFinder[];
  /** What was found in the bytes that are read at the moment. */
  #found: { secret: Scrubbed; from: number }[] = [];
  /** The bytes before the next one may be the beginning of a value. */
  #isInRun = false;
  /** The signs of escapes that are in the run, as far as it was read. */
  #signs = 0;
  /** The bytes before the next one are a line break, and blanks after it. */
  #isAfterBreak = false;

  constructor(spellings: Spellings, onFound: OnFound) {
    this.#spellings = spellings;
    const found: OnFound = (secret, from, to) => {
      onFound(secret, from, to);
      if (secret) this.#found.push({ secret, from });
    };
    const { sought } = spellings;
    this.#plain = sought.plain.map((each) => new NeedleFinder(each, found));
    this.#unescaped = families.map((family) => new UnescapedReading(family, sought[family], this.#plain, found));
    this.#all = [...this.#plain, ...this.#unescaped.flatMap(({ finders }) => finders)];
  }

  /** `from`: the place of the first byte. */
  read(bytes: Buffer, from: number): void {
    for (let at = 0; at < bytes.length; at++) {
      if (!this.#isInRun) at = this.#nextRun(bytes, at);
      if (at === bytes.length) return;
      const end = this.#endOfRun(bytes, at);
      this.#isInRun = end === bytes.length;
      do {
        const begin = at;
        at = Math.min(end, begin + maxBytesAtOnce);
        this.#readPart(bytes, begin, at, from, at < end || this.#isInRun);
      } while (at < end);
    }
  }

  /** No more bytes come: what looked like an escape is none. `at`: the place after the last one. */
  end(at: number): void {
    for (const reading of this.#unescaped) reading.end(at);
    this.#closeFound();
  }

  /** What comes next does not continue what was read. */
  interrupt(at: number): void {
    this.#isInRun = false;
    this.#readPart(Buffer.alloc(0), 0, 0, at, false);
  }

  /** Where the first value may begin whose end was not read yet; infinite without one. */
  get openFrom(): number {
    return this.#all.reduce((first, { openFrom }) => Math.min(first, openFrom), Number.POSITIVE_INFINITY);
  }

  #readPart(bytes: Buffer, begin: number, end: number, from: number, goesOn: boolean): void {
    asTheyAre.take(bytes, begin, end, from + begin);
    for (const reading of this.#unescaped) reading.read({ bytes, begin, end, from, signs: this.#signs, goesOn });
    for (const finder of this.#plain) finder.read(asTheyAre, goesOn);
    this.#closeFound();
  }

  /** Where one reading has found a value, no other one waits for its end. Another value may have the same beginning. */
  #closeFound(): void {
    for (const { secret, from } of this.#found) for (const finder of this.#all) finder.close(secret, from);
    if (this.#found.length > 0) this.#found = [];
  }

  /** Where the bytes of a run end, those of the spellings of values with indentations between their lines. */
  #endOfRun(bytes: Buffer, begin: number): number {
    const { parts } = this.#spellings;
    let isAfterBreak = this.#isAfterBreak;
    let found = 0;
    let at = begin;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (parts[byte]) isAfterBreak = lineBreaks[byte] === 1;
      else if (!isAfterBreak || !blanks[byte]) break;
      found |= signs[byte] as number;
    }
    this.#signs = found;
    this.#isAfterBreak = isAfterBreak && at === bytes.length;
    return at;
  }

  /** Where a run begins that is as long as that of a beginning, or reaches the end. Looks at a few of the other bytes only. */
  #nextRun(bytes: Buffer, first: number): number {
    const { minRun } = this.#spellings;
    let begin = first;
    for (let probe = begin + minRun - 1; probe < bytes.length; probe = begin + minRun - 1) {
      const start = this.#beginOfRun(bytes, begin, probe + 1);
      if (start > probe) {
        begin = start;
        continue;
      }
      const byte = bytes[probe] as number;
      this.#isAfterBreak = lineBreaks[byte] === 1 || blanks[byte] === 1;
      const end = this.#endOfRun(bytes, probe + 1);
      if (end - start >= minRun || end === bytes.length) {
        this.#isAfterBreak = false;
        return start;
      }
      begin = end;
    }
    return this.#beginOfRun(bytes, begin, bytes.length);
  }

  /** Where the run begins that ends here, not before `first`. */
  #beginOfRun(bytes: Buffer, first: number, end: number): number {
    const { parts } = this.#spellings;
    for (let begin = end; ; ) {
      while (begin > first && parts[bytes[begin - 1] as number]) begin -= 1;
      let blank = begin;
      while (blank > first && begin - blank < maxGap && blanks[bytes[blank - 1] as number]) blank -= 1;
      if (blank === begin || blank === first || !lineBreaks[bytes[blank - 1] as number]) return begin;
      begin = blank;
    }
  }
}
