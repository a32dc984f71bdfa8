import type { Activity } from '../../core/channel.ts';
import type { CallOutcome } from '../../core/tool.ts';
import { printable } from '../../lib/printable.ts';
import { plainText } from '../../lib/terminal-text.ts';

type Started = Extract<Activity, { kind: 'tool-started' }>;

interface Call {
  label: string;
  output: string;
  waiting: string | undefined;
}

const maxKept = 4000;
const tailLines = 3;
const maxLabelLength = 100;
const maxReason = 200;

/** Tools at work: a line for each, with the end of what it prints. */
export class CallLines {
  readonly #calls = new Map<string, Call>();

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  started({ turn, call, tool, input }: Started): void {
    this.#calls.set(`${turn}/${call}`, {
      label: cut(`${printable(tool)}  ${summaryOf(input)}`, maxLabelLength),
      output: '',
      waiting: undefined,
    });
  }

  printed(turn: string, call: string, text: string): void {
    const found = this.#calls.get(`${turn}/${call}`);
    if (found) found.output = (found.output + text).slice(-maxKept);
  }

  waiting(turn: string, call: string, text: string | undefined): void {
    const found = this.#calls.get(`${turn}/${call}`);
    if (found) found.waiting = text && printable(text);
  }

  /** The line that stays on the screen. */
  ended(turn: string, call: string, { kind, exitCode }: CallOutcome, text: string): string | undefined {
    const found = this.#calls.get(`${turn}/${call}`);
    this.#calls.delete(`${turn}/${call}`);
    if (!found) return undefined;
    if (kind !== 'failed') return `${kind === 'done' ? '✓' : '•'} ${found.label}`;
    const why = exitCode === undefined ? cut(printable(text), maxReason) : `exit code ${exitCode}`;
    return `✗ ${found.label}\n  ${why}`;
  }

  endTurn(turn: string): void {
    for (const key of this.#calls.keys()) if (key.startsWith(`${turn}/`)) this.#calls.delete(key);
  }

  lines(sign: string, columns: number): string[] {
    return [...this.#calls.values()].flatMap(({ label, output, waiting }) => {
      const tail = plainText(output)
        .split('\n')
        .map(printable)
        .filter((line) => line !== '')
        .slice(-tailLines);
      const lines = waiting === undefined ? tail : [...tail.slice(1 - tailLines), waiting];
      return [cut(`${sign} ${label}`, columns - 1), ...lines.map((line) => cut(`  ${line}`, columns - 1))];
    });
  }
}

/** The words a person would know a call by: the command, the code, the path. */
function summaryOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return '';
  const text = Object.values(input).find((value) => typeof value === 'string');
  return printable(text ?? JSON.stringify(input));
}

function cut(text: string, most: number): string {
  const signs = [...text];
  return signs.length > most ? `${signs.slice(0, Math.max(1, most - 1)).join('')}…` : text;
}
