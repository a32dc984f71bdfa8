/** One each `everyMs`, and after a rest `burst` at once. */
export class Spacing {
  readonly #everyMs: number;
  readonly #burst: number;
  #restedAt = 0;

  constructor({ everyMs, burst }: { everyMs: number; burst: number }) {
    this.#everyMs = everyMs;
    this.#burst = burst;
  }

  /** In how long the next may come; 0 or less is now. */
  waitMs(now: number): number {
    return this.#restedAt - (this.#burst - 1) * this.#everyMs - now;
  }

  count(now: number): void {
    this.#restedAt = Math.max(now, this.#restedAt) + this.#everyMs;
  }

  /** Whether it is as if nothing had come. */
  isRested(now: number): boolean {
    return this.#restedAt <= now;
  }
}
