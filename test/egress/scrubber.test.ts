import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Scrubber } from '../../src/egress/scrubber.ts';
import { describeGuessing } from './guessing.ts';
import { passedAfter, type Step, spellings, stepsOf } from './scrub-steps.ts';

const secret = { value: 'ghp_abcDEF0123456789/+"&x', placeholder: `hmtc${'q'.repeat(26)}` };
const scrubber = new Scrubber([secret]);

function scrubbed(text: string | Buffer, ...cuts: number[]): Buffer {
  const steps = stepsOf(
    Buffer.from(text),
    cuts.map((cut) => [cut, false]),
  );
  return Buffer.concat(passedAfter(scrubber.begin(), steps));
}

const textOf = (one: Scrubber, text: string): string => one.texts([text]).join('');

/** In lines, as mail and PEM have it. */
const inLines = (text: string, lineBreak: string): string => text.replaceAll(/.{16}/g, `$&${lineBreak}`);

const base64Spellings: Record<string, string> = Object.fromEntries(
  ['', 'x', 'xy'].flatMap((before) => {
    const encoded = Buffer.from(`${before}${secret.value}tail`).toString('base64');
    return [
      [`base64 after ${before.length} bytes`, encoded],
      [`base64url after ${before.length} bytes`, Buffer.from(`${before}${secret.value}`).toString('base64url')],
      [`base64 after ${before.length} bytes, in lines`, inLines(encoded, '\r\n')],
      [`base64 after ${before.length} bytes, in indented lines`, inLines(encoded, '\n    ')],
      [`base64 after ${before.length} bytes, in lines of JSON`, inLines(encoded, '\\n').replaceAll('/', '\\/')],
      [`base64 after ${before.length} bytes, in a URL`, encodeURIComponent(encoded)],
    ];
  }),
);
const allSpellings = {
  ...Object.fromEntries(Object.entries(spellings).map(([name, spell]) => [name, spell(secret.value).join('')])),
  ...base64Spellings,
};

it.each(Object.entries(allSpellings))('a value in %s is scrubbed at every cut of the stream, and the length stays', (_, spelling) => {
  const text = `before ${spelling} between ${spelling}`;
  const whole = scrubbed(text);
  expect(whole.length).toBe(text.length);
  expect(decoded(whole)).not.toContain('0123456789');
  for (let cut = 0; cut <= text.length; cut++) expect(scrubbed(text, cut).equals(whole), `cut at ${cut}`).toBe(true);
});

