import { setTimeout as sleep } from 'node:timers/promises';
import { Lane } from '../lib/lanes.ts';

/** Then others have their turn. */
const sliceMs = 2;
/** So many times as long as it has worked. */
const restFactor = 3;
/** Of one piece of work, without its rests. */
const defaultMaxMs = 2_000;

/** Security: work that one sandbox causes, which takes at most a quarter of the thread's time: one piece after the other, with rests. */
export class PacedWork {
  readonly #lane = new Lane();
  readonly #maxMs: number;
  #restsUntil = 0;

  constructor(maxMs = defaultMaxMs) {
    this.#maxMs = maxMs;
  }

  /** The result of the work, which yields often; undefined when it takes too long, or is not wanted any more when its turn comes. */
  async run<Result>(work: () => Generator<undefined, Result>, isWanted = () => true): Promise<Result | undefined> {
    return await this.#lane.run(async () => {
      if (!isWanted()) return undefined;
      const steps = work();
      for (let worked = 0; worked < this.#maxMs; ) {
        await this.#rest();
        const begun = performance.now();
        let step = steps.next();
        while (!step.done && performance.now() - begun < sliceMs) step = steps.next();
        const took = performance.now() - begun;
        worked += took;
        this.#restsUntil = begun + took * (1 + restFactor);
        if (step.done) return step.value;
      }
      steps.return(undefined as never);
      return undefined;
    });
  }

  async #rest(): Promise<void> {
    const ms = this.#restsUntil - performance.now();
    if (ms > 0) await sleep(Math.ceil(ms));
  }
}
