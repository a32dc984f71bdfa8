import { describe, expect, it } from 'vitest';
import { quotedLines } from '../../src/lib/quoted-lines.ts';

describe('quotedLines', () => {
  it('replaces runs of blank lines by words that no line of the text can imitate', () => {
    expect(quotedLines(`ls${'\n'.repeat(42)}rm -rf x\n(41 blank lines)\n\n\nend\n \n\t\n\n`)).toEqual([
      ...['| ls', '(41 blank lines)', '| rm -rf x', '| (41 blank lines)', '| ', '| ', '| end', '(4 blank lines)'],
    ]);
  });

  it('replaces many blanks in a line by words, so that the text after them is visible', () => {
    expect(quotedLines(`ls${' '.repeat(3000)}; rm -rf x${'\t'.repeat(41)}y`, (sign) => `[${sign}]`)).toEqual([
      '| ls[⟨3000 blanks⟩]; rm -rf x[⟨41 blanks⟩]y',
    ]);
    const indented = `${' '.repeat(40)}x`;
    expect(quotedLines(indented)).toEqual([`| ${indented}`]);
  });

  it('keeps other lines, and shows invisible characters in a line that looks blank', () => {
    expect(quotedLines('a\n\u2800\n\u3164\n\u00a0\nb')).toEqual(['| a', '| ⟨U+2800⟩', '| ⟨U+3164⟩', '| ⟨U+00A0⟩', '| b']);
    expect(quotedLines('')).toEqual(['| ']);
  });
});
