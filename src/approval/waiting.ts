import { settlesWithin } from '../lib/deadline.ts';

/** How often the database is read, because the answer may come through another process. */
const glanceMs = 250;

export interface Waiter {
  /** Looks at once. */
  wake(): void;
  /** The next nap rejects with this. */
  fail(error: unknown): void;
  /** Until it is time to look again: at most so long, and until the signal comes. */
  nap(maxMs: number, signal: AbortSignal): Promise<void>;
}

/** The questions for whose answers this process waits. */
export class Waiting {
  readonly #waiters = new Map<string, Waiter>();

  has(id: string): boolean {
    return this.#waiters.has(id);
  }

  enter(id: string): Waiter {
    let turn = Promise.withResolvers<void>();
    // A failure counts whether or not a nap is under way.
    turn.promise.catch(() => undefined);
    const waiter: Waiter = {
      wake: () => turn.resolve(),
      fail: (error) => turn.reject(error),
      nap: async (maxMs, signal) => {
        await settlesWithin({ ms: Math.min(glanceMs, Math.max(maxMs, 1)), signal }, turn.promise);
        turn = Promise.withResolvers();
        turn.promise.catch(() => undefined);
      },
    };
    this.#waiters.set(id, waiter);
    return waiter;
  }

  leave(id: string): void {
    this.#waiters.delete(id);
  }

  wake(id: string): void {
    this.#waiters.get(id)?.wake();
  }
}
