/** A line that goes on for longer is passed on in pieces. */
const maxHeld = 16 * 1024;
const longestOrder = 64;

/** Every character that is an order, not a sign, but for the tab and the end of a line. */
const control = /[^\P{Cc}\t\n]/u;
const controls = new RegExp(control, 'gu');

const escapeSign = '\\u001b';
const bell = '\\u0007';
/** Each is one sign, and means the same as the escape sign and a letter. */
const textBegins = '\\u0090\\u0098\\u009d-\\u009f';
const parametersBegin = '\\u009b';
const textEnds = '\\u009c';

/**
 * Orders to a terminal: a text for it up to its end, one with parameters, a short one. Security: none is looked for past the next one, so
 * that what is no order at all takes no longer.
 */
const orders = new RegExp(
  [
    `(?:${escapeSign}[\\]PX^_]|[${textBegins}])[^\\n${bell}${escapeSign}${textBegins}${parametersBegin}${textEnds}]*(?:${bell}|${escapeSign}\\\\|${textEnds})`,
    `(?:${escapeSign}\\[|${parametersBegin})[0-?]*[ -/]*[@-~]`,
    `${escapeSign}[ -/]*[0-~]`,
  ].join('|'),
  'g',
);

/**
 * Turns what a program prints at a terminal into what a person would have read there: without colours and other orders to the terminal,
 * and with a progress bar as the one line it ended as. Takes text in any pieces and gives whole lines.
 */
export class TerminalText {
  #held = '';

  push(text: string): string {
    this.#held += text;
    const end = this.#held.lastIndexOf('\n') + 1;
    const lines = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    if (this.#held.length > maxHeld) this.#shorten();
    // An order to the terminal that has only begun is not cut in two.
    if (this.#held.length <= maxHeld) return plainText(lines);
    const begun = this.#held.lastIndexOf('\u001b');
    const cut = begun > this.#held.length - longestOrder ? begun : this.#held.length;
    const rest = this.#held.slice(0, cut);
    this.#held = this.#held.slice(cut);
    return plainText(lines + rest);
  }

  /** The rest, at the end of the text. */
  end(): string {
    const rest = plainText(this.#held);
    this.#held = '';
    return rest;
  }

  /** Drops text that was overwritten. */
  #shorten(): void {
    const overwritten = this.#held.lastIndexOf('\r', this.#held.length - 2);
    if (overwritten !== -1) this.#held = this.#held.slice(overwritten + 1);
  }
}

/** The same for a text that is there as a whole. */
export function plainText(text: string): string {
  if (!control.test(text)) return text;
  const lines = text.replaceAll(orders, '').split('\n');
  return lines.map(lastWritten).join('\n').replaceAll(controls, '');
}

/** A line as a terminal shows it, after its parts were written over each other. */
function lastWritten(line: string): string {
  const whole = line.endsWith('\r') ? line.slice(0, -1) : line;
  let shown = whole;
  if (whole.includes('\r')) {
    shown = '';
    // From the last: of what was there before, only what stands out beyond it is still seen.
    for (const part of whole.split('\r').reverse()) shown += part.slice(shown.length);
  }
  return shown.includes('\b') ? withoutErased(shown) : shown;
}

/** A backspace takes the character before it away. */
function withoutErased(line: string): string {
  const kept: string[] = [];
  for (const character of line) {
    if (character === '\b') kept.pop();
    else kept.push(character);
  }
  return kept.join('');
}
