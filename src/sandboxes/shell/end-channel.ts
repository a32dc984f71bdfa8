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

/** A sandbox decides what it writes here. No record is longer. */
const longestLine = 16 * 1024;

/** Parses the records of one shell from bytes that arrive in any pieces. Unknown lines are remarks of bash about how a child died. */
export class EndChannel {
  readonly #receive: (record: EndRecord) => void;
  #pending = '';
  #remark = false;

  constructor(receive: (record: EndRecord) => void) {
    this.#receive = receive;
  }

  push(chunk: Buffer): void {
    const lines = (this.#pending + chunk.toString('latin1')).split('\n');
    this.#pending = (lines.pop() ?? '').slice(0, longestLine);
    for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line: string): void {
    const [, letter = '', rest = ''] = /^(R|F|[TEXS] )(.*)$/.exec(line) ?? [];
    const code = Number(rest);
    const isCode = rest !== '' && Number.isInteger(code) && code >= 0 && code <= 255;
    if (letter === 'R' && rest === '') this.#receive({ kind: 'ready' });
    else if (letter === 'F' && rest === '') this.#receive({ kind: 'no-room' });
    else if (letter === 'T ') this.#receive({ kind: 'terminal', path: rest });
    else if (letter === 'E ' && isCode) this.#receive({ kind: 'completed', code });
    else if (letter === 'X ' && isCode) this.#receive({ kind: 'exiting', code });
    else if (letter === 'S ' && isCode) this.#receive({ kind: 'status', code, killed: this.#remark });
    else this.#remark ||= line !== '';
  }
}
