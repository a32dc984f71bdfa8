import { visible } from './visible.ts';

/** From so many on, blank lines or blanks in a row are said in words: what is on another screen may as well be hidden. */
const minBlankLines = 3;
const manyBlanks = /[ \t]{41,}/g;

/**
 * All of a text, every line behind a bar, with what does not show made visible. What is said about it stands without the bar, so nothing in
 * the text can pass for it.
 */
export function quotedLines(text: string, mark?: (sign: string) => string): string[] {
  const shown: string[] = [];
  let blank: string[] = [];
  const endBlank = (): void => {
    shown.push(...(blank.length < minBlankLines ? blank.map((line) => `| ${line}`) : [`(${blank.length} blank lines)`]));
    blank = [];
  };
  for (const line of text.split('\n')) {
    if (/^[ \t]*$/.test(line)) blank.push(line);
    else {
      endBlank();
      shown.push(`| ${lineText(line, mark)}`);
    }
  }
  endBlank();
  return shown;
}

function lineText(line: string, mark: (sign: string) => string = (sign) => sign): string {
  // Marked last, because a mark may hold characters of its own, such as those that make it stand out.
  const pieces = line.split(manyBlanks);
  const gaps = [...line.matchAll(manyBlanks)].map(([run]) => mark(`⟨${run.length} blanks⟩`));
  return pieces.map((piece, index) => `${visible(piece, mark)}${gaps[index] ?? ''}`).join('');
}
