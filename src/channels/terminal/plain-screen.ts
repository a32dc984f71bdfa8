import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Screen, ScreenInput } from './screen.ts';

/** For programs: lines come in, answers go out on one stream, and everything else on another. */
export class PlainScreen implements Screen {
  readonly isLive = false;
  readonly columns = 120;
  readonly rows = 24;
  readonly style = (_format: unknown, text: string): string => text;
  readonly #streams: { input: Readable; output: Writable; notes: Writable };
  #lines: Interface | undefined;

  constructor(streams: { input: Readable; output: Writable; notes: Writable }) {
    this.#streams = streams;
  }

  listen(heard: ScreenInput): void {
    this.#lines = createInterface({ input: this.#streams.input, crlfDelay: Number.POSITIVE_INFINITY });
    this.#lines.on('line', (line) => heard.line(line));
    this.#lines.on('close', () => heard.end());
  }

  close(): void {
    this.#lines?.removeAllListeners('close');
    this.#lines?.close();
    // A pipe that stays open must not keep us here.
    (this.#streams.input as { unref?(): void }).unref?.();
  }

  print(text: string): void {
    this.#streams.output.write(`${text}\n`);
  }

  note(text: string): void {
    this.#streams.notes.write(`${text}\n`);
  }

  show(): void {
    // A pipe has no progress to show.
  }

  clearTyped(): boolean {
    return false;
  }
}
