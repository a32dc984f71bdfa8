import fc from 'fast-check';
import { expect, it } from 'vitest';
import { plainName } from '../../src/lib/plain-name.ts';

it.each([
  ['report.csv', 'report.csv'],
  ['Übersicht 2026 (1).pdf', 'Übersicht 2026 (1).pdf'],
  ['../../.ssh/authorized_keys', 'authorized_keys'],
  ['..\\..\\autoexec.bat', 'autoexec.bat'],
  ['deep/directory/', 'directory'],
  ['a/..', 'a'],
  ['.bashrc', 'bashrc'],
  [' .- -rf', 'rf'],
  ['line\nbreak', 'line_break'],
  ['a\u0000b\u001b[2J\u202Egnp.exe', 'a_b_[2J_gnp.exe'],
  ['half of a sign: \ud83d', 'half of a sign: \ufffd'],
  ['..', 'file'],
  ['', 'file'],
])('turns %j into the name %j', (name, expected) => {
  expect(plainName(name)).toBe(expected);
});

it.each(['a', 'ü', '字', '🙂'])("shortens a name of many %s to a file system's limit, and keeps its end", (sign) => {
  const name = plainName(`${sign.repeat(500)}.tar.gz`);
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
  expect(name).toMatch(new RegExp(`^${sign}{40,}\\.tar\\.gz$`, 'u'));
});

it('produces a valid file name from any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      const name = plainName(text);
      expect(name).toMatch(/^[^./\\\s\p{C}-][^/\\\p{C}\p{Zl}\p{Zp}]*$/u);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
      expect(plainName(name)).toBe(name);
    }),
    { seed: 10, numRuns: 2000 },
  );
});
