import { expect, it } from 'vitest';
import { characterEnd, decodeUtf8 } from '../../src/lib/decode-utf8.ts';
import { guessType } from '../../src/lib/file-type.ts';
import { formOf, inForm, plainText } from '../../src/lib/text-form.ts';
import { unifiedDiff } from '../../src/lib/unified-diff.ts';

it('detects byte order mark and line endings of a text, and writes another text alike', () => {
  expect(formOf('\uFEFFa\r\nb\r\n')).toEqual({ bom: true, lineEnding: 'crlf' });
  expect(formOf('a\r\nb\n')).toEqual({ bom: false, lineEnding: 'mixed' });
  expect(formOf('a\rb')).toEqual({ bom: false, lineEnding: 'none' });
  expect(plainText('\uFEFFa\r\nb\r')).toBe('a\nb\r');
  expect(inForm('x\ny\n', formOf('\uFEFFa\r\n'))).toBe('\uFEFFx\r\ny\r\n');
  expect(inForm('x\ny\n', formOf('a\r\nb\n'))).toBe('x\ny\n');
});

it('cuts bytes only between characters', () => {
  const bytes = Buffer.from('aü日🦀');
  const cuts = Array.from({ length: bytes.length + 1 }, (_, end) => decodeUtf8(bytes.subarray(0, characterEnd(bytes, end))));
  expect(cuts).toEqual(['', 'a', 'a', 'aü', 'aü', 'aü', 'aü日', 'aü日', 'aü日', 'aü日', 'aü日🦀']);
  expect(decodeUtf8(Buffer.from([0xff]))).toBeUndefined();
});

it('recognises common file types by their first bytes', () => {
  expect(guessType(Buffer.from('%PDF-1.7'))).toBe('application/pdf');
  expect(guessType(Buffer.from([1, 0, 2]))).toBe('application/octet-stream');
  expect(guessType(Buffer.from([0x66, 0xfc]))).toBe('text/plain; charset=unknown');
});

it('counts changed lines also where two texts have nothing in common', () => {
  expect(unifiedDiff('f', 'a\nb\n', 'a\nc\nd\n', 1000)).toMatchObject({ added: 2, removed: 1, truncated: false });
  expect(unifiedDiff('f', 'a', 'a', 1000)).toEqual({ added: 0, removed: 0, text: '', truncated: false });
  const before = Array.from({ length: 20_000 }, (_, index) => `before ${index}`).join('\n');
  const after = Array.from({ length: 10_000 }, (_, index) => `after ${index}`).join('\n');
  expect(unifiedDiff('f', `same\n${before}\nend\n`, `same\n${after}\nend\n`, 1000)).toEqual({
    added: 10_000,
    removed: 20_000,
    text: '',
    truncated: true,
  });
});
