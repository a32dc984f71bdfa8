import { Readable } from 'node:stream';
import type { OutputPipe } from './spawner.ts';

/** More than an engine, the kernel and the network hold of what was printed. */
const mostHurriedBytes = 32 * 1024 * 1024;

/** The output of a command on one of its streams, without the frames. */
export class StreamPipe implements OutputPipe {
  readonly stream: Readable;
  #source: Readable | undefined;
  /** So many bytes are taken whether anybody reads them or not. */
  #hurried = 0;

  constructor() {
    this.stream = new Readable({ read: () => void this.#source?.resume(), highWaterMark: 64 * 1024 });
    this.stream.on('error', () => undefined);
  }

  /** What is held up while nobody reads. */
  holdUp(source: Readable): void {
    this.#source = source;
  }

  add(data: Buffer): void {
    this.#hurried -= data.length;
    if (!this.stream.destroyed && !this.stream.push(data) && this.#hurried <= 0) this.#source?.pause();
  }

  /** What the dead have printed is taken at once. Security: and no more, because whoever says they are dead may lie. */
  hurry(): void {
    this.#hurried = mostHurriedBytes;
    this.#source?.resume();
  }

  drain(): Buffer[] {
    const chunks: Buffer[] = [];
    this.stream.removeAllListeners('data');
    this.stream.pause();
    for (let chunk = this.stream.read() as Buffer | null; chunk; chunk = this.stream.read() as Buffer | null) chunks.push(chunk);
    return chunks;
  }
}