/** Every way in which the middle of the value may still be readable. */
function decoded(bytes: Buffer): string {
  const text = bytes.toString('latin1').replaceAll('\0', '');
  const words = text.replaceAll(/\\n|\s|:/g, '').match(/[A-Za-z0-9+/_-]{8,}/g) ?? [];
  const forms = words.flatMap((word) => [0, 1, 2, 3].map((skip) => Buffer.from(word.slice(skip), 'base64').toString('latin1')));
  return [
    text,
    text.replaceAll(/(?:\\u00|\\x|%|&#x)([0-9a-f]{2});?/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
    ...words.map((word) => Buffer.from(word, 'hex').toString()),
    ...forms,
  ].join('\n');
}

it.each(['%', '\\', '100%', '&', '&#', '\\u', '\\u00', '\\x', '\\x00', '\\\\', '%25', '\\r\\n'])(
  'a value right after %s is scrubbed, however it is encoded',
  (before) => {
    for (const value of [
      '41bcdef0123456789abcdef0123456789abcdef',
      'nabcdef0123456789-abcdef0123456789',
      'u0041-0123456789-0123456789-abc',
    ]) {
      const scrub = new Scrubber([{ value, placeholder: secret.placeholder }]);
      const encodings = [value, Buffer.from(value).toString('hex'), Buffer.from(value).toString('base64'), encodeURIComponent(value)];
      for (const encoded of encodings) {
        const out = textOf(scrub, `x ${before}${encoded} y`);
        expect(decoded(Buffer.from(out)), encoded).not.toContain('0123456789');
        expect(out).not.toContain(encoded.slice(8, -4));
      }
    }
  },
);

it('a value that begins with a long run of one letter is scrubbed after more of that letter', () => {
  const value = `${'0'.repeat(80)}secret0123456789`;
  const scrub = new Scrubber([{ value, placeholder: secret.placeholder }]);
  for (const before of [0, 1, 5, 63, 64, 65, 80, 300]) {
    const text = `x ${'0'.repeat(before)}${value} y`;
    const whole = textOf(scrub, text);
    expect(whole).toHaveLength(text.length);
    expect(whole, `after ${before}`).not.toContain('secret');
    for (const size of [1, 64, 100]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        Buffer.from(text.slice(index * size, (index + 1) * size)),
      );
      expect(Buffer.concat(passedAfter(scrub.begin(), pieces)).toString(), `in pieces of ${size}`).not.toContain('secret');
    }
    expect(textOf(scrub, `${text}and the rest`).endsWith(' yand the rest')).toBe(true);
  }
});

it.each([
  ['of 40 characters', 40, 239],
  ['of 108 characters', 108, 255],
  ['of 1,000 characters', 1_000, 999],
  ['of 8,192 characters', 8_192, 8_191],
])('with a value %s, as many bytes wait as its length alone says', (_, length, held) => {
  for (const letters of ['ab0cd1', 'zyxwvu', '~-._']) {
    const stream = new Scrubber([{ value: Buffer.alloc(length, letters).toString(), placeholder: secret.placeholder }]).begin();
    expect(stream.push(Buffer.alloc(20_000, '. ')).length).toBe(20_000 - held);
  }
});

it('a stream keeps memory for a long value only while it reads a long word', () => {
  const payload = Buffer.from('x'.repeat(5_800)).toString('base64url');
  const value = `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.${payload}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c`;
  const scrub = new Scrubber([{ value, placeholder: secret.placeholder }]);
  const before = process.memoryUsage().arrayBuffers;
  const streams = Array.from({ length: 200 }, () => scrub.begin());
  for (const stream of streams) stream.push(Buffer.from('{"a":"short words"}'));
  expect((process.memoryUsage().arrayBuffers - before) / streams.length).toBeLessThan(64 * 1024);
});

describe('a value in the middle of a long word', () => {
  const token = { value: 'ghp_abcDEF0123456789abcDEF', placeholder: `ghp_hmtc${'q'.repeat(18)}` };
  const scrub = new Scrubber([token]);
  /** Has beginnings of the value, too. */
  const word = Buffer.alloc(150, 'ghp_abcDEF0ghp_abcDEF01234xZ9').toString();
  const texts = {
    'as it is': `${word}${token.value}${word}"`,
    'in base64': `${Buffer.from(`${word}${token.value}${word}`).toString('base64')}"`,
    'in base64 in lines': `${Buffer.from(`${word}${token.value}${word}`).toString('base64').replaceAll(/.{64}/g, '$&\r\n')}"`,
    'in hexadecimal': `${Buffer.from(`${word}${token.value}${word}`).toString('hex')}"`,
  };

  it.each(Object.entries(texts))('%s is scrubbed at every cut, and nothing else is', (name, text) => {
    const out = Array.from({ length: text.length }, (_, cut) =>
      Buffer.concat(passedAfter(scrub.begin(), stepsOf(Buffer.from(text), [[cut, false]]))).toString(),
    );
    expect(new Set(out).size).toBe(1);
    const changed = [...text].flatMap((letter, at) => (letter === out[0]?.[at] ? [] : [at]));
    const [first = 0, last = 0] = [changed[0], changed.at(-1)];
    const share = name === 'as it is' ? 1 : name === 'in hexadecimal' ? 2 : 4 / 3;
    expect(changed.length).toBeGreaterThan(18 * share);
    expect(last - first).toBeLessThan(27 * share + 3);
    if (name === 'as it is') expect(out[0]).toBe(`${word}${token.placeholder}${word}"`);
  });
});

it('a value that has escapes itself is scrubbed, as it is and as hosts write it', () => {
  const value = 'a%41\\n&amp;b\\u0041 0123456789';
  const scrub = new Scrubber([{ value, placeholder: secret.placeholder }]);
  for (const name of ['plain', 'JSON', 'a URL', 'HTML', 'hexadecimal'])
    expect(decoded(Buffer.from(textOf(scrub, `x ${spellings[name]?.(value).join('')} y`), 'latin1')), name).not.toContain('0123456789');
});

it('a value of one repeated letter is scrubbed among more of that letter', () => {
  const scrub = new Scrubber([{ value: 'v'.repeat(200), placeholder: secret.placeholder }]);
  const text = textOf(scrub, `x${'v'.repeat(5_000)}x`);
  expect(text).toHaveLength(5_002);
  expect(text).not.toContain('v'.repeat(9));
});

it('a scrubbed stream of any bytes in any pieces never contains the value and keeps all other bytes', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constant(Buffer.from(secret.value)),
    fc.constant(Buffer.from(secret.value.slice(0, 9))),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(300), { maxLength: 5 }), (parts, cuts) => {
      const bytes = Buffer.concat(parts);
      const out = scrubbed(bytes, ...cuts);
      expect(out.length).toBe(bytes.length);
      expect(out.includes(secret.value)).toBe(false);
      if (!bytes.includes(secret.value.slice(0, 8))) expect(out.equals(bytes)).toBe(true);
    }),
    { seed: 12, numRuns: 500 },
  );
});

