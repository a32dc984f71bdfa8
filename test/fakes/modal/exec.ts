import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { ExecProcess } from '../kubernetes/node.ts';
import { WireError } from './wire.ts';

/** So much of the output that was sent is kept for a client that lost it on the way. */
const keptBytes = 128 * 1024 * 1024;
const failedPrecondition = 9;

/** A process that the worker of a fake sandbox runs. It knows nothing of clients: they ask for its output, and may go. */
export class FakeExec {
  readonly process: ExecProcess;
  readonly #outputs: readonly KeptOutput[];
  #written = 0;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(process: ExecProcess) {
    this.process = process;
    this.#outputs = [process.stdout, process.stderr].map((stream) => new KeptOutput(stream));
  }

  read(descriptor: number, offset: number, signal: AbortSignal): AsyncIterable<{ data: Buffer }> {
    const output = this.#outputs[descriptor];
    if (!output) throw new WireError(3, `there is no descriptor ${descriptor}`);
    return output.from(offset, signal);
  }

  /** A part that came before is not written again. */
  async write(offset: number, data: Uint8Array, eof: boolean): Promise<void> {
    const turn = this.#lastWrite.then(() => this.#writeNow(offset, data, eof));
    this.#lastWrite = turn.catch(() => undefined);
    await turn;
  }

  async #writeNow(offset: number, data: Uint8Array, eof: boolean): Promise<void> {
    const { stdin } = this.process;
    if (data.length > 0 && offset + data.length > this.#written) {
      if (offset > this.#written) throw new WireError(failedPrecondition, `the next byte of the input is ${this.#written}`);
      const rest = data.subarray(this.#written - offset);
      const failure = await new Promise<Error | null | undefined>((resolve) => stdin.write(rest, resolve));
      if (failure) throw new WireError(failedPrecondition, 'the process does not read its input any more');
      this.#written += rest.length;
    }
    if (eof) stdin.end();
  }
}

/** The output of a process, from the first byte that a client may still ask for. */
class KeptOutput {
  readonly #stream: Socket;
  readonly #chunks: { at: number; data: Buffer }[] = [];
  #end = 0;
  #readers = 0;

  constructor(stream: Socket) {
    this.#stream = stream;
  }

  /** A client that reads slowly holds the process up. One that has gone does not: the worker then takes the output by itself. */
  async *from(offset: number, signal: AbortSignal): AsyncGenerator<{ data: Buffer }> {
    this.#readers += 1;
    this.#stream.off('readable', this.#takeAll);
    try {
      let at = offset;
      while (!signal.aborted) {
        const kept = this.#chunks.find((chunk) => chunk.at + chunk.data.length > at);
        if (kept) {
          const data = kept.data.subarray(at - kept.at);
          at += data.length;
          yield { data };
        } else if (!this.#take()) {
          if (this.#stream.destroyed) return;
          await this.#more(signal);
        }
      }
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0) {
        this.#stream.on('readable', this.#takeAll);
        this.#takeAll();
      }
    }
  }

  readonly #takeAll = (): void => {
    while (this.#take());
  };

  #take(): boolean {
    const data = this.#stream.read() as Buffer | null;
    if (!data) return false;
    this.#chunks.push({ at: this.#end, data });
    this.#end += data.length;
    while (this.#chunks[0] && this.#chunks[0].at < this.#end - keptBytes) this.#chunks.shift();
    return true;
  }

  async #more(signal: AbortSignal): Promise<void> {
    const settled = new AbortController();
    const either = { signal: AbortSignal.any([signal, settled.signal]) };
    const events = ['readable', 'close'].map((event) => once(this.#stream, event, either));
    await Promise.race(events).catch(() => undefined);
    settled.abort();
    await Promise.allSettled(events);
  }
}
