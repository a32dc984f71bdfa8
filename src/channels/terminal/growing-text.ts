import { MarkdownLines } from './markdown-lines.ts';
import type { Style } from './screen.ts';
import { shownText } from './shown-text.ts';

/** A message, of which more and more is known. Whole lines are for printing, each once; the last one may still grow. */
export class GrowingText {
  readonly #style: Style | undefined;
  #lines: MarkdownLines | undefined;
  #text = '';
  /** How much of it was printed. */
  #printed = 0;

  /** Without a style it stays CommonMark. */
  constructor(style: Style | undefined) {
    this.#style = style;
    this.#lines = style && new MarkdownLines(style);
  }

  /** False when the text is another one, which then begins anew. */
  grow(text: string): boolean {
    const shown = shownText(text);
    const isSame = shown.startsWith(this.#text.slice(0, this.#printed));
    if (!isSame) {
      this.#lines = this.#style && new MarkdownLines(this.#style);
      this.#printed = 0;
    }
    this.#text = shown;
    return isSame;
  }

  /** The line that may still grow. */
  get rest(): string {
    return this.#text.slice(Math.max(this.#printed, this.#text.lastIndexOf('\n') + 1));
  }

  /** The text to print now; with `isAll` also the last line. undefined when there is none. */
  take(isAll: boolean): string | undefined {
    const end = isAll ? this.#text.trimEnd().length : this.#text.lastIndexOf('\n') + 1;
    if (end <= this.#printed) return undefined;
    const isInLine = this.#printed > 0 && this.#text[this.#printed - 1] !== '\n';
    const piece = this.#text.slice(this.#printed, end).replace(/\n$/, '');
    this.#printed = end;
    const lines = (isInLine ? piece.replace(/^\n/, '') : piece).split('\n');
    return lines.map((line) => this.#lines?.line(line) ?? line).join('\n');
  }
}
