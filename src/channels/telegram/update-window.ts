import { settlesWithin } from '../../lib/deadline.ts';

/**
 * Which updates were given to us and not yet confirmed. Telegram knows one number: everything below it is confirmed. So what is accepted
 * above something that is not waits for it.
 */
export class UpdateWindow {
  /** By number: whether it was accepted. */
  readonly #updates = new Map<number, boolean>();
  #listener: (() => void) | undefined;

  /** Those that were not accepted yet. */
  get open(): number[] {
    return [...this.#updates].filter(([, isAccepted]) => !isAccepted).map(([id]) => id);
  }

  /** False for one that is being handled, or was and is not yet confirmed. */
  begin(id: number): boolean {
    if (this.#updates.has(id)) return false;
    this.#updates.set(id, false);
    return true;
  }

  accepted(id: number): void {
    if (!this.#updates.has(id)) return;
    this.#updates.set(id, true);
    if (!this.isHeld) this.#listener?.();
  }

  /** Whether anything is not accepted. */
  get isHeld(): boolean {
    return [...this.#updates.values()].includes(false);
  }

  /**
   * The next offset, which confirms everything below it. undefined when there is nothing to confirm: numbers may begin anew below the last ones
   * when a bot was silent for a week.
   */
  get offset(): number | undefined {
    if (this.#updates.size === 0) return undefined;
    const held = this.open;
    return held.length > 0 ? Math.min(...held) : Math.max(...this.#updates.keys()) + 1;
  }

  /** Telegram has answered to this offset. */
  confirmed(offset: number | undefined): void {
    if (offset === undefined) return;
    for (const id of this.#updates.keys()) if (id < offset) this.#updates.delete(id);
  }

  /** Resolves when everything is accepted, and at the latest after this time or with the signal. */
  async settled(maxMs: number, signal: AbortSignal): Promise<void> {
    if (!this.isHeld) return;
    const accepted = Promise.withResolvers<void>();
    this.#listener = accepted.resolve;
    await settlesWithin({ ms: maxMs, signal }, accepted.promise);
    this.#listener = undefined;
  }
}
