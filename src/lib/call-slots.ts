/** At most so many at once; the others wait in the order in which they came. */
export class CallSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether one that comes now would have to wait. */
  get isFull(): boolean {
    return this.#free === 0;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next one that waits takes over the slot.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
