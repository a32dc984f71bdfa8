/** A text that must not come back into a sandbox, and the one of the same length that stands for it. */
interface Replacement {
  needle: Buffer;
  substitute: Buffer;
}

export interface Scrubbed {
  value: string;
  placeholder: string;
}

/** Shorter parts of an encoded value are not looked for: ordinary text contains them. */
const minNeedle = 8;

/**
 * Everything of some values that an answer may contain: as they are, in JSON, in URLs, in hexadecimal, and in base64 at each alignment. Best effort:
 * a host that spells a value in another way gives it away.
 */
export class Scrubber {
  readonly #replacements: readonly Replacement[];

  constructor(secrets: readonly Scrubbed[]) {
    const found = secrets.flatMap(replacementsFor);
    const byText = new Map(found.map((replacement) => [replacement.needle.toString('latin1'), replacement]));
    // The longest first: of two that begin at one place it hides more.
    this.#replacements = [...byText.values()].sort((a, b) => b.needle.length - a.needle.length);
  }

  text(text: string): string {
    const stream = this.begin();
    return Buffer.concat([stream.push(Buffer.from(text, 'latin1')), stream.end()]).toString('latin1');
  }

  begin(): ScrubStream {
    return new ScrubStream(this.#replacements);
  }
}

/** Bytes that come in pieces, cut anywhere. As many come out as go in. */
class ScrubStream {
  readonly #replacements: readonly Replacement[];
  readonly #longest: number;
  readonly #firstBytes = new Set<number>();
  #held: Buffer = Buffer.alloc(0);

  constructor(replacements: readonly Replacement[]) {
    this.#replacements = replacements;
    this.#longest = replacements[0]?.needle.length ?? 0;
    for (const { needle } of replacements) this.#firstBytes.add(needle[0] ?? 0);
  }

  /** The bytes that cannot be the beginning of a value any more. */
  push(piece: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    const clean = this.#replaced(bytes);
    const end = this.#openFrom(clean);
    // A copy: the piece may be a part of a large buffer that is used again.
    this.#held = Buffer.from(clean.subarray(end));
    return clean.subarray(0, end);
  }

  end(): Buffer {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }

  #replaced(bytes: Buffer): Buffer {
    let clean = bytes;
    for (const { needle, substitute } of this.#replacements) {
      for (let at = clean.indexOf(needle); at !== -1; at = clean.indexOf(needle, at + needle.length)) {
        // Not in place: the bytes belong to the caller.
        if (clean === bytes) clean = Buffer.from(bytes);
        substitute.copy(clean, at);
      }
    }
    return clean;
  }

  /** Where the longest end begins that may be the beginning of a value. */
  #openFrom(bytes: Buffer): number {
    for (let at = Math.max(0, bytes.length - this.#longest + 1); at < bytes.length; at++) {
      if (!this.#firstBytes.has(bytes[at] ?? 0)) continue;
      const length = bytes.length - at;
      if (this.#replacements.some(({ needle }) => needle.length > length && bytes.compare(needle, 0, length, at) === 0)) return at;
    }
    return bytes.length;
  }
}

function replacementsFor({ value, placeholder }: Scrubbed): Replacement[] {
  const bytes = Buffer.from(value);
  const hexadecimal = bytes.toString('hex');
  const inUrl = encodeURIComponent(value);
  const texts = new Set([
    value,
    inUrl,
    inUrl.replaceAll(/%../g, (code) => code.toLowerCase()),
    JSON.stringify(value).slice(1, -1),
    hexadecimal,
    hexadecimal.toUpperCase(),
    ...base64Parts(bytes),
  ]);
  return [...texts].map((text) => {
    const needle = Buffer.from(text);
    const isSameLength = needle.length === placeholder.length;
    return { needle, substitute: isSameLength ? Buffer.from(placeholder) : Buffer.alloc(needle.length, '*') };
  });
}

/** The part of the value in base64 that does not depend on the bytes before and after it, at each of three alignments. */
function base64Parts(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const isWhole = (bytes.length + before) % 3 === 0;
    const part = encoded.slice([0, 2, 3][before], isWhole ? undefined : -1);
    return part.length < minNeedle ? [] : [part, part.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
