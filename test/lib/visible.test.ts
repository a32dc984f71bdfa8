import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasInvisible, visible } from '../../src/lib/visible.ts';

const codePoint = (character: string): string => `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

describe('visible', () => {
  it.each([
    ['the blank Braille pattern', '\u2800'],
    ['the Hangul filler', '\u3164'],
    ['the Hangul choseong filler', '\u115F'],
    ['the Hangul jungseong filler', '\u1160'],
    ['the halfwidth Hangul filler', '\uFFA0'],
    ['a variation selector', '\uFE0F'],
    ['a variation selector of the supplement', '\u{E0101}'],
    ['a Mongolian variation selector', '\u180B'],
    ['a tag character', '\u{E0041}'],
    ['a zero width space', '\u200B'],
    ['a zero width joiner', '\u200D'],
    ['a soft hyphen', '\u00AD'],
    ['the combining grapheme joiner', '\u034F'],
    ['an isolate', '\u2066'],
    ['the Arabic letter mark', '\u061C'],
    ['a no-break space', '\u00A0'],
    ['an ideographic space', '\u3000'],
    ['a line separator', '\u2028'],
    ['an escape', '\u001B'],
    ['a byte order mark', '\uFEFF'],
    ['a private character', '\uE000'],
    ['an unassigned character', '\u{10FFFE}'],
    ['a blank hieroglyph', '\u{13441}'],
    ['a musical null', '\u{1D159}'],
    ['a Khmer inherent vowel', '\u17B4'],
    ['half of a character', '\uD800'],
  ])('shows %s as its code point, and finds it', (_name, character) => {
    expect(visible(`rm${character}x`)).toBe(`rm${codePoint(character)}x`);
    expect(visible(`ü${character}`)).toBe(`ü${codePoint(character)}`);
    expect(hasInvisible(`rm${character}x`)).toBe(true);
  });

  it('shows combining marks over ASCII, over nothing and over invisible characters, and keeps those of other letters', () => {
    expect(visible('r\u0335m -r\u0332\u0301f')).toBe('r⟨U+0335⟩m -r⟨U+0332⟩⟨U+0301⟩f');
    expect(visible('\u0301a')).toBe('⟨U+0301⟩a');
    expect(visible('\u200B\u0301')).toBe('⟨U+200B⟩⟨U+0301⟩');
    expect(hasInvisible('r\u0335m')).toBe(true);
    for (const text of ['नमस्ते दुनिया', 'שָׁלוֹם', 'ภาษาไทยที่', 'が', 'tiếng Việt', 'مَرْحَبًا']) {
      expect(visible(text)).toBe(text);
      expect(hasInvisible(text)).toBe(false);
    }
  });

  it('shows the combining marks of a pile beyond the fourth', () => {
    expect(visible(`ü${'\u0301'.repeat(6)}`)).toBe(`ü${'\u0301'.repeat(4)}⟨U+0301⟩⟨U+0301⟩`);
  });

  it('shows the joiners of emoji, and reports them as invisible only outside of emoji', () => {
    expect(visible('❤\uFE0F')).toBe('❤⟨U+FE0F⟩');
    for (const text of ['git commit -m "❤\uFE0F 👨\u200D👩\u200D👧 👍🏽"', 'a\r\nb', 'é ß 漢字 “quoted” — …']) {
      expect(hasInvisible(text)).toBe(false);
    }
    for (const text of ['❤\uFE0F\uFE0F', '👨\u200D', 'a\uFE0F', 'a\u200Db', '1\uFE0F\u20E3', 'a\rb']) expect(hasInvisible(text)).toBe(true);
  });

  it('keeps ASCII, line breaks and tabs, and leaves no invisible character in any text', () => {
    const plain = `${String.fromCharCode(...Array.from({ length: 95 }, (_, index) => index + 32))}\n\t`;
    expect(visible(plain)).toBe(plain);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = visible(text);
        expect(shown).not.toMatch(/[^\P{C}\n\t]|[^\P{Z} ]|\p{Default_Ignorable_Code_Point}|[ -~]\p{M}/u);
        expect(visible(shown)).toBe(shown);
      }),
      { seed: 10, numRuns: 300 },
    );
  });

  it('marks each invisible character with the given function', () => {
    expect(visible('a\u2800b\u0301', (sign) => `[${sign}]`)).toBe('a[⟨U+2800⟩]b[⟨U+0301⟩]');
  });
});
