import { closeSync } from 'node:fs';
import { openForLooking, readNow } from './named-pipes.ts';
import type { Dump } from './state.ts';

const fieldCount = 7;
/** A sandbox decides what it writes; this much and no more is kept of it. */
const mostBytes = 8 * 1024 * 1024;

/**
 * Reads the state a shell reports. Bash writes it line by line, and waking up for every line would take longer than the command: the
 * pipe is left alone until a record says that there is something in it. Only a state that does not fit is looked for by the clock.
 */
export class DumpReader {
  readonly #descriptor: number;
  readonly #receive: (dump: Dump) => void;
  readonly #timer: NodeJS.Timeout;
  #pending: Buffer[] = [];
  #bytes = 0;

  constructor(path: string, pollMs: number, receive: (dump: Dump) => void) {
    this.#descriptor = openForLooking(path);
    this.#receive = receive;
    this.#timer = setInterval(() => this.#look(), pollMs).unref();
  }

  #look(): void {
    this.read();
    if (this.#bytes > 0) this.#timer.refresh();
  }

  /** Takes what is in the pipe now. */
  read(): void {
    for (;;) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const length = readNow(this.#descriptor, chunk);
      if (length === 0) break;
      this.#bytes += length;
      if (this.#bytes <= mostBytes) this.#pending.push(chunk.subarray(0, length));
      else this.#pending = [];
    }
    if (this.#pending.length > 0) this.#deliver();
  }

  #deliver(): void {
    const text = Buffer.concat(this.#pending).toString('latin1');
    const fields = text.split('\0');
    let taken = 0;
    for (let first = 0; first + fieldCount < fields.length; first += fieldCount) {
      const [exports = '', functionNames = '', functions = '', aliases = '', options = '', umask = '', directory = ''] =
        fields.slice(first);
      this.#receive({ exports, functionNames, functions, aliases, options, umask, directory });
      taken += fields.slice(first, first + fieldCount).reduce((length, field) => length + field.length + 1, 0);
    }
    const rest = text.slice(taken);
    this.#pending = rest === '' ? [] : [Buffer.from(rest, 'latin1')];
    this.#bytes = rest.length;
  }

  close(): void {
    clearInterval(this.#timer);
    closeSync(this.#descriptor);
  }
}
