import { botToken, tokenFormats } from './token-formats.ts';

/** So many signs of a known value are looked for; what follows is then read with care. */
export const triggerLength = 4;
/** The longest text that a trigger may need to be seen whole. */
export const longestTrigger = 80;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
const anyOf = (texts: readonly string[]): string => [...new Set(texts)].join('|');

/** Places where a token or a place for a secret begins. Each takes a bounded number of steps wherever it begins. */
const formatTriggers: readonly RegExp[] = [
  new RegExp(anyOf([...tokenFormats.flatMap(({ starts }) => starts), 'eyJ', 'SG.', '-----BEGIN '].map(escaped)), 'g'),
  new RegExp(`\\b\\d{${botToken.digits.min},${botToken.digits.max}}:`, 'g'),
  /[MNO][\w-]{23,25}\./g,
  // An address may go on in the next piece.
  /:\/\/[^\s:@/]{0,64}:[^\s:@/]{0,1024}(?:@|$)/g,
  /authorization:/gi,
];

/** Places where a value may begin that is known by these words: as it is, in base64 and in hexadecimal. */
function valueTriggers(plain: readonly string[], base64: readonly string[], hex: readonly string[]): RegExp[] {
  if (plain.length === 0) return [];
  const beginning = (word: string): string => word.slice(0, triggerLength);
  const inUrls = base64.map((word) => beginning(word).replaceAll('+', '-').replaceAll('/', '_'));
  const digits = hex.map((word) => [...beginning(word)].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('[ :,-]?'));
  return [
    new RegExp(anyOf([...plain.map(beginning), ...base64.map(beginning), ...inUrls].map(escaped)), 'g'),
    new RegExp(anyOf(digits), 'g'),
    // An escape may stand for any sign, and a line may end within base64 or hexadecimal.
    new RegExp(`%[0-9a-fA-F]{2}|\\\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|[${escapable(plain)}])`, 'g'),
    /\n(?<=[A-Za-z0-9+/_-]{60}\r?\n)|\n(?<=(?:[0-9a-fA-F][ :,-]?){32}\r?\n)/g,
  ];
}

/** Signs that may be written with a backslash before them: of these values, and of base64. */
function escapable(values: readonly string[]): string {
  const signs = values.join('').replace(/[\w\s\x80-\uffff]/g, '');
  return [...new Set(`${signs}/nt`)].map(escaped).join('');
}

export function triggersFor(words: { plain: readonly string[]; base64: readonly string[]; hex: readonly string[] }): readonly RegExp[] {
  return [...formatTriggers, ...valueTriggers(words.plain, words.base64, words.hex)];
}

/** Finds the triggers of one text from left to right. */
export class TriggerSearch {
  readonly #triggers: readonly RegExp[];
  readonly #text: string;
  /** Of each: where it stands next. */
  readonly #next: number[];

  constructor(triggers: readonly RegExp[], text: string) {
    this.#triggers = triggers;
    this.#text = text;
    this.#next = triggers.map(() => -1);
  }

  /** Where the first trigger at or after this place begins; the length of the text when there is none. */
  after(at: number): number {
    let first = this.#text.length;
    for (let index = 0; index < this.#next.length; index++) {
      let next = this.#next[index] ?? 0;
      if (next < at) {
        next = this.#find(index, at);
        this.#next[index] = next;
      }
      if (next < first) first = next;
    }
    return first;
  }

  #find(index: number, from: number): number {
    const trigger = this.#triggers[index];
    if (!trigger) return this.#text.length;
    trigger.lastIndex = from;
    return trigger.exec(this.#text)?.index ?? this.#text.length;
  }
}
