import type { RateLimit, Saying } from '../../core/channel.ts';
import { KeptLimit } from './kept-limit.ts';

interface Turn {
  limits: readonly RateLimit[];
  begin(): void;
}

export interface TurnOptions {
  /** Gives the turn up. */
  signal: AbortSignal;
  /** Gives it up at once when the limits take it no sooner. */
  withinMs?: number | undefined;
}

/** The lowest go first. Signs do not wait. */
const ranks = { question: 0, notice: 0, message: 1, change: 1, draft: 2, growth: 3 } as const satisfies Partial<Record<Saying, number>>;

/** What waits for its turn. */
export type Waiting = keyof typeof ranks;
/** So much is handed to the platform at once. Less than it takes, so that nothing that has begun waits: after a kill it would count as in doubt. */
const usualUnderWay = 24;
/** Limits that are used no more are looked for when there are more than so many. */
const fewLimits = 100;
/**
 * By rank: this share of it. What shows progress leaves room for what lasts, and messages such as large files leave
 * some for questions.
 */
const shares = [1, 5 / 6, 1 / 2, 1 / 2] as const;

/**
 * Lets what is said to a platform begin no faster than its limits allow, and not more at once than it answers: questions first, then messages, then
 * what shows progress; of one kind in the order in which it came.
 */
export class Pace {
  /** Of each limit that is in use. */
  readonly #limits = new Map<string, KeptLimit>();
  /** By rank. */
  readonly #waiting = [new Set<Turn>(), new Set<Turn>(), new Set<Turn>(), new Set<Turn>()] as const;
  readonly #maxUnderWay: number;
  #underWay = 0;
  /** Something would begin if less was under way. */
  #isFull = false;
  #pruneAbove = fewLimits;
  #timer: NodeJS.Timeout | undefined;
  /** When what waits is looked at next. */
  #lookAt = Number.POSITIVE_INFINITY;

  constructor(maxUnderWay = usualUnderWay) {
    this.#maxUnderWay = maxUnderWay;
  }

  /** Resolves when it is its turn, which counts, and lasts until it is disposed of; with undefined when it was given up. */
  async turn(saying: Waiting, limits: readonly RateLimit[], { signal, withinMs }: TurnOptions): Promise<Disposable | undefined> {
    const now = performance.now();
    const waitMs = this.#waitMs(limits, now);
    if (signal.aborted || waitMs > (withinMs ?? Number.POSITIVE_INFINITY)) return undefined;
    const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
    const turn = { limits, begin: () => resolve({ [Symbol.dispose]: () => this.#end() }) };
    const queue = this.#waiting[ranks[saying]].add(turn);
    const leave = (): void => {
      if (queue.delete(turn)) resolve(undefined);
    };
    signal.addEventListener('abort', leave, { once: true });
    if (waitMs === 0) this.#look();
    else this.#lookIn(waitMs, now);
    return await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  get isHeldUp(): boolean {
    return this.#waiting.some(({ size }) => size > 0);
  }

  /** Counts it and resolves to true when it may begin at once, and nothing that waits may. */
  takeNow(limits: readonly RateLimit[]): boolean {
    if (this.isHeldUp && this.#waitMs(limits, performance.now()) === 0) this.#look();
    const now = performance.now();
    const isFree = this.#waitMs(limits, now) === 0;
    if (isFree) this.#count(limits, now);
    return isFree;
  }

  /** The platform has refused what counts towards these limits, and takes nothing at this place for so long. */
  refused(place: string, limits: readonly RateLimit[], ms: number): void {
    const now = performance.now();
    for (const limit of limits) this.#kept(limit).refused(place, now + ms, now);
    this.#prune(now);
  }

  #count(limits: readonly RateLimit[], now: number): void {
    for (const limit of limits) this.#kept(limit).count(now);
    this.#prune(now);
  }

  #kept(limit: RateLimit): KeptLimit {
    const kept = this.#limits.get(limit.of) ?? new KeptLimit(limit);
    this.#limits.set(limit.of, kept);
    return kept;
  }

  #prune(now: number): void {
    if (this.#limits.size <= this.#pruneAbove) return;
    for (const [of, limit] of this.#limits) if (limit.isRested(now)) this.#limits.delete(of);
    this.#pruneAbove = Math.max(fewLimits, 2 * this.#limits.size);
  }

  #end(): void {
    this.#underWay -= 1;
    if (this.#isFull) this.#look();
  }

  #look(): void {
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.#isFull = false;
    const now = performance.now();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [rank, queue] of this.#waiting.entries()) {
      for (const turn of queue) {
        if (this.#underWay >= this.#maxOf(rank)) {
          this.#isFull = true;
          break;
        }
        const waitMs = this.#waitMs(turn.limits, now);
        if (waitMs > 0) {
          soonestMs = Math.min(soonestMs, waitMs);
          continue;
        }
        queue.delete(turn);
        this.#underWay += 1;
        this.#count(turn.limits, now);
        turn.begin();
      }
    }
    if (soonestMs < Number.POSITIVE_INFINITY) this.#lookIn(soonestMs, now);
  }

  #maxOf(rank: number): number {
    return this.#maxUnderWay * (shares[rank] ?? 0);
  }

  #lookIn(waitMs: number, now: number): void {
    if (now + waitMs >= this.#lookAt) return;
    clearTimeout(this.#timer);
    this.#lookAt = now + waitMs;
    this.#timer = setTimeout(() => this.#look(), Math.ceil(waitMs)).unref();
  }

  #waitMs(limits: readonly RateLimit[], now: number): number {
    return Math.max(0, ...limits.map((limit) => this.#limits.get(limit.of)?.waitMs(now) ?? 0));
  }
}