describeGuessing('in the body of an answer', { begin: (one) => one.begin(), wrap: (text) => text, unwrap: (bytes) => bytes });

it('a value that a host repeats letter by letter, with a silence after each, is masked after seven', () => {
  const steps: Step[] = [...`told ${secret.value} and more`].flatMap((letter) => [Buffer.from(letter), 'silence' as const]);
  const out = Buffer.concat(passedAfter(scrubber.begin(), steps)).toString();
  expect(out).toMatch(/^told ghp_abc\*+ and more$/);
});

describe('the bytes of an answer', () => {
  it('arrive when the host is silent, and before that as soon as enough follow', () => {
    const stream = scrubber.begin();
    expect(stream.push(Buffer.from('data: 1\n\n')).toString()).toBe('');
    expect(stream.pause().toString()).toBe('data: 1\n\n');
    const filler = Buffer.alloc(secret.value.length * 6, '.');
    stream.push(Buffer.from('data: 2\n\n'));
    expect(stream.push(filler).toString()).toMatch(/^data: 2\n\n/);
  });

  it('that end as a value begins stay when the host is silent, pass when they go on in another way, and are masked at the end', () => {
    const beginning = secret.value.slice(0, 14);
    const stream = scrubber.begin();
    stream.push(Buffer.from(`told ${beginning}`));
    expect(stream.pause().toString()).toBe('told ');
    stream.push(Buffer.from(' goes on so'));
    expect(stream.pause().toString()).toBe(`${beginning} goes on so`);
    stream.push(Buffer.from(beginning));
    expect(stream.end().toString()).toBe('*'.repeat(14));
  });

  it('after the beginning of a value tell only whether all of them are those of the value', () => {
    const others = ['', '4', 'X', '456789/+"&', '456789/+"X', 'X'.repeat(10)].map((rest) => `${secret.value.slice(0, 14)}${rest}`);
    const seen = others.map((text) => passedAfter(scrubber.begin(), [Buffer.from(text), 'silence']).map((piece) => piece.toString()));
    expect(seen).toEqual(others.map((text) => ['', '', '*'.repeat(text.length)]));
    const whole = [secret.value, `${secret.value.slice(0, -1)}y`].map((text) =>
      Buffer.concat(passedAfter(scrubber.begin(), [Buffer.from(text)])),
    );
    expect(whole.map(String)).toEqual(['*'.repeat(secret.value.length), `${secret.value.slice(0, -1)}y`]);
  });

  it('of the caller are not changed', () => {
    const bytes = Buffer.from(secret.value);
    scrubbed(bytes);
    expect(bytes.toString()).toBe(secret.value);
  });

  it('pass unchanged where no value is in them', () => {
    const zipped = gzipSync('x'.repeat(10_000));
    expect(gunzipSync(scrubbed(zipped, 5, 9)).toString()).toBe('x'.repeat(10_000));
  });
});

it('a token that begins as a value of the same kind passes: only the value is scrubbed', () => {
  const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
  const value = `${header}.eyJzdWIiOiJhIn0.0123456789abcdefghij`;
  const other = `${header}.eyJzdWIiOiJiIn0.zyxwvutsrqponmlkjihg`;
  const scrub = new Scrubber([{ value, placeholder: secret.placeholder }]);
  expect(textOf(scrub, `{"mine":"${value}","next":"${other}"}`)).toBe(`{"mine":"${'*'.repeat(value.length)}","next":"${other}"}`);
});

it('a value in a header is scrubbed, and what looks like the beginning of one there masks no other header', () => {
  expect(textOf(scrubber, `Bearer ${secret.value}`)).not.toContain('0123456789');
  expect(scrubber.texts([secret.value.slice(0, 9), 'text/plain', '12'])).toEqual(['*'.repeat(9), 'text/plain', '12']);
});
