/** The beginning and the end of a text that may be too long to keep, in bounded memory. Lengths are in UTF-16 units. */
export class HeadTail {
  readonly #mostHead: number;
  readonly #mostTail: number;
  #head = '';
  #tail = '';
  #length = 0;

  constructor(most: number) {
    this.#mostHead = Math.floor(most * 0.4);
    this.#mostTail = most - this.#mostHead;
  }

  push(text: string): void {
    this.#length += text.length;
    const toHead = this.#tail === '' ? text.slice(0, this.#mostHead - this.#head.length) : '';
    this.#head += toHead;
    this.#tail += text.slice(toHead.length);
    // Cut only now and then: every cut copies.
    if (this.#tail.length > 2 * this.#mostTail) this.#tail = this.#tail.slice(-this.#mostTail);
  }

  get isCut(): boolean {
    return this.#length > this.#mostHead + this.#mostTail;
  }

  /** `gap` says in words how many characters are missing between both. */
  text(gap: (characters: number) => string): string {
    if (!this.isCut) return this.#head + this.#tail;
    const tail = wholeLines(this.#tail.slice(-this.#mostTail));
    const head = withoutHalf(this.#head);
    const missing = this.#length - head.length - tail.length;
    return `${head}${head.endsWith('\n') ? '' : '\n'}${gap(missing)}\n${tail}`;
  }
}

/** Starts with a whole line where one starts soon. */
function wholeLines(text: string): string {
  const start = text.indexOf('\n') + 1;
  return start > 0 && start < text.length / 4 ? text.slice(start) : text.replace(/^[\uDC00-\uDFFF]/, '');
}

function withoutHalf(text: string): string {
  const end = text.lastIndexOf('\n') + 1;
  return end > text.length * 0.75 ? text.slice(0, end) : text.replace(/[\uD800-\uDBFF]$/, '');
}
