import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { ByteStore } from '../../lib/byte-store.ts';

/** More than login files have to say. */
const maxNoise = 64 * 1024;

/**
 * Drops what comes before a mark: the login files of the remote user may print. When the mark never comes, all of it is passed on, because it says
 * why.
 */
export class AfterMark extends Transform {
  readonly #mark: Buffer;
  #held: ByteStore | undefined = new ByteStore();
  /** Up to here it was looked for in vain. */
  #searched = 0;

  static of(source: Readable, mark: string): Readable {
    const output = new AfterMark(mark);
    // A reader gets the error by its own call. A stream without one must not end the program.
    output.on('error', () => undefined);
    return pipeline(source, output, () => undefined);
  }

  private constructor(mark: string) {
    super();
    this.#mark = Buffer.from(`${mark}\n`);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const held = this.#held;
    if (!held) {
      done(null, chunk);
      return;
    }
    held.push(chunk);
    const at = held.view().indexOf(this.#mark, this.#searched);
    if (at !== -1) {
      this.#held = undefined;
      done(null, held.take().subarray(at + this.#mark.length));
    } else if (held.length > maxNoise) {
      done(new Error('the login files of the remote user print without end'));
    } else {
      this.#searched = Math.max(0, held.length - this.#mark.length);
      done();
    }
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#held?.take());
  }
}
