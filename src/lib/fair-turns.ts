/** How long heavy work goes on before everybody else has a turn. */
const sliceMs = 1;
/** Bytes a light reader may take without waiting for heavy ones, and how soon it may again. */
const freeBytes = 32 * 1024;
const freeBytesPerMs = 320;

/**
 * Divides the one thread between those who have much to read. Each goes on for a moment; then timers and other streams have their turn, and
 * then the next of those who wait, one in each round of the event loop.
 */
export class FairTurns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** When this round's work began; undefined when none has. */
  #begunAt: number | undefined;

  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** One that reads. Resolves, or is undefined, when it may handle so many bytes. */
  reader(): (bytes: number) => Promise<void> | undefined {
    let free = freeBytes;
    let refilledAt = this.#now();
    return (bytes) => {
      const now = this.#now();
      free = Math.min(freeBytes, free + (now - refilledAt) * freeBytesPerMs);
      refilledAt = now;
      if (bytes <= free) {
        free -= bytes;
        return undefined;
      }
      return this.#turn(now);
    };
  }

  #turn(now: number): Promise<void> | undefined {
    this.#begin(now);
    if (this.#waiting.length === 0 && now - (this.#begunAt ?? now) < sliceMs) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #begin(now: number): void {
    if (this.#begunAt !== undefined) return;
    this.#begunAt = now;
    setImmediate(() => this.#nextRound());
  }

  #nextRound(): void {
    this.#begunAt = undefined;
    const next = this.#waiting.shift();
    if (!next) return;
    this.#begin(this.#now());
    next();
  }
}

/** Of this process. */
export const fairTurns = new FairTurns();
