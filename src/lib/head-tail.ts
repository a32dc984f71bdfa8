/** Longer than anything that is hidden. */
const margin = 4096;

/** The beginning and the end of a text that may be too long to keep, in bounded memory. Lengths are in UTF-16 units. */
export class HeadTail {
  readonly #maxHead: number;
  readonly #maxTail: number;
  #head = '';
  /** The text after the head, whole, so that a redactor sees all of it. */
  #afterHead: string | undefined;
  #tail = '';
  #length = 0;

  constructor(max: number) {
    this.#maxHead = Math.floor(max * 0.4);
    this.#maxTail = max - this.#maxHead;
  }

  push(text: string): void {
    this.#length += text.length;
    const toHead = this.#tail === '' ? text.slice(0, this.#maxHead - this.#head.length) : '';
    this.#head += toHead;
    this.#tail += text.slice(toHead.length);
    // Cut only now and then: every cut copies.
    if (this.#tail.length <= 2 * (this.#maxTail + margin)) return;
    this.#afterHead ??= this.#tail.slice(0, margin);
    this.#tail = this.#tail.slice(-this.#maxTail - margin);
  }

  get isCut(): boolean {
    return this.#length > this.#maxHead + this.#maxTail;
  }

  /**
   * `gap` says in words how many characters are missing between both. `hide` takes out what must not be seen, and gets more than is
   * shown: half of a secret is not known as one.
   */
  text(gap: (characters: number) => string, hide = (text: string): string => text): string {
    if (!this.isCut) return this.#head + this.#tail;
    const before = hide(this.#head + (this.#afterHead ?? this.#tail.slice(0, margin)));
    const tail = wholeLines(hide(this.#tail.slice(-this.#maxTail - margin)).slice(-this.#maxTail));
    const head = withoutHalf(before.slice(0, this.#maxHead));
    const missing = this.#length - head.length - tail.length;
    return `${head}${head.endsWith('\n') ? '' : '\n'}${gap(missing)}\n${tail}`;
  }
}

/** No word that is worth keeping whole is longer. */
const longestWord = 1024;

/** Starts with a whole line where one starts soon, and otherwise with a whole word: half a secret is not known as one. */
function wholeLines(text: string): string {
  const near = text.length / 4;
  const line = text.indexOf('\n') + 1;
  if (line > 0 && line < near) return text.slice(line);
  const word = text.slice(0, Math.min(near, longestWord)).search(/[\s"',;&]/) + 1;
  return text.slice(word).replace(/^[\uDC00-\uDFFF]/, '');
}

function withoutHalf(text: string): string {
  const far = text.length * 0.75;
  const line = text.lastIndexOf('\n') + 1;
  if (line > far) return text.slice(0, line);
  const start = Math.ceil(Math.max(far, text.length - longestWord));
  const word = text.slice(start).search(/[\s"',;&][^\s"',;&]*$/) + 1;
  return word > 0 ? text.slice(0, start + word) : text.replace(/[\uD800-\uDBFF]$/, '');
}

/** The beginning and the end of a long text, and how many characters are missing between them. No character is cut in half. */
export function beginningAndEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = Math.floor(max / 2);
  const beginning = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '');
  const end = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, '');
  return `${beginning}\n[${text.length - beginning.length - end.length} characters left out]\n${end}`;
}
