import { ByteStore } from '../../lib/byte-store.ts';

/** Lines out of pieces of any size. */
export class LineReader {
  readonly #bytes: ByteStore;

  constructor(maxBytes: number) {
    this.#bytes = new ByteStore(maxBytes);
  }

  /** The lines that this piece ends; undefined when one is too long. */
  push(piece: Uint8Array): string[] | undefined {
    const lines: string[] = [];
    let start = 0;
    for (let end = piece.indexOf(0x0a); end !== -1; end = piece.indexOf(0x0a, start)) {
      if (!this.#bytes.push(piece.subarray(start, end))) return undefined;
      lines.push(this.#bytes.take().toString('utf8').replace(/\r$/, ''));
      start = end + 1;
    }
    return this.#bytes.push(piece.subarray(start)) ? lines : undefined;
  }
}
