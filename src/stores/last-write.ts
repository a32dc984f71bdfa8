import { isStoreFault } from '../core/set-aside.ts';

/** Whether a database takes writes: the outcome of the last one. */
export class LastWrite {
  readonly #now: () => number;
  #failure: Error | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;
  #trying: Promise<void> | undefined;

  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** A write has ended. What was wrong with the write itself says nothing about the database. */
  ended(error?: unknown): void {
    if (error === undefined || isStoreFault(error)) this.#know(error);
  }

  #know(failure: unknown): void {
    this.#failure = failure as Error | undefined;
    this.#endedAt = this.#now();
  }

  /**
   * Why writes fail. When the last one is older than this, `write` tries one, with which nothing is wrong; callers at
   * the same time share it. Never rejects.
   */
  async failure(maxAgeMs: number, write: () => Promise<unknown>): Promise<Error | undefined> {
    if (this.#now() - this.#endedAt > maxAgeMs) {
      this.#trying ??= write()
        .then(
          () => this.#know(undefined),
          (error: unknown) => this.#know(error),
        )
        .finally(() => {
          this.#trying = undefined;
        });
      await this.#trying;
    }
    return this.#failure;
  }
}
