/** Bytes that arrive in pieces of any size, in no more memory than twice their number. */
export class ByteStore {
  #bytes = Buffer.alloc(4096);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  /** A view that the next `push` may leave behind. */
  view(start = 0, end = this.#length): Buffer {
    return this.#bytes.subarray(start, Math.min(end, this.#length));
  }

  /** undefined when it has not arrived yet. */
  indexOf(byte: number, from = 0): number | undefined {
    const at = this.view().indexOf(byte, from);
    return at === -1 ? undefined : at;
  }
}
