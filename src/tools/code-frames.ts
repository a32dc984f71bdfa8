/** A frame: a line of lengths in bytes, then so many bytes each. No language needs a parser for it. */
export function encodeFrame(fields: readonly string[]): Buffer {
  const buffers = fields.map((field) => Buffer.from(field));
  return Buffer.concat([Buffer.from(`${buffers.map(({ length }) => length).join(' ')}\n`), ...buffers]);
}

const mostHeaderBytes = 1024;
const newline = 0x0a;

/** Finds the frames in what arrives. Keeps no more than one frame, and of that no more than is allowed. */
export class FrameReader {
  readonly #mostBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Of the frame that has begun; undefined while its lengths are not known. */
  #lengths: number[] | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Throws when it is no frame; nothing can be read after that. */
  *push(data: Buffer): Generator<Buffer[]> {
    this.#pieces.push(data);
    this.#bytes += data.length;
    for (;;) {
      if (!this.#lengths && !this.#readHeader()) return;
      const lengths = this.#lengths ?? [];
      const total = lengths.reduce((sum, length) => sum + length, 0);
      if (this.#bytes < total) return;
      const all = this.#all();
      this.#keep(all.subarray(total));
      this.#lengths = undefined;
      yield fieldsOf(all, lengths);
    }
  }

  #readHeader(): boolean {
    const all = this.#all();
    const end = all.indexOf(newline);
    if (end === -1 ? all.length > mostHeaderBytes : end > mostHeaderBytes) throw new Error('it wrote what is no message');
    if (end === -1) {
      this.#keep(all);
      return false;
    }
    const header = all.toString('latin1', 0, end);
    if (!/^\d{1,8}(?: \d{1,8})*$/.test(header)) throw new Error('it wrote what is no message');
    this.#lengths = header.split(' ').map(Number);
    const total = this.#lengths.reduce((sum, length) => sum + length, 0);
    if (total > this.#mostBytes) throw new Error(`it wrote a message of ${total} bytes; ${this.#mostBytes} are the most`);
    this.#keep(all.subarray(end + 1));
    return true;
  }

  #all(): Buffer {
    const [only] = this.#pieces;
    return only && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
  }

  #keep(rest: Buffer): void {
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
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
