import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Screen, ScreenInput, Style } from './screen.ts';
import { shownText } from './shown-text.ts';

/** Lines that come faster than people type were pasted, and are one text. */
const pasteMs = 30;

/** The state `readline` keeps of a drawn prompt, missing in its types. */
interface Drawn {
  line: string;
  cursor: number;
  prevRows: number;
}

/**
 * A terminal with a person at it. What changes is part of the prompt of `readline`, which knows how many rows that takes, however wide the
 * terminal is; what stays is printed above it.
 */
export class LiveScreen implements Screen {
  readonly isLive = true;
  readonly style: Style;
  readonly #streams: { input: Readable; output: Writable };
  readonly #pasted: string[] = [];
  #lines: Interface | undefined;
  #prompt = '';
  #live: readonly string[] = [];

  constructor(streams: { input: Readable; output: Writable }) {
    this.#streams = streams;
    this.style = (format, text) => styleText(format, text, { stream: streams.output });
  }

  get columns(): number {
    return (this.#streams.output as { columns?: number }).columns || 80;
  }

  get rows(): number {
    return (this.#streams.output as { rows?: number }).rows || 24;
  }

  listen(heard: ScreenInput): void {
    const lines = createInterface({ ...this.#streams, terminal: true, historySize: 500, removeHistoryDuplicates: true });
    this.#lines = lines;
    lines.on('line', (line) => {
      this.#leaveOnlyTyped(lines, line);
      if (this.#pasted.push(line) > 1) return;
      setTimeout(() => heard.line(this.#pasted.splice(0).join('\n')), pasteMs);
    });
    lines.on('SIGINT', () => heard.interrupt());
    lines.on('close', () => {
      this.#detach(lines);
      heard.end();
    });
    this.#draw();
  }

  close(): void {
    const lines = this.#lines;
    if (!lines) return;
    this.#detach(lines);
    lines.removeAllListeners('close');
    lines.close();
  }

  /** From now on nothing is asked for; what is still printed stands below what was there. */
  #detach(lines: Interface): void {
    this.#lines = undefined;
    this.#goAbove(lines);
    (this.#streams.input as { unref?(): void }).unref?.();
  }

  print(text: string): void {
    if (this.#lines) this.#goAbove(this.#lines);
    this.#streams.output.write(`${text}\n`);
    this.#draw();
  }

  note(text: string): void {
    this.print(this.style('dim', text));
  }

  show(lines: readonly string[], prompt: string): void {
    if (prompt === this.#prompt && lines.join('\n') === this.#live.join('\n')) return;
    this.#live = lines;
    this.#prompt = prompt;
    this.#draw();
  }

  clearTyped(): boolean {
    if (!this.#lines?.line) return false;
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    return true;
  }

  #draw(): void {
    this.#lines?.setPrompt([...this.#live, this.#prompt].join('\n'));
    this.#lines?.prompt(true);
  }

  #goAbove(lines: Interface): void {
    this.#erase(lines.getCursorPos().rows);
    this.#drawn(lines).prevRows = 0;
  }

  /** `readline` has ended the line; what was shown above it was not meant to stay. */
  #leaveOnlyTyped(lines: Interface, typed: string): void {
    Object.assign(this.#drawn(lines), { line: typed, cursor: typed.length });
    const { rows } = lines.getCursorPos();
    Object.assign(this.#drawn(lines), { line: '', cursor: 0, prevRows: 0 });
    this.#erase(rows + 1);
    this.#streams.output.write(`${this.#prompt}${shownText(typed)}\n`);
    this.#draw();
  }

  #erase(rowsUp: number): void {
    const { output } = this.#streams;
    moveCursor(output, 0, -rowsUp);
    cursorTo(output, 0);
    clearScreenDown(output);
  }

  #drawn(lines: Interface): Drawn {
    return lines as unknown as Drawn;
  }
}
