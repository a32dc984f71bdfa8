import { describe, expect, it } from 'vitest';
import { quotedLines } from '../../src/lib/quoted-lines.ts';

describe('quotedLines', () => {
  it('says runs of blank lines in words that no line of the text can imitate', () => {
    expect(quotedLines(`ls${'\n'.repeat(42)}rm -rf x\n(41 blank lines)\n\n\nend\n \n\t\n\n`)).toEqual([
      ...['| ls', '(41 blank lines)', '| rm -rf x', '| (41 blank lines)', '| ', '| ', '| end', '(4 blank lines)'],
    ]);
  });

  it('says many blanks in a line in words, so that what comes after them is seen', () => {
    expect(quotedLines(`ls${' '.repeat(3000)}; rm -rf x${'\t'.repeat(41)}y`, (sign) => `[${sign}]`)).toEqual([
      '| ls[⟨3000 blanks⟩]; rm -rf x[⟨41 blanks⟩]y',
    ]);
    const indented = `${' '.repeat(40)}x`;
    expect(quotedLines(indented)).toEqual([`| ${indented}`]);
  });

  it('keeps everything else, and shows a line of what looks blank as what it is', () => {
    expect(quotedLines('a\n\u2800\n\u3164\n\u00a0\nb')).toEqual(['| a', '| ⟨U+2800⟩', '| ⟨U+3164⟩', '| ⟨U+00A0⟩', '| b']);
    expect(quotedLines('')).toEqual(['| ']);
  });
});
