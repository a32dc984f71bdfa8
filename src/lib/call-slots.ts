/** At most so many at once; the others wait in the order in which they came. */
export class CallSlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether one that comes now would have to wait. */
  get isFull(): boolean {
    return this.#free === 0;
  }

  /** Rejects with the reason of `signal`, and never begins the work, when that aborts before the work has begun. */
  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      // It may have been aborted since it got its slot.
      signal?.throwIfAborted();
      return await work();
    } finally {
      // The next one that waits takes over the slot.
      const [next] = this.#waiting;
      if (next) {
        this.#waiting.delete(next);
        next();
      } else this.#free += 1;
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      // One that has its slot already keeps it.
      if (this.#waiting.delete(resolve)) reject(signal?.reason);
    };
    this.#waiting.add(resolve);
    signal?.addEventListener('abort', leave, { once: true });
    await promise.finally(() => signal?.removeEventListener('abort', leave));
  }
}
