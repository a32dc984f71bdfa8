import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalHost } from '../../src/egress/host-name.ts';

it.each([
  ['example.com', 'example.com'],
  ['EXAMPLE.Com', 'example.com'],
  ['example.com.', 'example.com'],
  ['example.com。', 'example.com'],
  ['example。com', 'example.com'],
  ['_acme.x-y.example', '_acme.x-y.example'],
  ['r3---sn-4g5e.example', 'r3---sn-4g5e.example'],
  ['localhost', 'localhost'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['bu\u0308cher.example', 'xn--bcher-kva.example'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  ['ｅｘａｍｐｌｅ.com', 'example.com'],
  ['דוגמה.example', 'xn--6dbbec0c.example'],
  [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
])('writes the name %s as %s', (text, host) => {
  expect(canonicalHost(text)).toBe(host);
});

it.each([
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f.1',
  '0x7F000001',
  '017700000001',
  '0177.0.0.01',
  '１２７.１',
  '127。1',
])('writes %s as the address it means', (text) => {
  expect(canonicalHost(text)).toBe('127.0.0.1');
});

it.each([
  ['0', '0.0.0.0'],
  ['0x', '0.0.0.0'],
  ['4294967295', '255.255.255.255'],
  ['10.65535', '10.0.255.255'],
  ['::1', '::1'],
  ['[::1]', '::1'],
  ['[0:0:0:0:0:0:0:1]', '::1'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['[64:ff9b::127.0.0.1]', '64:ff9b::7f00:1'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['[::FFFF:7f00:1]', '127.0.0.1'],
  ['[0:0:0:0:0:ffff:10.0.0.1]', '10.0.0.1'],
])('writes the address %s as %s', (text, host) => {
  expect(canonicalHost(text)).toBe(host);
});

it.each([
  '',
  '.',
  '..',
  '.example.com',
  'example..com',
  'example.com..',
  'example.com。.',
  'example.com:443',
  'user@example.com',
  'example.com@evil.example',
  'example%2ecom',
  'example.com%00.evil.example',
  'example.com%',
  'example.com#.evil.example',
  'example.com/evil.example',
  'example.com?evil.example',
  'example.com\\evil.example',
  'exa mple.com',
  ' example.com',
  'example.com\n',
  'example.com\r\nHost: evil.example',
  'example\0.com',
  'example\t.com',
  'exam\u007fple.com',
  'exam\u00adple.com',
  'exam\u200bple.com',
  'exam\u200dple.com',
  'exam\u202eple.com',
  'exam\u2066ple.com',
  'exam\ufeffple.com',
  'exam\ufe0fple.com',
  'exam\u3164ple.com',
  'exam\u115fple.com',
  'exam\u{e0041}ple.com',
  'exam\ud800ple.com',
  'example\u00a0.com',
  'example\u3000.com',
  '*.example.com',
  'example,com',
  'example;com',
  'example!com',
  "example'com",
  '<example.com>',
  '[example.com]',
  '[127.0.0.1]',
  '[::1',
  '::1]',
  '[[::1]]',
  '[::1].',
  '[fe80::1%25lo]',
  'fe80::1%lo',
  '::1%',
  '1::2::3',
  ':::',
  '::ffff:127.1',
  '-example.com',
  'example-.com',
  'example.com-',
  '256.0.0.1',
  '127.0.0.1.1',
  '4294967296',
  '08.0.0.1',
  'example.1',
  'example.0x7f',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(126)}ab`,
  `${'ü'.repeat(60)}.example`,
])('refuses %j', (text) => {
  expect(canonicalHost(text)).toBeUndefined();
});

it('accepts a name of 253 characters, with and without the dot at its end, and no longer one', () => {
  const longest = `${'a.'.repeat(126)}a`;
  expect(longest).toHaveLength(253);
  expect(canonicalHost(longest)).toBe(longest);
  expect(canonicalHost(`${longest}.`)).toBe(longest);
  expect(canonicalHost(`a${longest}`)).toBeUndefined();
  expect(canonicalHost(`a${longest}.`)).toBeUndefined();
});

it('answers quickly for a text of any length', () => {
  for (const sign of ['a', '.', 'a.', '-', ':', '[', 'ü', '0', '%']) expect(canonicalHost(sign.repeat(1_000_000))).toBeUndefined();
});

const hostLike = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...'aZ0.1x:[]%-_@/ ü。．1f\u200d'), maxLength: 40 }),
  fc.domain(),
  fc.ipV4Extended(),
  fc.ipV6(),
);

it('returns from any text either nothing or a spelling that stays as it is', () => {
  fc.assert(
    fc.property(hostLike, (text) => {
      const host = canonicalHost(text);
      if (host === undefined) return;
      expect(host).toMatch(/^[a-z0-9_.:-]{1,253}$/);
      expect(canonicalHost(host)).toBe(host);
      expect(canonicalHost(host.toUpperCase())).toBe(host);
      if (isIP(host) === 0) expect(canonicalHost(`${host}.`)).toBe(host);
      // Another reader of host names, which judges the same text, comes to the same host.
      expect(new URL(`http://${isIP(host) === 6 ? `[${host}]` : host}/`).hostname.replace(/^\[|\]$/g, '')).toBe(host);
    }),
    { numRuns: 5000 },
  );
});
