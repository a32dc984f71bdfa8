import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactor } from '../../src/lib/redact.ts';

const secrets = [
  'hunter2-and-more',
  'p@ss word/"1"',
  'schlüssel-🦀-7',
  'aaaaaaab',
  'tok_EN.of%41~length',
  'MIIEvQIBADANBg\nkqhkiG9w0BAQEF',
];
const redact = redactor(secrets);

/** As a reader of `redact` who gets the text in pieces sees it. */
function inPieces(text: string, sizes: readonly number[]): string {
  const stream = redact.begin();
  let shown = '';
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    shown += stream.push(text.slice(at, at + size));
    at += size;
  }
  return shown + stream.end();
}

const utf8 = (text: string): number[] => [...Buffer.from(text)];
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
const json = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Every way in which a secret must be found, but for base64. */
const forms: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in lower case': (secret) => encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  'percent-encoded, every byte': (secret) =>
    utf8(secret)
      .map((byte) => `%${hex(byte)}`)
      .join(''),
  'percent-encoded here and there': (secret) =>
    [...secret]
      .map((sign, at) =>
        at % 3 === 1
          ? utf8(sign)
              .map((byte) => `%${hex(byte).toUpperCase()}`)
              .join('')
          : sign,
      )
      .join(''),
  'as a string of JSON': json,
  'with \\u escapes': (secret) => secret.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'with a few \\u escapes': (secret) => secret.replace(/[aeo-]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'with \\x escapes': (secret) =>
    utf8(secret)
      .map((byte) => `\\x${hex(byte)}`)
      .join(''),
  'with octal escapes': (secret) =>
    utf8(secret)
      .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  'in hexadecimal': (secret) => Buffer.from(secret).toString('hex'),
  'in hexadecimal, upper case': (secret) => Buffer.from(secret).toString('hex').toUpperCase(),
  'in hexadecimal with spaces': (secret) => utf8(secret).map(hex).join(' '),
  'in hexadecimal with colons': (secret) => utf8(secret).map(hex).join(':'),
};

describe('known values', () => {
  it.each(Object.entries(forms))('redacts a value %s, whole and in pieces', (_, form) => {
    for (const secret of secrets) {
      const text = `before ${form(secret)} after`;
      expect(redact(text), secret).toBe('before [redacted] after');
      for (const sizes of [[1], [2], [7, 1], [13], [100]])
        expect(inPieces(text, sizes), `${secret} ${sizes}`).toBe('before [redacted] after');
    }
  });

  it.each(['base64', 'base64url'] as const)('redacts a value in %s, at any alignment and inside other text', (encoding) => {
    for (const secret of secrets) {
      for (const before of ['', 'u', 'us', 'use', 'user:', 'name@host:']) {
        for (const after of ['', '\n', 'xy', ' and more']) {
          const encoded = Buffer.from(before + secret + after).toString(encoding);
          const shown = redact(`Basic ${encoded}.`);
          expect(inPieces(`Basic ${encoded}.`, [5, 1, 3])).toBe(shown);
          expect(shown).toContain('[redacted]');
          // No three bytes of it can be had from what is left.
          const left = shown.replace(/^Basic /, '').split('[redacted]');
          const bits = left.map((part) => Buffer.from(part, 'base64').toString('latin1')).join('|');
          const bytes = Buffer.from(secret).toString('latin1');
          for (let at = 0; at + 3 <= bytes.length; at++) expect(bits).not.toContain(bytes.slice(at, at + 3));
        }
      }
    }
  });

  it.each([64, 76])('redacts a value in base64 with lines of %i', (width) => {
    for (let before = 30; before < 60; before++) {
      const encoded = Buffer.from(`${'x'.repeat(before)}${secrets[0]} and what follows it`).toString('base64');
      const text = `${encoded.replace(new RegExp(`.{${width}}`, 'g'), '$&\n')}\n`;
      const shown = redact(text);
      expect(shown).toContain('[redacted]');
      expect(Buffer.from(shown.replace('[redacted]', ''), 'base64').toString()).not.toMatch(/hunt|nter|more/);
      expect(inPieces(text, [9])).toBe(shown);
    }
  });

  it('redacts a value in percent-encoded base64', () => {
    const encoded = encodeURIComponent(Buffer.from(`ÿÿþ${secrets[1]}ÿÿ`).toString('base64'));
    expect(redact(`?data=${encoded}`)).toContain('[redacted]');
  });

  it('redacts a value across the cut of a long line', () => {
    const [secret = ''] = secrets;
    for (const offset of [...Array(40).keys()].map((turn) => 16 * 1024 - 20 + turn)) {
      const text = `${'x'.repeat(offset)}${secret}${'y'.repeat(20_000)}`;
      const shown = inPieces(text, [4096]);
      expect(shown.length).toBe(text.length - secret.length + '[redacted]'.length);
      expect(shown).not.toMatch(/unter2|and-mor/);
    }
  });

  it('redacts a value by its lines, and a value of short lines as a whole', () => {
    expect(redact('MIIEvQIBADANBg\n')).toBe('[redacted]\n');
    const short = redactor(['first part\nab\ncd\nsecond part']);
    expect(short('x first part\nab\ncd\nsecond part y')).toBe('x [redacted] y');
  });
});

