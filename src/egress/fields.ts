/** Reads the fields of a binary message in turn. A field that ends after the message is empty, and the message is then never done. */
export class Fields {
  readonly #bytes: Buffer;
  #at = 0;
  #isCut: boolean;

  constructor(bytes: Buffer, isCut = false) {
    this.#bytes = bytes;
    this.#isCut = isCut;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** A field ended after the message. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Another field can be read. */
  get hasMore(): boolean {
    return !this.#isCut && this.#at < this.#bytes.length;
  }

  /** Every byte was read, and none was missing. */
  get isDone(): boolean {
    return !this.#isCut && this.#at === this.#bytes.length;
  }

  take(count: number): Buffer {
    const end = this.#at + count;
    if (this.#isCut || end > this.#bytes.length) {
      this.#isCut = true;
      return Buffer.alloc(0);
    }
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** An unsigned number, 0 when it is cut off. */
  number(bytes: 1 | 2): number {
    const taken = this.take(bytes);
    return taken.length === 0 ? 0 : taken.readUIntBE(0, bytes);
  }

  /** What is after a length of that many bytes. */
  list(lengthBytes: 1 | 2): Fields {
    const content = this.take(this.number(lengthBytes));
    return new Fields(content, this.#isCut);
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at);
  }
}
