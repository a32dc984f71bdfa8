import { placeholderSign } from '../lib/token-formats.ts';
import { type EscapeFamily, EscapeReader } from './escape-reader.ts';
import { type Alphabet, foreign, groupsOf, type Needle, NeedleFinder, type OnFound, skipped } from './needle-finder.ts';

export interface Scrubbed {
  value: string;
  placeholder: string;
}

/** So many characters of a value that a guesser cannot know are told from other text, and no fewer. */
const minUnknown = 8;
/** Shorter parts of an encoded value are not looked for: ordinary text contains them. */
const minNeedle = 8;
/** How tokens begin in ways that are no secret: the ids, claims and words in them are elsewhere, too. */
const publicBeginnings: readonly RegExp[] = [
  // JSON Web Tokens: all but the signature.
  /^eyJ[\w-]+\.[\w-]*\./,
  // Telegram, Slack and Discord: the ids of bots and teams.
  /^\d{8,10}:/,
  /^xox[a-z]-(?:\d+-)+/,
  /^xapp-\d-[A-Z0-9]+-\d+-/,
  /^[\w-]{23,28}\.[\w-]{6}\./,
  /^pypi-AgEIcHlwaS5vcmc/,
  // Of a URL the scheme, and its host or user.
  /^[a-z][a-z+.-]*:\/\/(?:[^/:@]*[/:])?/i,
  /^(?:Bearer|Basic|Token) /i,
  // Words that say whose token it is and for what, such as `sk-ant-api03-`.
  /^(?:(?:sk|pk|rk|ak|ant|api|app|key|token|secret|oauth|pat|github|gitlab|proj|project|svcacct|admin|user|live|test|prod|dev|or|lin|v)\d{0,2}[-_])+/,
];
/** So much of a value is never taken for public. */
const minSecret = 16;
/** How many bytes may stand before a value in base64, and which of its first characters then depend on them. */
const alignments = [
  { before: 0, skipped: 0, skippedBits: 0 },
  { before: 1, skipped: 2, skippedBits: 4 },
  { before: 2, skipped: 3, skippedBits: 2 },
] as const;
const tokenText = /^[A-Za-z0-9._~+/=:-]+$/;
/** With those of escapes, line breaks, and the zeros of UTF-16. */
const tokenBytes = bytesIn(/[A-Za-z0-9._~+/=:\\%&#;\r\n\0-]/);
const printableBytes = bytesIn(/[\x20-\x7e\r\n\0]/);

/** Escapes undone, and without the zeros of UTF-16. */
const unescaped = alphabet((character) => character, '\0');

/** The ways to read the bytes of an answer, each with the alphabet of what is looked for there. */
const alphabets = {
  plain: alphabet((character) => character),
  json: unescaped,
  url: unescaped,
  html: unescaped,
  /** The one for URLs counts as the usual one. */
  base64: alphabet(
    (character) => ({ '-': '+', _: '/' })[character] ?? (/[A-Za-z0-9+/]/.test(character) ? character : undefined),
    '\r\n\t ',
  ),
  hexadecimal: alphabet((character) => (/[0-9A-Fa-f]/.test(character) ? character.toLowerCase() : undefined), '\r\n\t :'),
} as const;

type Reading = keyof typeof alphabets;

function alphabet(countsAs: (character: string) => string | undefined, gaps = ''): Alphabet {
  return Uint8Array.from({ length: 256 }, (_, code) => {
    const character = String.fromCharCode(code);
    return gaps.includes(character) ? skipped : (countsAs(character)?.charCodeAt(0) ?? foreign);
  });
}

/** For each byte whether a text may have it. */
function bytesIn(characters: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => Number(characters.test(String.fromCharCode(code))));
}

type Groups = ReturnType<typeof groupsOf>;

/** The values of secrets, as each reading of an answer would show them. */
export class Spellings {
  readonly groups: Readonly<Record<Reading, Groups>>;
  /** Bytes that a value takes at most in a usual spelling: `\u0041` for each character. By the lengths of the values alone. */
  readonly maxBytes: number;
  /** So many bytes in a row, at the least, are spelled for a beginning of a value. */
  readonly minRun: number;
  /** For each byte whether a spelling of a value may have it. Security: of the values it tells only whether all have the characters of tokens. */
  readonly parts: Uint8Array;

  constructor(secrets: readonly Scrubbed[]) {
    const all = secrets.map(needlesOf);
    const of = (reading: Reading) =>
      groupsOf(
        alphabets[reading],
        all.flatMap((needles) => needles[reading]),
      );
    this.groups = {
      ...{ plain: of('plain'), json: of('json'), url: of('url'), html: of('html') },
      ...{ base64: of('base64'), hexadecimal: of('hexadecimal') },
    };
    this.maxBytes = Math.max(0, ...secrets.map(({ value }) => value.length)) * 6;
    this.minRun = Math.min(...all.flatMap(({ plain }) => plain.map(({ beginning }) => beginning)));
    this.parts = secrets.every(({ value }) => tokenText.test(value)) ? tokenBytes : printableBytes;
  }
}

const lineBreaks = bytesIn(/[\r\n]/);
const blanks = bytesIn(/[\t ]/);
/** Bytes that are the same character in every reading. */
const simpleBytes = bytesIn(/[A-Za-z0-9._~+/=-]/);
/** So many of them in a row are read at once. */
const minSimple = 32;

/**
 * Reads one answer in every way. Security: the work depends on the text, and of the values only on their lengths, their public beginnings and
 * `Spellings.parts`, so that its time tells nothing else about them.
 */
export class Readings {
  readonly #spellings: Spellings;
  readonly #plain: readonly NeedleFinder[];
  readonly #all: readonly NeedleFinder[];
  /** The same, those of the same needles together: in simple bytes they read the same. */
  readonly #alike: readonly (readonly NeedleFinder[])[];
  readonly #escapes: readonly EscapeReader[];
  /** The bytes before the next one may be the beginning of a value. */
  #isInRun = false;
  /** The bytes before the next one are a line break, and blanks after it. */
  #isAfterBreak = false;

  constructor(spellings: Spellings, onFound: OnFound) {
    this.#spellings = spellings;
    const { plain, json, url, html, base64, hexadecimal } = spellings.groups;
    const findersOf = (groups: Groups) => groups.map((group) => new NeedleFinder(group, found));
    // Where one reading has found a value, no other one waits for its end.
    const found: OnFound = (needle, from, to) => {
      onFound(needle, from, to);
      for (const finder of this.#all) finder.close(from, to);
    };
    const families = [
      ['json', findersOf([...json, ...base64, ...hexadecimal])],
      ['url', findersOf([...url, ...base64])],
      ['html', findersOf(html)],
    ] as const;
    this.#plain = findersOf(plain);
    this.#all = [...this.#plain, ...families.flatMap(([, finders]) => finders)];
    this.#alike = [...Map.groupBy(this.#all, ({ key }) => key).values()];
    this.#escapes = families.map(
      ([family, finders]) =>
        new EscapeReader(family, (character, from, to) => {
          for (const finder of finders) finder.push(character, from, to);
        }),
    );
  }

  /** `from`: the place of the first byte. */
  read(bytes: Buffer, from: number): void {
    for (let at = 0; at < bytes.length; ) {
      if (!this.#isInRun) at = this.#nextRun(bytes, at);
      this.#isInRun = at < bytes.length;
      while (this.#isInRun && at < bytes.length) {
        const simple = simpleEnd(bytes, at);
        if (simple - at >= minSimple && this.#escapes.every(({ isIdle }) => isIdle)) {
          for (const alike of this.#alike) {
            const [first] = alike;
            for (const finder of alike) {
              if (finder === first) finder.pushAll(bytes, at, simple, from);
              else finder.pushAllAfter(first as NeedleFinder, bytes, at, simple, from);
            }
          }
        } else for (let each = at; each < simple; each++) this.#push(bytes[each] as number, from + each);
        if (simple > at) this.#isAfterBreak = false;
        at = simple;
        if (at < bytes.length) this.#isInRun = this.#readOther(bytes[at] as number, from + at);
        at += 1;
      }
    }
  }

  /** No more bytes come: what looked like an escape is none. */
  end(): void {
    for (const escapes of this.#escapes) escapes.end();
  }

  /** What comes next does not continue what was read. `at`: its place. */
  interrupt(at: number): void {
    this.end();
    this.#isInRun = false;
    for (const finder of this.#all) finder.interrupt(at);
  }

  /** Where the first value may begin whose end was not read yet; infinite without one. */
  get openFrom(): number {
    return Math.min(...this.#all.map(({ openFrom }) => openFrom));
  }

  #push(byte: number, at: number): void {
    for (const finder of this.#plain) finder.push(byte, at, at + 1);
    for (const escapes of this.#escapes) escapes.push(byte, at);
  }

  /** A byte that is not a simple one. False when it ends the run: no spelling of a value goes on after it. */
  #readOther(byte: number, at: number): boolean {
    this.#isAfterBreak = lineBreaks[byte] === 1 || (this.#isAfterBreak && blanks[byte] === 1);
    if (this.#isAfterBreak || this.#spellings.parts[byte]) {
      this.#push(byte, at);
      return true;
    }
    this.interrupt(at);
    return false;
  }

  /** Where bytes begin that are parts of values, as many as a beginning needs, or up to the end. Looks at a few of the others only. */
  #nextRun(bytes: Buffer, begin: number): number {
    const { parts, minRun } = this.#spellings;
    for (let probe = begin + minRun - 1; probe < bytes.length; ) {
      let start = probe + 1;
      while (start > begin && parts[bytes[start - 1] as number]) start -= 1;
      let end = probe + 1;
      if (start < end) while (end < bytes.length && parts[bytes[end] as number]) end += 1;
      if (end - start >= minRun || (start < end && end === bytes.length)) return start;
      begin = end;
      probe = end + minRun - 1;
    }
    let start = bytes.length;
    while (start > begin && parts[bytes[start - 1] as number]) start -= 1;
    return start;
  }
}

function simpleEnd(bytes: Buffer, begin: number): number {
  let end = begin;
  while (end < bytes.length && simpleBytes[bytes[end] as number]) end += 1;
  return end;
}

function needlesOf({ value, placeholder }: Scrubbed): Record<Reading, Needle[]> {
  const bytes = Buffer.from(value);
  const beginning = knownLength({ value, placeholder }) + minUnknown;
  const needle = (characters: ArrayLike<number>, count: number): Needle => ({
    characters: Uint8Array.from(characters),
    beginning: Math.min(count, characters.length),
    placeholder,
  });
  const unescapedBy = (family: EscapeFamily, ...encoders: ((value: string) => string)[]): Needle[] =>
    encoders
      .map((encode) => unescapedText(family, encode(value)))
      .filter((text) => text.length >= minNeedle && text.every((code) => code > skipped && code < 256))
      .map((text) => needle(text, beginning));
  return {
    plain: [needle(bytes, beginning)],
    json: unescapedBy('json', (text) => JSON.stringify(text).slice(1, -1)),
    url: unescapedBy('url', encodeURIComponent, (text) => encodeURIComponent(text).replaceAll('%20', '+')),
    html: unescapedBy('html', (text) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)),
    // Security: as many as lie within the beginning, so that no bit of the next character makes a difference.
    base64: base64Parts(bytes).map(({ part, skippedBits }) => needle(Buffer.from(part), Math.floor((8 * beginning - skippedBits) / 6))),
    hexadecimal: [needle(Buffer.from(bytes.toString('hex')), 2 * beginning)],
  };
}

/** What is read of a value that a host has written. Where the value itself has what looks like an escape, it is not the value. */
function unescapedText(family: EscapeFamily, text: string): number[] {
  const characters: number[] = [];
  const reader = new EscapeReader(family, (character) => characters.push(character));
  for (const [at, byte] of Buffer.from(text).entries()) reader.push(byte, at);
  reader.end();
  return characters;
}

/** How many characters at its beginning a guesser may know: those of the placeholder, and those that are public. */
function knownLength({ value, placeholder }: Scrubbed): number {
  const prefix = placeholder.slice(0, Math.max(0, placeholder.indexOf(placeholderSign)));
  const shared = value.startsWith(prefix) ? prefix.length : 0;
  const known = publicBeginnings.map((beginning) => beginning.exec(value)?.[0].length ?? 0);
  return Math.max(shared, ...known.filter((length) => value.length - length >= minSecret));
}

/**
 * The part of the value in base64 that does not depend on the bytes before and after it, at each of three alignments, with the bits at its beginning that
 * are not in that part.
 */
function base64Parts(bytes: Buffer): { part: string; skippedBits: number }[] {
  return alignments.flatMap(({ before, skipped: count, skippedBits }) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const isWhole = (bytes.length + before) % 3 === 0;
    const part = encoded.slice(count, isWhole ? undefined : -1);
    return part.length < minNeedle ? [] : [{ part, skippedBits }];
  });
}
