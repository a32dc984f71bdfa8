/**
 * Divides the one thread between many that have something to do at the same time: they go on, in the order in which they came, for a short
 * time in each round of the event loop; then timers and sockets have their turn.
 */
export class ShortTurns {
  readonly #maxMs: number;
  readonly #now: () => number;
  /** The first may have its turn already, and has not begun. */
  readonly #waiting: (() => void)[] = [];
  /** When this round's work began; undefined when none has. */
  #begunAt: number | undefined;

  constructor(maxMs = 2, now = (): number => performance.now()) {
    this.#maxMs = maxMs;
    this.#now = now;
  }

  /** Resolves, or is undefined, when the caller may begin, at once. One that asks again comes after all that wait. */
  turn(): Promise<void> | undefined {
    this.#begunAt ??= this.#beginRound();
    if (this.#waiting.length === 0 && this.#hasTime()) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async run<Result>(work: () => Result): Promise<Result> {
    const turn = this.turn();
    if (turn !== undefined) await turn;
    return work();
  }

  #hasTime(): boolean {
    return this.#begunAt !== undefined && this.#now() - this.#begunAt < this.#maxMs;
  }

  #beginRound(): number {
    setImmediate(() => {
      this.#begunAt = undefined;
      if (this.#waiting.length === 0) return;
      this.#begunAt = this.#beginRound();
      this.#goOn();
    });
    return this.#now();
  }

  #goOn(): void {
    this.#waiting[0]?.();
    // It begins before this, so the time that it takes counts.
    queueMicrotask(() => {
      this.#waiting.shift();
      if (this.#waiting.length > 0 && this.#hasTime()) this.#goOn();
    });
  }
}
