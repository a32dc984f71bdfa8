import type { RateLimit } from '../../core/channel.ts';
import { Spacing } from '../../lib/spacing.ts';

/** Refusals at so many places at once are about what the places have in common. */
const manyRefusals = 3;

/** A limit that is in use: what has counted towards it, and where the platform has refused what would. */
export class KeptLimit {
  readonly #spacing: Spacing;
  /** By place. */
  readonly #refusedUntil = new Map<string, number>();
  #pausedUntil = 0;

  constructor(limit: RateLimit) {
    this.#spacing = new Spacing(limit);
  }

  /** In how long the next may come; 0 or less is now. */
  waitMs(now: number): number {
    return Math.max(this.#spacing.waitMs(now), this.#pausedUntil - now);
  }

  count(now: number): void {
    this.#spacing.count(now);
  }

  /**
   * The platform takes nothing at this place until then. The place waits by itself; when it is so at several, the
   * others wait as well.
   */
  refused(place: string, until: number, now: number): void {
    this.#forgetRefusals(now);
    this.#refusedUntil.set(place, until);
    if (this.#refusedUntil.size < manyRefusals) return;
    this.#pausedUntil = Math.max(this.#pausedUntil, Math.min(...this.#refusedUntil.values()));
    this.#refusedUntil.clear();
  }

  /** Whether it is as if nothing had come. */
  isRested(now: number): boolean {
    this.#forgetRefusals(now);
    return this.#spacing.isRested(now) && this.#refusedUntil.size === 0 && this.#pausedUntil <= now;
  }

  #forgetRefusals(now: number): void {
    for (const [place, until] of this.#refusedUntil) if (until <= now) this.#refusedUntil.delete(place);
  }
}
