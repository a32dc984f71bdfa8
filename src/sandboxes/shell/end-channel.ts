import type { Dump } from './state.ts';

/** What a shell and its supervisor report beside the output. See `guest/shell.bash`. */
export type EndRecord =
  | { kind: 'ready' }
  | { kind: 'terminal'; path: string }
  | { kind: 'dump'; dump: Dump }
  /** The command ran to its end. */
  | { kind: 'completed'; code: number }
  /** The shell says it will exit with this code. */
  | { kind: 'exiting'; code: number }
  /** How the shell really ended, as its parent saw it; `killed` when bash remarked on it. */
  | { kind: 'status'; code: number; killed: boolean }
  /** There is no room for another process. */
  | { kind: 'no-room' };

const dumpFields = 7;
/** A sandbox decides what it writes here; this much and no more is kept of it. */
const maxPending = 8 * 1024 * 1024;

/** Parses the records of one shell from bytes that arrive in any pieces. Unknown lines are remarks of bash about how a child died. */
export class EndChannel {
  readonly #receive: (record: EndRecord) => void;
  #pending: Buffer = Buffer.alloc(0);
  #fields: string[] | undefined;
  #remark = false;
  #overflowed = false;

  constructor(receive: (record: EndRecord) => void) {
    this.#receive = receive;
  }

  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.#takeOne());
    if (this.#pending.length > maxPending) {
      // Too large to be a session's state: it is dropped, and the records after it still count.
      this.#overflowed = true;
      this.#pending = Buffer.alloc(0);
    }
  }

  /** Whether one record or field could be taken off the front. */
  #takeOne(): boolean {
    const end = this.#pending.indexOf(this.#fields ? 0 : 10);
    if (end === -1) return false;
    const text = this.#pending.toString('latin1', 0, end);
    this.#pending = this.#pending.subarray(end + 1);
    if (this.#fields) this.#takeField(text);
    else this.#takeLine(text);
    return true;
  }

  #takeField(text: string): void {
    const fields = this.#fields ?? [];
    fields.push(text);
    if (fields.length < dumpFields) return;
    this.#fields = undefined;
    const [exports = '', functionNames = '', functions = '', aliases = '', options = '', umask = '', directory = ''] = fields;
    if (this.#overflowed) this.#overflowed = false;
    else this.#receive({ kind: 'dump', dump: { exports, functionNames, functions, aliases, options, umask, directory } });
  }

  #takeLine(line: string): void {
    if (line === 'R') return this.#receive({ kind: 'ready' });
    if (line === 'F') return this.#receive({ kind: 'no-room' });
    if (line === 'D') {
      this.#fields = [];
      return;
    }
    const [, letter, rest = ''] = /^([TEXS]) (.*)$/.exec(line) ?? [];
    if (letter === 'T') return this.#receive({ kind: 'terminal', path: rest });
    const code = Number(rest);
    if (letter === undefined || !Number.isInteger(code) || code < 0 || code > 255) {
      this.#remark ||= line !== '';
    } else if (letter === 'S') this.#receive({ kind: 'status', code, killed: this.#remark });
    else this.#receive({ kind: letter === 'E' ? 'completed' : 'exiting', code });
  }
}
