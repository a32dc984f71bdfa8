import { expect, it } from 'vitest';
import { canonicalJson } from '../../src/lib/canonical-json.ts';

it('gives equal values equal texts, in any order of their keys', () => {
  const value = { b: [{ d: 1, c: null }], a: { toJSON: 'x', a: undefined, Z: 2 } };
  expect(canonicalJson(value)).toBe('{"a":{"Z":2,"toJSON":"x"},"b":[{"c":null,"d":1}]}');
  expect(canonicalJson({ a: { Z: 2, toJSON: 'x' }, b: [{ c: null, d: 1 }] })).toBe(canonicalJson(value));
});

it('writes dates and bytes as JSON does', () => {
  const value = { bytes: Buffer.from('ab'), at: new Date(0) };
  expect(canonicalJson(value)).toBe(`{"at":"1970-01-01T00:00:00.000Z","bytes":${JSON.stringify(Buffer.from('ab'))}}`);
});
