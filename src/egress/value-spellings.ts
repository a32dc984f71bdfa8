import { placeholderSign } from '../lib/token-formats.ts';
import { Characters, maxBytesAtOnce } from './characters.ts';
import { type EscapeFamily, EscapeReader } from './escape-reader.ts';
import { type Alphabet, foreign, type Needle, type Scrubbed, type Sought, skipped, soughtOf } from './needle-finder.ts';

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

/** The bytes of a value itself, with escapes undone and without the zeros of UTF-16. */
const text = alphabet((character) => character, '\0');
/** The one for URLs counts as the usual one. */
const base64 = alphabet(
  (character) => ({ '-': '+', _: '/' })[character] ?? (/[A-Za-z0-9+/]/.test(character) ? character : undefined),
  '\r\n\t ',
);
const hexadecimal = alphabet((character) => (/[0-9A-Fa-f]/.test(character) ? character.toLowerCase() : undefined), '\r\n\t :');

function alphabet(countsAs: (character: string) => string | undefined, gaps: string): Alphabet {
  return Uint8Array.from({ length: 256 }, (_, code) => {
    const character = String.fromCharCode(code);
    if (gaps.includes(character)) return skipped;
    // No value has a control character.
    return code < 0x20 ? foreign : (countsAs(character)?.charCodeAt(0) ?? foreign);
  });
}

/** For each byte whether a text may have it. */
export function bytesIn(characters: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => Number(characters.test(String.fromCharCode(code))));
}

/** Bytes as they are, or with the escapes of a family undone. */
type Family = 'plain' | EscapeFamily;

/** What is looked for of one value: the value as a reading shows it, and its encodings. */
type Needles = Record<Family | 'base64' | 'hexadecimal', Needle[]>;

/** `\u0041`, the longest of the usual spellings of a character. */
const spelledBytes = 6;
/** Beginnings of usual tokens are shorter in any spelling. */
const minHeldBytes = 256;

/** The values of secrets, as each reading of an answer would show them. */
export class Spellings {
  /** What each reading looks for. */
  readonly sought: Readonly<Record<Family, readonly Sought[]>>;
  /**
   * So many bytes may still turn out to belong to a value that goes on. Security: by the lengths of the values alone, and at least as many as a value has
   * but one.
   */
  readonly heldBytes: number;
  /** So many bytes in a row, at the least, are spelled for a beginning of a value. */
  readonly minRun: number;
  /** For each byte whether a spelling of a value may have it. Security: of the values it tells only whether all have the characters of tokens. */
  readonly parts: Uint8Array;

  constructor(secrets: readonly Scrubbed[]) {
    const all = secrets.map(needlesOf);
    const areTokens = secrets.every(({ value }) => tokenText.test(value));
    const of = (key: string, counted: Alphabet, kind: keyof Needles): Sought =>
      soughtOf(
        key,
        counted,
        all.flatMap((needles) => needles[kind]),
      );
    // A token has no escapes, so each reading shows the same of it.
    const textOf = (family: Family): Sought => of(areTokens ? 'text' : family, text, family);
    const inBase64 = of('base64', base64, 'base64');
    const inHexadecimal = of('hexadecimal', hexadecimal, 'hexadecimal');
    this.sought = {
      plain: [textOf('plain'), inBase64, inHexadecimal],
      json: [textOf('json'), inBase64, inHexadecimal],
      url: [textOf('url'), inBase64],
      html: [textOf('html'), inBase64],
    };
    const longest = Math.max(0, ...secrets.map(({ value }) => value.length));
    this.heldBytes = Math.max(0, Math.min(longest * spelledBytes, Math.max(longest, minHeldBytes)) - 1);
    this.minRun = Math.min(...all.flatMap(({ plain }) => plain.map(({ beginning }) => beginning)));
    this.parts = areTokens ? tokenBytes : printableBytes;
  }
}

function needlesOf(secret: Scrubbed): Needles {
  const { value } = secret;
  const bytes = Buffer.from(value);
  const beginning = knownLength(secret) + minUnknown;
  const needle = (characters: ArrayLike<number>, count: number): Needle => ({
    characters: Uint8Array.from(characters),
    beginning: Math.min(count, characters.length),
    secret,
  });
  const unescapedBy = (family: EscapeFamily, ...encoders: ((value: string) => string)[]): Needle[] =>
    encoders
      .map((encode) => unescapedText(family, encode(value)))
      .filter((text) => text.length >= minNeedle && text.every((code) => code >= 0x20))
      .map((text) => needle(text, beginning));
  return {
    plain: [needle(bytes, beginning)],
    json: unescapedBy('json', (text) => JSON.stringify(text).slice(1, -1)),
    url: unescapedBy('url', encodeURIComponent, (text) => encodeURIComponent(text).replaceAll('%20', '+')),
    html: unescapedBy('html', (text) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)),
    // Security: as many as lie within the beginning, so that no bit of the next character makes a difference.
    base64: base64Parts(bytes, beginning % 3 === 0).map(({ part, skippedBits }) =>
      needle(Buffer.from(part), Math.floor((8 * beginning - skippedBits) / 6)),
    ),
    hexadecimal: [needle(Buffer.from(bytes.toString('hex')), 2 * beginning)],
  };
}

/** What is read of a value that a host has written. Where the value itself has what looks like an escape, it is not the value. */
function unescapedText(family: EscapeFamily, text: string): number[] {
  const bytes = Buffer.from(text);
  const reader = new EscapeReader(family);
  const characters = new Characters();
  const read: number[] = [];
  for (let at = 0; at < bytes.length; at += maxBytesAtOnce) {
    const end = Math.min(bytes.length, at + maxBytesAtOnce);
    characters.begin(at);
    reader.read(bytes, at, end, 0, characters);
    if (end === bytes.length) reader.end(characters);
    read.push(...characters.codes.subarray(0, characters.count));
  }
  return read;
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
 * are not in that part. `isEven`: a beginning ends with a character of base64. It then has known characters, too, and without the first six bits of
 * them all three are equally long.
 */
function base64Parts(bytes: Buffer, isEven: boolean): { part: string; skippedBits: number }[] {
  return alignments.flatMap(({ before, skipped: count, skippedBits: bits }) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const isWhole = (bytes.length + before) % 3 === 0;
    const more = isEven && before === 0 ? 1 : 0;
    const part = encoded.slice(count + more, isWhole ? undefined : -1);
    return part.length < minNeedle ? [] : [{ part, skippedBits: bits + 6 * more }];
  });
}
