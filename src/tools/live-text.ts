/** A line that goes on for longer is shown before its end. */
const mostHeld = 16 * 1024;

/**
 * Passes text on in whole lines, so that a secret that arrives in two pieces is still seen as one before anybody sees it.
 */
export class LiveText {
  readonly #redact: (text: string) => string;
  readonly #emit: (text: string) => void;
  #held = '';

  constructor(redact: (text: string) => string, emit: (text: string) => void) {
    this.#redact = redact;
    this.#emit = emit;
  }

  push(text: string): void {
    this.#held += text;
    const end = this.#held.length > mostHeld ? this.#lastSpace() : Math.min(this.#held.lastIndexOf('\n') + 1, this.#keyStart());
    if (end > 0) this.#pass(end);
  }

  end(): void {
    if (this.#held !== '') this.#pass(this.#held.length);
  }

  #lastSpace(): number {
    return this.#held.search(/\s\S*$/) + 1 || this.#held.length;
  }

  /** Where a private key begins that has not ended yet: the one secret with several lines. */
  #keyStart(): number {
    const start = this.#held.lastIndexOf('-----BEGIN ');
    return start === -1 || this.#held.indexOf('-----END ', start) !== -1 ? Number.POSITIVE_INFINITY : start;
  }

  #pass(end: number): void {
    const text = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    this.#emit(this.#redact(text));
  }
}
