/**
 * Characters that do not show, look like a space and are none, turn the direction of writing, or are orders to a terminal: controls, format
 * and tag characters, unassigned and private ones, every space but the ASCII one, what fonts leave out (zero width, variation selectors, the
 * Hangul fillers), and signs that are drawn blank. Line ends and tabs are seen.
 */
const unseen = /[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{16FE4}\u{1D159}\uFFFC]--[\n\t ]]/v;
const unseenOrMarks = new RegExp(`${unseen.source}|\\p{M}+`, 'gv');
/** More marks over one letter than a language needs cover what stands around it. */
const maxMarks = 4;

/** A picture with the signs that choose its style, and those joined to it. */
const emoji = /\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?(?:\u200D\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)*/gv;

/** The text with invisible characters made visible, so that people see all they agree to. Lines stay lines. */
export function visible(text: string, mark: (sign: string) => string = (sign) => sign): string {
  return text.replace(unseenOrMarks, (found, offset: number) => {
    const characters = [...found];
    const isFree = !canCarry(characterBefore(text, offset));
    return characters.map((one, index) => (isFree || index >= maxMarks || unseen.test(one) ? mark(codePoint(one)) : one)).join('');
  });
}

/** Whether `visible` would show any of it otherwise, but for whole emoji and the line ends of other systems. */
export function hasInvisible(text: string): boolean {
  const plain = text.replaceAll('\r\n', '\n').replace(emoji, '\u2B1B');
  return visible(plain) !== plain;
}

/** Marks belong to letters of other languages. Security: over ASCII, or over nothing, they make a command look like another. */
function canCarry(character: string): boolean {
  return character > '\x7f' && !unseen.test(character);
}

function characterBefore(text: string, offset: number): string {
  return [...text.slice(Math.max(0, offset - 2), offset)].at(-1) ?? '';
}

function codePoint(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
