/** Runs tasks one after the other, in the order in which they come. A task that rejects does so for its caller; the next one runs all the same. */
export class Lane {
  #last: Promise<void> = Promise.resolve();
  #count = 0;

  async run<Result>(task: () => Promise<Result> | Result): Promise<Result> {
    this.#count += 1;
    const result = this.#last.then(task);
    const leave = (): void => {
      this.#count -= 1;
    };
    this.#last = result.then(leave, leave);
    return await result;
  }

  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (!this.isIdle) await this.#last;
  }
}

/** Lanes by key: tasks of one key run one after the other, and those of different keys side by side. */
export class Lanes<Key> {
  readonly #lanes = new Map<Key, Lane>();

  async run<Result>(key: Key, task: () => Promise<Result> | Result): Promise<Result> {
    const lane = this.#lanes.get(key) ?? new Lane();
    this.#lanes.set(key, lane);
    try {
      return await lane.run(task);
    } finally {
      if (lane.isIdle) this.#lanes.delete(key);
    }
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.idle()));
  }
}
