import { collectAllGarbage } from './garbage.ts';

/** Less than this is not worth a pause. */
const minGrowthBytes = 32 * 1024 * 1024;

interface IdleMemoryOptions {
  residentBytes(): number;
  collect(): void;
}

const own: IdleMemoryOptions = { residentBytes: () => process.memoryUsage.rss(), collect: collectAllGarbage };

/** Gives back the memory that work has taken, some time after the work. */
export class IdleMemory {
  readonly #options: IdleMemoryOptions;
  #wasIdle = false;
  /** After the last collection. There is one soon after the start, which takes much memory as well. */
  #restingBytes = 0;

  constructor(options = own) {
    this.#options = options;
  }

  /** To be called every few seconds. */
  look(isIdle: boolean): void {
    const { residentBytes, collect } = this.#options;
    const isResting = isIdle && this.#wasIdle;
    this.#wasIdle = isIdle;
    if (!isResting || residentBytes() < this.#restingBytes + minGrowthBytes) return;
    collect();
    this.#restingBytes = residentBytes();
  }
}
