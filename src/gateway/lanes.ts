/** Runs tasks of one name one after the other, and those of different names side by side. */
export class Lanes {
  readonly #last = new Map<string, Promise<void>>();

  /** A task that rejects is its caller's matter; the next one runs all the same. */
  async run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const result = before.then(task);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(name, settled);
    void settled.then(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    });
    return await result;
  }

  get isIdle(): boolean {
    return this.#last.size === 0;
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
