import type { RateLimit, Saying } from '../../core/channel.ts';
import { Spacing } from '../../lib/spacing.ts';

interface Turn {
  limits: readonly RateLimit[];
  begin(): void;
}

/** The lowest go first. Signs do not wait. */
const ranks = { question: 0, message: 1, change: 1, draft: 2, growth: 3 } as const satisfies Partial<Record<Saying, number>>;

/** What waits for its turn. */
export type Waiting = keyof typeof ranks;
/** Limits that are used no more are looked for when there are more than so many. */
const fewLimits = 100;

/**
 * Lets what is said to a platform begin no faster than its limits allow: questions first, then messages, then what shows
 * progress; of one kind in the order in which it came.
 */
export class Pace {
  /** Of each limit that is in use. */
  readonly #spacings = new Map<string, Spacing>();
  /** By rank. */
  readonly #waiting = [new Set<Turn>(), new Set<Turn>(), new Set<Turn>(), new Set<Turn>()] as const;
  #pruneAbove = fewLimits;
  #timer: NodeJS.Timeout | undefined;
  /** When what waits is looked at next. */
  #lookAt = Number.POSITIVE_INFINITY;

  /** Resolves when it is its turn, which counts. False when the signal comes first. */
  async turn(saying: Waiting, limits: readonly RateLimit[], signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (limits.length === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const turn = { limits, begin: () => resolve(true) };
    const queue = this.#waiting[ranks[saying]].add(turn);
    const leave = (): void => {
      if (queue.delete(turn)) resolve(false);
    };
    signal.addEventListener('abort', leave, { once: true });
    const now = performance.now();
    const waitMs = this.#waitMs(limits, now);
    if (waitMs === 0) this.#look();
    else this.#lookIn(waitMs, now);
    return await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  get isHeldUp(): boolean {
    return this.#waiting.some(({ size }) => size > 0);
  }

  /** Counts it and resolves to true when it may begin at once. */
  takeNow(limits: readonly RateLimit[]): boolean {
    const now = performance.now();
    const isFree = this.#waitMs(limits, now) <= 0;
    if (isFree) this.count(limits, now);
    return isFree;
  }

  /** Counts what waits for nobody. */
  count(limits: readonly RateLimit[], now = performance.now()): void {
    for (const limit of limits) {
      const spacing = this.#spacings.get(limit.of) ?? new Spacing(limit);
      this.#spacings.set(limit.of, spacing);
      spacing.count(now);
    }
    if (this.#spacings.size <= this.#pruneAbove) return;
    for (const [of, spacing] of this.#spacings) if (spacing.isRested(now)) this.#spacings.delete(of);
    this.#pruneAbove = Math.max(fewLimits, 2 * this.#spacings.size);
  }

  #look(): void {
    this.#lookAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const queue of this.#waiting) {
      for (const turn of queue) {
        const waitMs = this.#waitMs(turn.limits, now);
        if (waitMs > 0) {
          soonestMs = Math.min(soonestMs, waitMs);
          continue;
        }
        queue.delete(turn);
        this.count(turn.limits, now);
        turn.begin();
      }
    }
    if (soonestMs < Number.POSITIVE_INFINITY) this.#lookIn(soonestMs, now);
  }

  #lookIn(waitMs: number, now: number): void {
    if (now + waitMs >= this.#lookAt) return;
    clearTimeout(this.#timer);
    this.#lookAt = now + waitMs;
    this.#timer = setTimeout(() => this.#look(), Math.ceil(waitMs)).unref();
  }

  #waitMs(limits: readonly RateLimit[], now: number): number {
    return Math.max(0, ...limits.map((limit) => this.#spacings.get(limit.of)?.waitMs(now) ?? 0));
  }
}
