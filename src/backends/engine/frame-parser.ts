/** A piece of a frame's content; a frame may arrive in many. */
export interface FramePiece {
  stream: 'stdout' | 'stderr';
  data: Buffer;
}

const headerBytes = 8;

/**
 * Takes apart what an engine sends for a command without a terminal: frames of one byte for the stream, three zero bytes, four bytes for the
 * length, then the content. Keeps at most a header between calls; content is handed on as it comes, however long its frame is.
 */
export class FrameParser {
  #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #stream: FramePiece['stream'] = 'stdout';
  #remaining = 0;

  /** False in the middle of a frame: input that ends now was cut off. */
  get atBoundary(): boolean {
    return this.#headerFilled === 0 && this.#remaining === 0;
  }

  *feed(chunk: Buffer): Generator<FramePiece> {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#remaining === 0) {
        const taken = chunk.copy(this.#header, this.#headerFilled, offset, offset + headerBytes - this.#headerFilled);
        this.#headerFilled += taken;
        offset += taken;
        if (this.#headerFilled < headerBytes) {
          return;
        }
        this.#headerFilled = 0;
        this.#stream = streamOf(this.#header);
        this.#remaining = this.#header.readUInt32BE(4);
        continue;
      }
      const data = chunk.subarray(offset, offset + this.#remaining);
      offset += data.length;
      this.#remaining -= data.length;
      yield { stream: this.#stream, data };
    }
  }
}

function streamOf(header: Buffer): FramePiece['stream'] {
  const kind = header[0];
  if (header.readUIntBE(1, 3) !== 0 || kind === undefined || kind > 3) {
    throw new Error(`The engine sent an invalid frame: ${header.toString('hex')}.`);
  }
  // 3 is the engine's own word about the stream. It is for people, as standard error is.
  return kind >= 2 ? 'stderr' : 'stdout';
}
