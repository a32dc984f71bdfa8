/** Kinds of signs; a sign may be of several. */
export const kinds = { word: 1, alphanumeric: 2, capital: 4, hex: 8, digit: 16, withDash: 32, dashed: 64, header: 128 } as const;

/** For each ASCII code its kinds. */
export const kindsOf = new Uint8Array(128);
const mark = (kind: number, pattern: RegExp): void => {
  for (let code = 0; code < 128; code++) if (pattern.test(String.fromCharCode(code))) kindsOf[code] = (kindsOf[code] ?? 0) | kind;
};
mark(kinds.word, /\w/);
mark(kinds.alphanumeric, /[A-Za-z0-9]/);
mark(kinds.capital, /[A-Z0-9]/);
mark(kinds.hex, /[a-f0-9]/);
mark(kinds.digit, /\d/);
mark(kinds.withDash, /[A-Za-z0-9_-]/);
mark(kinds.dashed, /[A-Za-z0-9-]/);
mark(kinds.header, /[A-Za-z0-9+/=._~-]/);

/** A token that begins in a way nothing else does, at the beginning of a word, and goes on with signs of one kind. */
export interface TokenFormat {
  starts: readonly string[];
  /** The part after the start. */
  kind: number;
  /** So many signs of it make it a token, and all that follow belong to it. */
  min: number;
  /** Exactly `min`, and then a word ends. */
  isExact?: boolean;
}

export const tokenFormats: readonly TokenFormat[] = [
  { starts: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], kind: kinds.alphanumeric, min: 30 },
  { starts: ['github_pat_'], kind: kinds.word, min: 40 },
  { starts: ['glpat-'], kind: kinds.withDash, min: 20 },
  { starts: ['sk-'], kind: kinds.withDash, min: 20 },
  { starts: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'], kind: kinds.alphanumeric, min: 16 },
  { starts: [...'abeoprs'].map((letter) => `xox${letter}-`), kind: kinds.dashed, min: 10 },
  { starts: [...'0123456789'].map((digit) => `xapp-${digit}-`), kind: kinds.dashed, min: 10 },
  { starts: ['AKIA', 'ASIA'], kind: kinds.capital, min: 16, isExact: true },
  { starts: ['AIza'], kind: kinds.withDash, min: 35 },
  { starts: ['ya29.'], kind: kinds.withDash, min: 20 },
  { starts: ['npm_'], kind: kinds.alphanumeric, min: 36, isExact: true },
  { starts: ['pypi-'], kind: kinds.withDash, min: 50 },
  { starts: ['hf_'], kind: kinds.alphanumeric, min: 30 },
  { starts: ['dop_v1_'], kind: kinds.hex, min: 64, isExact: true },
  { starts: ['gsk_'], kind: kinds.alphanumeric, min: 20 },
];

/** Every placeholder of a secret has it where the random part of a token would begin. Placeholders are no secrets. */
export const placeholderSign = 'hmtc';

/** Of Telegram: a number, a colon, and this. */
export const botToken = { starts: [], kind: kinds.withDash, min: 35, isExact: true, digits: { min: 8, max: 10 } } as const;
