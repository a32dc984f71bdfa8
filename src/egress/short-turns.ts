import { setImmediate as nextRound } from 'node:timers/promises';
import { Lane } from '../lib/lanes.ts';

/** Then timers and sockets have their turn. */
const maxMs = 2;

/** Short pieces of work, one after the other: those of many who have much to do in turn, and never long without a rest for everything else. */
export class ShortTurns {
  readonly #lane = new Lane();
  readonly #now: () => number;
  #begunAt = 0;

  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** A caller that asks again comes after all that wait. */
  async run<Result>(work: () => Result): Promise<Result> {
    return await this.#lane.run(async () => {
      if (this.#now() - this.#begunAt >= maxMs) {
        await nextRound();
        this.#begunAt = this.#now();
      }
      return work();
    });
  }
}