describe('tokens by their format', () => {
  const tokens = [
    `ghp_${'a'.repeat(36)}`,
    `sk-ant-api03-${'b'.repeat(30)}`,
    'AKIAABCDEFGHIJKLMNOP',
    `123456789:${'x'.repeat(35)}`,
    `eyJhbGciOiJIUzI1NiJ9.eyJ${'x'.repeat(3000)}.${'y'.repeat(40)}`,
    `MTIz${'x'.repeat(20)}.abcdef.${'y'.repeat(27)}`,
    `SG.${'x'.repeat(20)}.${'y'.repeat(40)}`,
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${'b3BlbnNzaC1rZXk\n'.repeat(2000)}-----END OPENSSH PRIVATE KEY-----`,
  ];

  it('redacts tokens in pieces of any size, without line breaks', () => {
    for (const token of tokens) {
      for (const around of [' ', '"', '-', '/', '\n']) {
        const text = `${'x'.repeat(17_000)}${around}${token}${around}${'z'.repeat(500)}`;
        const shown = redact(text);
        expect(shown, token.slice(0, 9)).toBe(
          `${'x'.repeat(17_000)}${around}[redacted]${around === '-' ? shown.slice(17_011) : `${around}${'z'.repeat(500)}`}`,
        );
        expect(inPieces(text, [1000])).toBe(shown);
        expect(inPieces(text, [61])).toBe(shown);
      }
    }
  });

  it('holds back no more text than one token can take', () => {
    for (const part of ['-eyJ', 'eyJabcdefgh.', 'sk-', 'x://y:z', '-----BEGIN ', '%4', '\\u00', 'a', '.', 'SG.', '1234567:']) {
      const stream = redact.begin();
      let given = 0;
      let pushed = 0;
      for (let turn = 0; turn < 100; turn++) {
        pushed += part.length * 200;
        given += stream.push(part.repeat(200)).replaceAll('[redacted]', '').length;
      }
      const held = stream.end();
      expect(held.length, part).toBeLessThan(13_000);
      expect(given + held.length).toBeLessThanOrEqual(pushed);
    }
  });
});

it('takes a bounded number of steps for every character', () => {
  const signs = 40_000;
  const hostile = [
    '-eyJ',
    'eyJ-',
    'eyJabcdefgh.',
    '-sk-',
    'xoxb-',
    'SG.',
    'ghp_',
    'a:',
    'x://y:',
    '12345678:',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
  ];
  const beginnings = ['a', 'aaaaaaa', 'hunter2-and-', '%61', '\\u0061', 'YWFh', '61', 'authorization: ', 'MTIzMTIzMTIzMTIzMTIzMTIzMTIz.'];
  for (const part of [...hostile, ...beginnings]) {
    const stream = redact.begin();
    stream.push(part.repeat(signs / part.length));
    stream.end();
    expect(stream.steps, part).toBeLessThan(40 * signs);
  }
});

describe('arbitrary texts', () => {
  const parts = fc.array(
    fc.constantFrom(
      ...secrets,
      ...secrets.flatMap((secret) => Object.values(forms).map((form) => form(secret))),
      ...secrets.map((secret) => Buffer.from(`user:${secret}`).toString('base64')),
      ...[
        'ghp_',
        'sk-',
        'eyJ',
        '://',
        ':',
        '@',
        '.',
        '-',
        '%',
        '%4',
        '\\',
        '\\u',
        '\n',
        ' ',
        'MTIz',
        'SG.',
        'a'.repeat(40),
        '12345678',
        'Authorization: Bearer ',
      ],
      ...['-----BEGIN ', 'PRIVATE KEY-----', '-----END ', 'x', '🦀', '\ud83e', 'Ab9_'.repeat(20)],
    ),
    { maxLength: 12 },
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 });

  it('redacts a text alike in any pieces', () => {
    const same = fc.property(parts, sizes, (words, pieces) => {
      const text = words.join(' ');
      expect(inPieces(text, pieces)).toBe(redact(text));
    });
    fc.assert(same, { seed: 10, numRuns: 1000 });
  });

  it('shows no secret in any surrounding text', () => {
    const hidden = fc.property(parts, sizes, (words, pieces) => {
      const text = words.join('');
      for (const shown of [inPieces(text, pieces), redact(text)])
        for (const secret of [...secrets, Buffer.from('hunter2-and-more').toString('hex')]) expect(shown).not.toContain(secret);
    });
    fc.assert(hidden, { seed: 10, numRuns: 1000 });
  });
});
