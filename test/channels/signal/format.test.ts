import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { format } from '../../../src/channels/signal/format.ts';
import { maxStyles, maxTextLength, maxVisibleText } from '../../../src/channels/signal/limits.ts';

/** The text with what each style covers after it. */
function shown(markdown: string): [string, ...string[]] {
  const { text, styles } = format(markdown);
  return [
    text,
    ...styles.map((style) => {
      const [start = 0, length = 0] = style.split(':').map(Number);
      return `${style.split(':')[2]} ${text.slice(start, start + length)}`;
    }),
  ];
}

describe('Markdown for Signal', () => {
  it.each<[string, ...string[]]>([
    ['**bold** *italic* ~~gone~~ `code`', 'bold italic gone code', 'BOLD bold', 'ITALIC italic', 'STRIKETHROUGH gone', 'MONOSPACE code'],
    ['# Title\ntext', 'Title\n\ntext', 'BOLD Title'],
    ['# A **b** c', 'A b c', 'BOLD A b c'],
    ['***both***', 'both', 'BOLD both', 'ITALIC both'],
    ['😀 **bold**', '😀 bold', 'BOLD bold'],
    ['one\ntwo', 'one\ntwo'],
    ['- a\n- b\n  - c', '• a\n• b\n  • c'],
    ['3. a\n4. b', '3. a\n4. b'],
    ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
    ['> quoted\n> words', '> quoted\n> words'],
    ['```ts\nconst a = "<b>";\n```', 'const a = "<b>";', 'MONOSPACE const a = "<b>";'],
    ['- x\n\n  ```\n  a\n    b\n  ```', '• x\n\na\n  b', 'MONOSPACE a\n  b'],
    ['```\n   indented\n```', 'indented', 'MONOSPACE indented'],
    ['a\n\n---\n\nb', 'a\n\n———\n\nb'],
    ['[here](https://example.org/?a=1)', 'here (https://example.org/?a=1)'],
    ['[**here**](https://example.org)', 'here (https://example.org)', 'BOLD here'],
    ['<https://example.org>', 'https://example.org'],
    ['<me@example.org>', 'me@example.org'],
    ['[click](javascript:alert(1))', '[click](javascript:alert(1))'],
    ['&lt;b&gt; &amp;amp; &#60;', '<b> &amp; <'],
    ['\\*not italic\\*', '*not italic*'],
    ['0:4:BOLD', '0:4:BOLD'],
  ])('shows %j as %j', (markdown, ...expected) => {
    expect(shown(markdown).toSorted()).toEqual(expected.toSorted());
  });

  it('aligns the columns of a table', () => {
    const lines = ['name        │ size', '────────────┼─────', 'a           │    1', 'long & wide │  100'];
    expect(shown('| name | size |\n|---|--:|\n| `a` | 1 |\n| **long** & wide | 100 |')).toEqual([
      lines.join('\n'),
      `MONOSPACE ${lines.join('\n')}`,
    ]);
  });

  it.each([
    '\ufdd0bold\ufdd1',
    '`\ufdd0x\ufdd1`',
    '&#64976;x&#64977;',
    '&#xFDD6;x&#xFDD7;',
    '[a](https://x.y/\ufdd0)\ufdd1',
    '```\n\ufdd0x\ufdd1\n```',
  ])('makes no style of the signs that stand for styles inside: %j', (markdown) => {
    const { text, styles } = format(markdown);
    expect(text).not.toMatch(/[\ufdd0-\ufdd8]/);
    expect(styles.filter((style) => style.endsWith('BOLD'))).toEqual([]);
  });

  it('keeps every style inside of the text, whatever the text', () => {
    const piece = fc.constantFrom(
      '**',
      '*',
      '`',
      '```\n',
      '~~',
      '# ',
      '> ',
      '- ',
      '\n',
      ' ',
      'a',
      '😀',
      '\ufdd0',
      '\ufdd1',
      '\ufdd7',
      '&#64976;',
      '\ud83d',
      '|',
      '[a](https://x.y)',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { text, styles } = format(pieces.join(''));
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(/[\ufdd0-\ufdd8]/);
        for (const style of styles) {
          const [start = -1, length = 0] = style.split(':').map(Number);
          expect(start).toBeGreaterThanOrEqual(0);
          expect(length).toBeGreaterThan(0);
          expect(start + length).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('has a limited number of styles', () => {
    expect(format('`c` '.repeat(1000)).styles).toHaveLength(maxStyles);
  });

  it('shows a table as it was written when its columns take too much room', () => {
    const wide = `| ${'x'.repeat(500)} | b |\n|---|---|\n${'| a | b |\n'.repeat(300)}`.slice(0, maxTextLength);
    const { text } = format(wide);
    expect(text.length).toBeLessThanOrEqual(maxVisibleText);
    expect(text).toContain('| a | b |');
  });
});
