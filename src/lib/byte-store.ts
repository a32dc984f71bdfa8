const firstBytes = 256;

/**
 * Bytes that arrive in pieces of any size, in no more memory than twice their number: a piece that is kept as an object of its own
 * costs hundreds of bytes, however short it is.
 */
export class ByteStore {
  readonly #maxBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  constructor(maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** Copies the piece. False when it does not fit: then as much of it is kept as does. */
  push(piece: Uint8Array): boolean {
    const room = this.#maxBytes - this.length;
    const kept = piece.length > room ? piece.subarray(0, room) : piece;
    if (this.#end + kept.length > this.#bytes.length) this.#makeRoom(this.length + kept.length);
    this.#bytes.set(kept, this.#end);
    this.#end += kept.length;
    return kept.length === piece.length;
  }

  /** Moves what is there only when at least as much was dropped before it, so that every byte is moved a bounded number of times. */
  #makeRoom(needed: number): void {
    const { length } = this;
    const fits = needed <= this.#bytes.length && this.#start >= length;
    const target = fits ? this.#bytes : Buffer.allocUnsafeSlow(this.#capacityFor(needed));
    this.#bytes.copy(target, 0, this.#start, this.#end);
    this.#bytes = target;
    this.#start = 0;
    this.#end = length;
  }

  #capacityFor(needed: number): number {
    return Math.max(needed, Math.min(Math.max(needed * 2, firstBytes), this.#maxBytes));
  }

  /** A view that the next `push` may overwrite. */
  view(start = 0, end = this.length): Buffer {
    return this.#bytes.subarray(this.#start + start, this.#start + Math.min(end, this.length));
  }

  /** Everything, for as long as it is wanted. The store is empty afterwards. */
  take(): Buffer {
    const bytes = this.view();
    this.#bytes = Buffer.alloc(0);
    this.#start = 0;
    this.#end = 0;
    return bytes;
  }

  /** Forgets the first bytes. */
  drop(count: number): void {
    this.#start = Math.min(this.#start + count, this.#end);
  }
}
