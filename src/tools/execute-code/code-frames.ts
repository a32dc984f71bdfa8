import { ByteStore } from '../../lib/byte-store.ts';

/** A frame: a line of lengths in bytes, then so many bytes each. No language needs a parser for it. */
export function encodeFrame(fields: readonly string[]): Buffer {
  const buffers = fields.map((field) => Buffer.from(field));
  return Buffer.concat([Buffer.from(`${buffers.map(({ length }) => length).join(' ')}\n`), ...buffers]);
}

const maxHeaderBytes = 1024;
const newline = 0x0a;

/** Finds the frames in what arrives. Keeps no more than one frame, and of that no more than is allowed. */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #store = new ByteStore();
  /** Of the frame that has begun; undefined while its lengths are not known. */
  #lengths: number[] | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws when it is no frame; nothing can be read after that. */
  *push(data: Buffer): Generator<Buffer[]> {
    this.#store.push(data);
    for (;;) {
      if (!this.#lengths && !this.#readHeader()) return;
      const lengths = this.#lengths ?? [];
      const total = lengths.reduce((sum, length) => sum + length, 0);
      if (this.#store.length < total) return;
      // A copy: it is kept until it is answered.
      const frame = Buffer.from(this.#store.view(0, total));
      this.#store.drop(total);
      this.#lengths = undefined;
      yield fieldsOf(frame, lengths);
    }
  }

  #readHeader(): boolean {
    const beginning = this.#store.view(0, maxHeaderBytes + 1);
    const end = beginning.indexOf(newline);
    if (end === -1 && beginning.length > maxHeaderBytes) throw new Error('it wrote what is no message');
    if (end === -1) return false;
    const header = beginning.toString('latin1', 0, end);
    if (!/^\d{1,8}(?: \d{1,8})*$/.test(header)) throw new Error('it wrote what is no message');
    this.#lengths = header.split(' ').map(Number);
    const total = this.#lengths.reduce((sum, length) => sum + length, 0);
    if (total > this.#maxBytes) throw new Error(`it wrote a message of ${total} bytes; ${this.#maxBytes} are the most`);
    this.#store.drop(end + 1);
    return true;
  }
}

function fieldsOf(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  let rest = bytes;
  return lengths.map((length) => {
    const field = rest.subarray(0, length);
    rest = rest.subarray(length);
    return field;
  });
}
