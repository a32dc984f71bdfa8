import type { Style } from './screen.ts';

const fenceLine = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** CommonMark as a terminal shows it, line by line: the words are all there, and some of them look different. */
export class MarkdownLines {
  readonly #style: Style;
  #fence: string | undefined;

  constructor(style: Style) {
    this.#style = style;
  }

  line(text: string): string {
    const [, fence, rest = ''] = fenceLine.exec(text) ?? [];
    if (this.#fence !== undefined) {
      if (!fence?.startsWith(this.#fence) || rest.trim() !== '') return text;
      this.#fence = undefined;
      return this.#style('dim', text);
    }
    if (fence !== undefined) {
      this.#fence = fence;
      return this.#style('dim', text);
    }
    if (/^#{1,6} /.test(text)) return this.#style('bold', text);
    return text.replace(/(`+)(.+?)\1|\*\*(\S(?:.*?\S)?)\*\*/g, (all, _ticks, code: string | undefined, strong: string | undefined) =>
      strong !== undefined ? this.#style('bold', strong) : code === undefined ? all : this.#style('cyan', code),
    );
  }
}
