import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { openForReading, openForWriting } from './named-pipes.ts';

/** Far more than can lie in the pipe before an answer, unless another process writes into it. */
const maxBytes = 256 * 1024;

/**
 * Answers of the forker, a line each. Security: every process in the sandbox can write here, so it is read only while an answer is awaited,
 * and only so much of it.
 */
export class EventChannel {
  readonly #socket: Socket;
  /** Held so that the pipe does not end when the forker has written to it and closed it. */
  readonly #writer: number;
  readonly #awaited = new Map<string, PromiseWithResolvers<string>>();
  #bytes = 0;
  #pending = '';

  constructor(path: string) {
    this.#writer = openForWriting(path);
    try {
      this.#socket = openForReading(path).socket;
    } catch (error) {
      closeSync(this.#writer);
      throw error;
    }
    this.#socket.on('data', (chunk: Buffer) => this.#push(chunk));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.pause();
  }

  /** Resolves with what follows `start` in the line that begins with it. A caller that stops waiting calls `forget`. */
  expect(start: string): Promise<string> {
    const answer = Promise.withResolvers<string>();
    this.#awaited.set(start, answer);
    this.#bytes = 0;
    this.#socket.resume();
    return answer.promise;
  }

  forget(start: string): void {
    this.#awaited.delete(start);
    if (this.#awaited.size === 0) this.#socket.pause();
  }

  #push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxBytes) {
      for (const { reject } of this.#awaited.values()) reject(new Error('the pipe of its forker is flooded'));
      return;
    }
    const lines = (this.#pending + chunk.toString('latin1')).split('\n');
    this.#pending = (lines.pop() ?? '').slice(-1000);
    for (const line of lines) {
      const end = line.lastIndexOf(' ');
      const start = end === -1 ? line : line.slice(0, end);
      this.#awaited.get(start)?.resolve(line.slice(start.length + 1));
    }
  }

  close(): void {
    this.#socket.destroy();
    closeSync(this.#writer);
  }
}
