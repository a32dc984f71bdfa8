import { ByteStore } from '../../lib/byte-store.ts';

/** Lines out of pieces of any size. */
export class LineReader {
  readonly #bytes: ByteStore;
  #isTooLong = false;

  constructor(maxBytes: number) {
    this.#bytes = new ByteStore(maxBytes);
  }

  /** The lines that this piece ends; undefined in the place of one that is too long. */
  push(piece: Uint8Array): (string | undefined)[] {
    const lines: (string | undefined)[] = [];
    let start = 0;
    for (let end = piece.indexOf(0x0a); end !== -1; end = piece.indexOf(0x0a, start)) {
      this.#add(piece.subarray(start, end));
      lines.push(this.#isTooLong ? undefined : this.#bytes.take().toString('utf8').replace(/\r$/, ''));
      this.#isTooLong = false;
      start = end + 1;
    }
    this.#add(piece.subarray(start));
    return lines;
  }

  #add(piece: Uint8Array): void {
    if (this.#isTooLong || this.#bytes.push(piece)) return;
    this.#isTooLong = true;
    this.#bytes.take();
  }
}
