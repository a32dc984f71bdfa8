import { backoffMs } from '../../lib/backoff.ts';

/** Turns without a message of a person that begin without a delay. */
const freeTurns = 3;
const gaps = { firstMs: 30_000, maxMs: 30 * 60_000 };

/** Slows down an agent whose own background processes keep starting turns while no person writes. */
export class UnattendedPace {
  #turns = 0;
  #lastAt = 0;
  #timer: NodeJS.Timeout | undefined;

  get isAtRest(): boolean {
    return this.#timer === undefined;
  }

  /** A person has written: the count starts again. */
  attended(): void {
    this.stop();
    this.#turns = 0;
  }

  /** Whether one may begin now, which then counts. `later` is called when it may. */
  mayBegin(later: () => void): boolean {
    const gapMs = this.#turns < freeTurns ? 0 : backoffMs(this.#turns - freeTurns + 1, gaps);
    const waitMs = this.#lastAt + gapMs - Date.now();
    if (waitMs > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        later();
      }, waitMs);
      return false;
    }
    this.#turns += 1;
    this.#lastAt = Date.now();
    return true;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
