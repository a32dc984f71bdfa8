import { setTimeout as delay } from 'node:timers/promises';

/** Keeps edits in one chat apart: in groups Telegram takes fewer of them than `editEveryMs` says. */
export class EditPace {
  readonly #apartMs: number;
  readonly #now: () => number;
  /** When the next one may happen. */
  readonly #free = new Map<string, number>();

  constructor(apartMs: number, now: () => number = Date.now) {
    this.#apartMs = apartMs;
    this.#now = now;
  }

  /** How long an edit has to wait, if it is going to happen. */
  reserve(chat: string): number {
    const now = this.#now();
    for (const [other, free] of this.#free) if (free <= now) this.#free.delete(other);
    const turn = Math.max(now, this.#free.get(chat) ?? 0);
    this.#free.set(chat, turn + this.#apartMs);
    return turn - now;
  }

  /** Rejects with the reason of the signal. */
  async wait(chat: string, signal: AbortSignal | undefined): Promise<void> {
    const ms = this.reserve(chat);
    if (ms > 0) await delay(ms, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}
