import { Readable } from 'node:stream';
import { ByteStore } from '../../lib/byte-store.ts';
import type { OutputPipe } from '../spawner.ts';

/** More than an engine, the kernel and the network hold of what was printed. */
const maxHurriedBytes = 32 * 1024 * 1024;
const maxWaitingBytes = 64 * 1024;

/** The output of a command on one of its streams, without the frames. */
export class StreamPipe implements OutputPipe {
  readonly stream: Readable;
  #source: Readable | undefined;
  /** So many bytes are taken even when no one reads them. */
  #hurried = 0;
  /** Data that came while the stream was full. */
  readonly #late = new ByteStore();

  constructor() {
    this.stream = new Readable({ read: () => this.#wanted(), highWaterMark: maxWaitingBytes });
    this.stream.on('error', () => undefined);
  }

  /** The source that is paused while no one reads. */
  holdUp(source: Readable): void {
    this.#source = source;
  }

  add(data: Buffer): void {
    this.#hurried -= data.length;
    if (this.stream.destroyed) return;
    const isFull = this.#late.length > 0 || this.stream.readableLength >= maxWaitingBytes;
    if (isFull) this.#late.push(data);
    if ((isFull || !this.stream.push(data)) && this.#hurried <= 0) this.#source?.pause();
  }

  #wanted(): void {
    if (this.#late.length > 0) this.stream.push(this.#late.take());
    else this.#source?.resume();
  }

  /** Takes the remaining output of dead processes at once. Security: bounded, because the report of their death may be forged. */
  hurry(): void {
    this.#hurried = maxHurriedBytes;
    this.#source?.resume();
  }

  drain(): Buffer[] {
    const chunks: Buffer[] = [];
    this.stream.removeAllListeners('data');
    this.stream.pause();
    for (let chunk = this.stream.read() as Buffer | null; chunk; chunk = this.stream.read() as Buffer | null) chunks.push(chunk);
    if (this.#late.length > 0) chunks.push(this.#late.take());
    return chunks;
  }
}
