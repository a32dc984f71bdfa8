import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { plainText, TerminalText } from '../../src/lib/terminal-text.ts';

function inPieces(text: string): string {
  const cleaner = new TerminalText();
  let result = '';
  for (let at = 0; at < text.length; ) {
    const length = randomInt(1, 6);
    result += cleaner.push(text.slice(at, at + length));
    at += length;
  }
  return result + cleaner.end();
}

describe('terminal output', () => {
  it.each([
    ['plain\ttext é 日本\n', 'plain\ttext é 日本\n'],
    ['\u001b[1;31mred\u001b[0m and \u001b]8;;http://x\u0007link\u001b]8;;\u0007\n', 'red and link\n'],
    ['10%\r20%\r100%\n', '100%\n'],
    ['abcdef\rxy\n', 'xycdef\n'],
    ['windows\r\nlines\r\n', 'windows\nlines\n'],
    ['typo\b\b\bipo\n', 'tipo\n'],
    ['bell\u0007 nul\0 form\f\n', 'bell nul form\n'],
    ['no end', 'no end'],
    ['\u001b]0;a title\u001b\\shown\u001bPdata\u001b\\\u001b(B\u001b7 \u009b1mtoo\u001b[?25l\n', 'shown too\n'],
    ['\u001b]0;a title without an end\nshown\n', '0;a title without an end\nshown\n'],
  ])('reads %j as %j, in any pieces', (printed, read) => {
    expect(plainText(printed)).toBe(read);
    for (let round = 0; round < 20; round++) expect(inPieces(printed)).toBe(read);
  });

  it('passes a long line on before it ends, and keeps little of it meanwhile', () => {
    const cleaner = new TerminalText();
    let length = 0;
    for (let piece = 0; piece < 200; piece++) length += cleaner.push('x'.repeat(1000)).length;
    expect(length).toBeGreaterThan(100_000);
    expect(length + cleaner.end().length).toBe(200_000);
    for (let piece = 0; piece < 100_000; piece++) cleaner.push(`\r${String(piece).padStart(5)}%`);
    expect(cleaner.push('\n')).toBe('99999%\n');
  });

  it('finishes with hostile control sequences', () => {
    for (const part of ['\u001b]', '\u001b[', '\u009d', '\u001b ', '\u001b];a', '\u001b', '\u009b0;', '\u0090'])
      plainText(part.repeat(250_000));
    const overwritten = plainText(`${'x'.repeat(500_000)}${'\rab'.repeat(500_000)}`);
    expect(overwritten).toBe(`ab${'x'.repeat(499_998)}`);
  });
});
