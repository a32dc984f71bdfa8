import { hostBash } from './guest-files.ts';
import { type Program, type Starter, starterOf } from './program-starter.ts';

/** How many there are while none of them keeps programs waiting, and how many are kept at most. */
const usualStarters = 2;
const maxIdle = 4;
/** How many more there are after each `stuckMs`, and at most: starting them stops this process as well. */
const growth = 4;
const maxBusy = 40;
/** Security: programs that take long, as where there are very many files, must not hold up those of others. */
const stuckMs = 200;
const deadlineMs = 1_000;
const idleMs = 60_000;
/** As bash says it. */
const notStarted: ReadonlySet<number> = new Set([126, 127]);

/** Small processes that start programs, kept for those that run often. */
export class Programs {
  /** The one that was used last comes first. */
  readonly #idle: Starter[] = [];
  /** In the order in which they came. */
  readonly #waiting: { since: number; turn: PromiseWithResolvers<Starter> }[] = [];
  #busy = 0;
  /** When one was free again. */
  #movedAt = 0;
  /** What starters run, once one was asked for. */
  #script = '';
  #growing: NodeJS.Timeout | undefined;
  #resting: NodeJS.Timeout | undefined;

  /**
   * Runs a program to its end, and resolves with its exit code. Starting it from here would stop this process for as long as the kernel takes to copy
   * the tables of all of its memory. Rejects when it takes too long.
   */
  async run(program: Program): Promise<number> {
    this.#script ||= await hostBash('start-programs');
    const starter = await this.#take();
    try {
      const code = await starter.run(program);
      if (notStarted.has(code)) throw new Error(`${program.words[0]} could not be started: it is missing, or may not be run.`);
      return code;
    } finally {
      this.#giveBack(starter);
    }
  }

  async #take(): Promise<Starter> {
    for (let idle = this.#idle.shift(); idle; idle = this.#idle.shift()) if (!idle.hasEnded) return this.#occupied(idle);
    if (this.#busy < usualStarters) return this.#occupied(starterOf(this.#script));
    const turn = Promise.withResolvers<Starter>();
    this.#waiting.push({ since: performance.now(), turn });
    this.#growing ??= setInterval(() => this.#grow(), stuckMs);
    return await turn.promise;
  }

  /** A few more when some have waited while none came free for a while, or for too long. */
  #grow(): void {
    const now = performance.now();
    const isDue = (since: number): boolean => now - Math.max(since, this.#movedAt) >= stuckMs || now - since >= deadlineMs;
    for (let more = 0; more < growth && this.#busy < maxBusy && this.#waiting[0] && isDue(this.#waiting[0].since); more++) this.#next();
    this.#growNoMore();
  }

  /** The first that waits goes on. */
  #next(starter = starterOf(this.#script)): void {
    this.#waiting.shift()?.turn.resolve(this.#occupied(starter));
  }

  #growNoMore(): void {
    if (this.#waiting.length > 0) return;
    clearInterval(this.#growing);
    this.#growing = undefined;
  }

  #occupied(starter: Starter): Starter {
    this.#busy += 1;
    return starter;
  }

  #giveBack(starter: Starter): void {
    this.#busy -= 1;
    this.#movedAt = performance.now();
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.close(), idleMs).unref();
    if (this.#waiting.length > 0) this.#next(starter.hasEnded ? undefined : starter);
    else if (!starter.hasEnded && this.#idle.length < maxIdle) this.#idle.unshift(starter);
    else if (!starter.hasEnded) starter.close();
    this.#growNoMore();
  }

  /** Ends those that have nothing to do. */
  close(): void {
    for (const starter of this.#idle.splice(0)) starter.close();
  }
}

/** Of this process. */
export const programs = new Programs();
