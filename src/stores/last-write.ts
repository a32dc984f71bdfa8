import type { HermeticError } from '../core/errors.ts';
import { isStoreFault } from '../core/set-aside.ts';

/** Whether a database takes writes: the outcome of the last one. */
export class LastWrite {
  readonly #now: () => number;
  #failure: HermeticError | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;
  #trying: Promise<void> | undefined;

  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** A write has ended. What was wrong with the write itself says nothing about the database. */
  ended(error?: unknown): void {
    if (error !== undefined && !isStoreFault(error)) return;
    this.#failure = error as HermeticError | undefined;
    this.#endedAt = this.#now();
  }

  /**
   * Why writes fail. When the last one is older than this, `write` tries one; callers at the same time share it. Never
   * rejects.
   */
  async failure(maxAgeMs: number, write: () => Promise<unknown>): Promise<HermeticError | undefined> {
    if (this.#now() - this.#endedAt > maxAgeMs) {
      this.#trying ??= write()
        .then(
          () => this.ended(),
          (error: unknown) => this.ended(error),
        )
        .finally(() => {
          this.#trying = undefined;
        });
      await this.#trying;
    }
    return this.#failure;
  }
}
