import type { OutputChunk } from '../core/sandbox.ts';
import { type FairTurns, fairTurns } from '../lib/fair-turns.ts';
import { collectYoungGarbage } from '../lib/garbage.ts';
import type { OutputPipe } from './spawner.ts';

const maxQueuedBytes = 256 * 1024;
/** The min cost of a chunk, so that many small ones are not worth more than a few large ones. */
const minCost = 1024;
/** The max size of a chunk: the reader may be slow with every byte. */
const maxPieceBytes = 16 * 1024;
const bytesBetweenCollections = 8 * 1024 * 1024;

/** Merges two pipes in order of arrival, and stops reading them while the reader is behind. */
export class Output implements AsyncIterable<OutputChunk>, AsyncIterator<OutputChunk, undefined> {
  readonly #pipes: ReadonlyArray<readonly [OutputChunk['stream'], OutputPipe]>;
  readonly #queue: OutputChunk[] = [];
  #queuedBytes = 0;
  #bytesSinceCollection = 0;
  #paused = false;
  #finished = false;
  #wake: (() => void) | undefined;
  readonly #mayTake: ReturnType<FairTurns['reader']>;

  constructor(stdout: OutputPipe, stderr: OutputPipe, turns = fairTurns) {
    this.#mayTake = turns.reader();
    this.#pipes = [
      ['stdout', stdout],
      ['stderr', stderr],
    ];
    for (const [stream, pipe] of this.#pipes) {
      pipe.stream.on('data', (data: Buffer) => this.#push(stream, data));
      pipe.stream.on('error', () => undefined);
    }
  }

  #push(stream: OutputChunk['stream'], data: Buffer): void {
    if (this.#finished || data.length === 0) return;
    this.#queue.push({ stream, data });
    this.#queuedBytes += costOf(data);
    if (this.#queuedBytes > maxQueuedBytes && !this.#paused) {
      this.#paused = true;
      for (const [, pipe] of this.#pipes) pipe.stream.pause();
    }
    this.#wake?.();
  }

  /** The command has ended: takes what is still in the pipes, and nothing that comes later. */
  finish(): void {
    if (this.#finished) return;
    for (const [stream, pipe] of this.#pipes) for (const data of pipe.drain()) this.#push(stream, data);
    this.#finished = true;
    this.#wake?.();
  }

  [Symbol.asyncIterator](): AsyncIterator<OutputChunk, undefined> {
    return this;
  }

  async next(): Promise<IteratorResult<OutputChunk, undefined>> {
    for (;;) {
      const first = this.#queue[0];
      if (first) {
        await this.#mayTake(Math.min(costOf(first.data), maxPieceBytes));
        const chunk = this.#takePiece();
        // The reader has stopped meanwhile.
        if (!chunk) continue;
        this.#bytesSinceCollection += chunk.data.length;
        if (this.#bytesSinceCollection > bytesBetweenCollections) {
          this.#bytesSinceCollection = 0;
          collectYoungGarbage();
        }
        if (this.#paused && this.#queuedBytes < maxQueuedBytes / 2 && !this.#finished) {
          this.#paused = false;
          for (const [, pipe] of this.#pipes) pipe.stream.resume();
        }
        return { done: false, value: chunk };
      }
      if (this.#finished) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #takePiece(): OutputChunk | undefined {
    const chunk = this.#queue.shift();
    if (!chunk) return undefined;
    this.#queuedBytes -= costOf(chunk.data);
    if (chunk.data.length <= maxPieceBytes) return chunk;
    const rest = { ...chunk, data: chunk.data.subarray(maxPieceBytes) };
    this.#queue.unshift(rest);
    this.#queuedBytes += costOf(rest.data);
    return { ...chunk, data: chunk.data.subarray(0, maxPieceBytes) };
  }

  /** A reader that stops early loses interest in the rest; the command must not be held up by it. */
  async return(): Promise<IteratorResult<OutputChunk, undefined>> {
    this.#finished = true;
    this.#queue.length = 0;
    for (const [, pipe] of this.#pipes) pipe.stream.resume();
    return { done: true, value: undefined };
  }
}

function costOf(data: Buffer): number {
  return Math.max(data.length, minCost);
}
