import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitText, textAfter } from '../../src/lib/split-text.ts';

const bare = (text: string) => text.replace(/\s+/g, '');
/** Whether every code block that a text opens is closed in it. */
const isBalanced = (text: string) => text.split('\n').filter((line) => /^\s*(`{3,}|~{3,})/.test(line)).length % 2 === 0;
const code = (text: string) => text.split('\n').filter((line) => !/^\s*(`{3,}|~{3,})/.test(line));

describe('splitText', () => {
  it('keeps a text that fits, and makes no piece of a blank one', () => {
    expect(splitText('  a\n\n', 10)).toEqual(['  a\n\n']);
    expect(splitText('', 10)).toEqual([]);
    expect(splitText(' \n '.repeat(100), 10)).toEqual([]);
  });

  it('cuts between paragraphs before it cuts between lines, and between lines before it cuts between words', () => {
    expect(splitText('one two\n\nthree four\nfive', 20)).toEqual(['one two', 'three four\nfive']);
    expect(splitText('one two\nthree four five', 20)).toEqual(['one two', 'three four five']);
    expect(splitText('one two three four five', 10)).toEqual(['one two', 'three four', 'five']);
    expect(splitText('abcdefghijkl', 5)).toEqual(['abcde', 'fghij', 'kl']);
  });

  it('fills a piece rather than making a tiny one', () => {
    expect(splitText(`Hi.\n\n${'word '.repeat(40)}`, 100)[0]?.length).toBeGreaterThan(80);
  });

  it('closes a code block and opens it again with its language', () => {
    const text = `Look:\n\n\`\`\`ts\n${Array.from({ length: 12 }, (_, index) => `const a${index} = ${index};`).join('\n')}\n\`\`\`\n\nDone.`;
    const pieces = splitText(text, 90);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.slice(1, -1).every((piece) => piece.startsWith('```ts\n') && piece.endsWith('\n```'))).toBe(true);
    expect(pieces.every(isBalanced)).toBe(true);
    expect(pieces.flatMap(code).filter(Boolean)).toEqual(code(text).filter(Boolean));
  });

  it('keeps the indentation of a code block in a list, and of the code', () => {
    const text = `- so:\n\n   ~~~py\n${'   if a:\n     b()\n'.repeat(8)}   ~~~`;
    const pieces = splitText(text, 60);
    expect(pieces[1]).toMatch(/^ {3}~~~py\n {3}if a:\n/);
    expect(pieces.flatMap(code).join('\n').replace(/\n\n/g, '\n')).toBe(code(text).join('\n').replace(/\n\n/g, '\n'));
  });

  it('leaves no empty code block at a cut', () => {
    for (let limit = 20; limit < 80; limit++) {
      const pieces = splitText('Some words before it\n```js\nfirst();\nsecond();\n```\nand some words after', limit);
      expect(pieces.join('\n'), `at ${limit}`).not.toMatch(/```js\n```/);
      expect(pieces.every(isBalanced), `at ${limit}`).toBe(true);
    }
  });

  it('cuts a line of code that fits nowhere without losing a character of it', () => {
    const line = 'x'.repeat(200);
    const pieces = splitText(`\`\`\`json\n${line}\n\`\`\``, 50);
    expect(pieces.flatMap(code).join('')).toBe(line);
    expect(pieces.every((piece) => piece.length <= 50 && isBalanced(piece))).toBe(true);
  });

  it('gives up a language, and then the fence, that would leave no room for code', () => {
    const pieces = splitText(`\`\`\`${'very'.repeat(10)}\n${'a b c d\n'.repeat(20)}\`\`\``, 60);
    expect(pieces[1]).toMatch(/^```\na b/);
    const wide = splitText(`${'`'.repeat(100)}\n${'a b c d\n'.repeat(20)}${'`'.repeat(100)}`, 60);
    expect(wide.every((piece) => piece.length <= 60)).toBe(true);
  });

  it('never cuts a character in two', () => {
    for (const limit of [2, 3, 5]) {
      const pieces = splitText('😀'.repeat(20), limit);
      expect(pieces.join('')).toBe('😀'.repeat(20));
      expect(pieces.every((piece) => piece.isWellFormed() && piece.length <= limit)).toBe(true);
    }
    expect(() => splitText('😀', 1)).toThrow(RangeError);
  });

  it('loses no word, makes no blank piece and keeps to the limit, for any text', () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(' ', '\n', '\n\n', '😀', 'word ')))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 60 }), (whole, limit) => {
        const plain = whole.replace(/[`~]/g, '-');
        const pieces = splitText(plain, limit);
        expect(bare(pieces.join(''))).toBe(bare(plain));
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(limit);
          expect(piece.trim()).not.toBe('');
          expect(piece.isWellFormed()).toBe(true);
        }
      }),
      { seed: 10 },
    );
  });

  it('keeps every line of code and leaves no code block open, for any text around it', () => {
    const block = fc
      .record({
        marker: fc.constantFrom('```', '~~~', '````'),
        language: fc.constantFrom('', 'ts', 'python'),
        lines: fc.array(fc.constantFrom('a();', '  b = 1', '', 'long '.repeat(8)), { maxLength: 12 }),
      })
      .map(({ marker, language, lines }) => [`${marker}${language}`, ...lines, marker].join('\n'));
    const words = fc.array(fc.constantFrom('one', 'two', 'three'), { minLength: 1, maxLength: 30 }).map((all) => all.join(' '));
    const parts = fc.array(fc.oneof(block, words), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(parts, fc.integer({ min: 40, max: 200 }), (all, limit) => {
        const text = all.join('\n\n');
        const pieces = splitText(text, limit);
        expect(bare(pieces.flatMap(code).join(''))).toBe(bare(code(text).join('')));
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(limit);
          expect(isBalanced(piece), piece).toBe(true);
        }
      }),
      { seed: 10 },
    );
  });

  it('keeps the first pieces while the text grows', () => {
    const text = `${'Some words in a row. '.repeat(20)}\n\n\`\`\`sh\n${'echo hello there\n'.repeat(20)}\`\`\`\n\n${'More of it.\n'.repeat(20)}`;
    let before: string[] = [];
    for (let length = 1; length <= text.length; length++) {
      const pieces = splitText(text.slice(0, length), 120);
      const settled = Math.max(0, before.length - 2);
      expect(pieces.slice(0, settled)).toEqual(before.slice(0, settled));
      before = pieces;
    }
  });

  it('splits a long text at once', () => {
    const pieces = splitText('A line of it, with words.\n'.repeat(40_000), 4096);
    expect(pieces.length).toBeGreaterThan(250);
  });
});

describe('textAfter', () => {
  it('returns the rest of a text, in a code block when it was cut in one', () => {
    const text = 'Look:\n\n```ts\none();\ntwo();\n```\n\nDone.';
    expect(textAfter(text, 5)).toBe('```ts\none();\ntwo();\n```\n\nDone.');
    expect(textAfter(text, text.indexOf('\ntwo'))).toBe('```ts\ntwo();\n```\n\nDone.');
    expect(textAfter(text, text.indexOf('\n\nDone'))).toBe('Done.');
    expect(textAfter(text, text.length)).toBe('');
  });
});
