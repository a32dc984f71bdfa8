import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Scrubber } from '../../src/egress/scrubber.ts';

const secret = { value: 'ghp_abcDEF0123456789/+"&x', placeholder: `hmtc${'q'.repeat(26)}` };
const scrubber = new Scrubber([secret]);

function scrubbed(text: string | Buffer, ...cuts: number[]): Buffer {
  const bytes = Buffer.from(text);
  const stream = scrubber.begin();
  const places = [0, ...cuts, bytes.length];
  const pieces = places.slice(1).map((end, index) => stream.push(bytes.subarray(places[index], end)));
  return Buffer.concat([...pieces, stream.end()]);
}

const spellings: Record<string, string> = {
  plain: secret.value,
  JSON: JSON.stringify({ token: secret.value }),
  'a URL': `?t=${encodeURIComponent(secret.value)}`,
  'a URL in small letters': `?t=${encodeURIComponent(secret.value).replaceAll(/%../g, (code) => code.toLowerCase())}`,
  hexadecimal: Buffer.from(secret.value).toString('hex'),
  'upper-case hexadecimal': Buffer.from(secret.value).toString('hex').toUpperCase(),
  ...Object.fromEntries(
    ['', 'x', 'xy'].flatMap((before) => [
      [`base64 after ${before.length} bytes`, Buffer.from(`${before}${secret.value}tail`).toString('base64')],
      [`base64url after ${before.length} bytes`, Buffer.from(`${before}${secret.value}`).toString('base64url')],
    ]),
  ),
};

it.each(Object.entries(spellings))('a value in %s is scrubbed at every cut of the stream, and the length stays', (_, spelling) => {
  const text = `before ${spelling} between ${spelling}`;
  const whole = scrubbed(text);
  expect(whole.length).toBe(text.length);
  expect(decoded(whole)).not.toContain('0123456789');
  for (let cut = 0; cut <= text.length; cut++) expect(scrubbed(text, cut).equals(whole), `cut at ${cut}`).toBe(true);
});

/** Every way in which the middle of the value may still be readable. */
function decoded(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const words = text.match(/[A-Za-z0-9+/_-]{8,}/g) ?? [];
  const forms = words.flatMap((word) => [0, 1, 2, 3].map((skip) => Buffer.from(word.slice(skip), 'base64').toString('latin1')));
  return [
    text,
    decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '')),
    ...words.map((word) => Buffer.from(word, 'hex').toString()),
    ...forms,
  ].join('\n');
}

it('a scrubbed stream of any bytes in any pieces never contains the value and keeps all other bytes', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constant(Buffer.from(secret.value)),
    fc.constant(Buffer.from(secret.value.slice(0, 9))),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(300), { maxLength: 5 }), (parts, cuts) => {
      const bytes = Buffer.concat(parts);
      const out = scrubbed(bytes, ...cuts.filter((cut) => cut <= bytes.length).sort((a, b) => a - b));
      expect(out.length).toBe(bytes.length);
      expect(out.includes(secret.value)).toBe(false);
      if (!bytes.includes(secret.value.slice(0, 8))) expect(out.equals(bytes)).toBe(true);
    }),
    { seed: 12, numRuns: 500 },
  );
});

it('a piece without any beginning of a value is given back at once', () => {
  const stream = scrubber.begin();
  expect(stream.push(Buffer.from('data: 1\n\n')).toString()).toBe('data: 1\n\n');
});

it('the bytes of the caller are not changed', () => {
  const bytes = Buffer.from(secret.value);
  scrubbed(bytes);
  expect(bytes.toString()).toBe(secret.value);
});

it('bytes that no value is in pass unchanged', () => {
  const zipped = gzipSync('x'.repeat(10_000));
  expect(gunzipSync(scrubbed(zipped, 5, 9)).toString()).toBe('x'.repeat(10_000));
});

it('a header text is scrubbed', () => {
  expect(scrubber.text(`Bearer ${secret.value}`)).not.toContain('0123456789');
});
