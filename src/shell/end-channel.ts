import type { Dump } from './state.ts';

/** The records of a shell and its supervisor, separate from the output. See `guest/shell.bash`. */
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
  /** Whether something that the command started still has its streams; only where shells are reached by streams. */
  | { kind: 'clean' | 'occupied' }
  /** There is no room for another process. */
  | { kind: 'no-room' };

/** Far more than the few records of a shell and bash's remarks on them. */
const maxBytes = 64 * 1024;

/**
 * Parses the records of one shell from bytes that arrive in any pieces. Unknown lines are remarks of bash about how a child died.
 * Security: a sandbox decides what it writes here, so every record is believed once, and only so much is read at all.
 */
export class EndChannel {
  readonly #receive: (record: EndRecord) => void;
  readonly #heard = new Set<EndRecord['kind']>();
  #bytes = 0;
  #pending = '';
  #remark = false;

  constructor(receive: (record: EndRecord) => void) {
    this.#receive = receive;
  }

  /** False when it is more than a shell has to say: nothing that follows means anything. */
  push(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > maxBytes) return false;
    const lines = (this.#pending + chunk.toString('latin1')).split('\n');
    this.#pending = lines.pop() ?? '';
    for (const line of lines) this.#takeLine(line);
    return true;
  }

  #tell(record: EndRecord): void {
    if (this.#heard.has(record.kind)) return;
    this.#heard.add(record.kind);
    this.#receive(record);
  }

  #takeLine(line: string): void {
    const [, letter = '', rest = ''] = /^([RFCO]|[TEXS] )(.*)$/.exec(line) ?? [];
    const code = Number(rest);
    const isCode = rest !== '' && Number.isInteger(code) && code >= 0 && code <= 255;
    if (letter === 'R' && rest === '') this.#tell({ kind: 'ready' });
    else if (letter === 'F' && rest === '') this.#tell({ kind: 'no-room' });
    else if (letter === 'C' && rest === '') this.#tell({ kind: 'clean' });
    else if (letter === 'O' && rest === '') this.#tell({ kind: 'occupied' });
    else if (letter === 'T ') this.#tell({ kind: 'terminal', path: rest });
    else if (letter === 'E ' && isCode) this.#tell({ kind: 'completed', code });
    else if (letter === 'X ' && isCode) this.#tell({ kind: 'exiting', code });
    else if (letter === 'S ' && isCode) this.#tell({ kind: 'status', code, killed: this.#remark });
    else this.#remark ||= line !== '';
  }
}
