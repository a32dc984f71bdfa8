import { closeSync } from 'node:fs';
import { ByteStore } from '../../lib/byte-store.ts';
import type { Dump } from '../state.ts';
import { openForLooking, readNow } from './named-pipes.ts';

const fieldCount = 7;
/** A shell reports its state when it starts, or when it ends, or both. */
const maxDumps = 4;
/** A sandbox decides what it writes; this much and no more is kept of what one shell reports. Half of it is too much for any program. */
const maxBytes = 4 * 1024 * 1024;
/** Security: what is read at once, in which a writer that never stops cannot hold the host. The largest pipe fits into it. */
const maxAtOnce = 1024 * 1024;
/** However little a read brings, it counts for this much. */
const minCharge = 4096;

/** A shared read buffer; its content is copied at once. */
const scratch = Buffer.allocUnsafe(64 * 1024);

/**
 * Reads the state a shell reports. Bash writes it line by line, and waking up for every line would take longer than the command: the
 * pipe is left alone until a record says that there is something in it. Only a state that does not fit is looked for by the clock.
 */
export class DumpReader {
  readonly #descriptor: number;
  readonly #receive: (dump: Dump) => void;
  readonly #pollMs: number;
  #timer: NodeJS.Timeout;
  readonly #pending = new ByteStore();
  /** Fields that are whole in `#pending`. */
  #fields = 0;
  #bytes = 0;
  #dumps = 0;

  constructor(path: string, pollMs: number, receive: (dump: Dump) => void) {
    this.#descriptor = openForLooking(path);
    this.#receive = receive;
    this.#pollMs = pollMs;
    this.#timer = setTimeout(() => this.#look(), pollMs).unref();
  }

  /** Where a part of a state has arrived, the next one is not far. */
  #look(): void {
    const before = this.#bytes;
    this.read();
    const soonMs = this.#bytes > maxBytes ? 10 : 1;
    this.#timer = setTimeout(() => this.#look(), this.#bytes > before ? soonMs : this.#pollMs).unref();
  }

  /** Takes what is in the pipe now. */
  read(): void {
    for (let left = maxAtOnce; left > 0; ) {
      const length = readNow(this.#descriptor, scratch);
      if (length === 0) return;
      const charge = Math.max(length, minCharge);
      left -= charge;
      this.#bytes += charge;
      // More is read, so that the writer does not block, and discarded.
      if (this.#bytes > maxBytes || this.#dumps === maxDumps) this.#pending.take();
      else this.#take(scratch.subarray(0, length));
    }
  }

  #take(piece: Buffer): void {
    this.#pending.push(piece);
    for (let at = piece.indexOf(0); at !== -1; at = piece.indexOf(0, at + 1)) this.#fields += 1;
    if (this.#fields >= fieldCount) this.#deliver();
  }

  #deliver(): void {
    const fields = this.#pending.take().toString('latin1').split('\0');
    const rest = fields.pop() ?? '';
    let first = 0;
    for (; first + fieldCount <= fields.length && this.#dumps < maxDumps; first += fieldCount) {
      this.#dumps += 1;
      const [exports = '', functionNames = '', functions = '', aliases = '', options = '', umask = '', directory = ''] = fields.slice(
        first,
        first + fieldCount,
      );
      this.#receive({ exports, functionNames, functions, aliases, options, umask, directory });
    }
    this.#fields = fields.length - first;
    this.#pending.push(Buffer.from([...fields.slice(first), rest].join('\0'), 'latin1'));
  }

  close(): void {
    clearTimeout(this.#timer);
    closeSync(this.#descriptor);
  }
}
