import { followTrace, type TraceArea, traceAreas } from '../core/trace.ts';
import { printable } from '../lib/printable.ts';

const maxLine = 500;

/** Writes changes of state as lines, for the areas of `log.trace`. */
export class TraceLog {
  readonly #redact: (text: string) => string;
  readonly #write: (line: string) => void;
  readonly #followed = new Map<TraceArea, () => void>();

  constructor(redact: (text: string) => string, write: (line: string) => void) {
    this.#redact = redact;
    this.#write = write;
  }

  /** From now on these areas and no others. */
  follow(areas: readonly TraceArea[]): void {
    for (const area of traceAreas) {
      const isWanted = areas.includes(area);
      const stop = this.#followed.get(area);
      if (isWanted === (stop !== undefined)) continue;
      stop?.();
      if (isWanted) this.#followed.set(area, this.#followedBy(area));
      else this.#followed.delete(area);
    }
  }

  stop(): void {
    this.follow([]);
  }

  #followedBy(area: TraceArea): () => void {
    return followTrace(area, ({ subject, change }) => {
      const time = new Date().toISOString();
      // Security: names of hosts and reasons of failures come from inside sandboxes.
      const text = printable(this.#redact(`${subject}: ${change}`)).slice(0, maxLine);
      this.#write(`${time} trace ${area} ${text}`);
    });
  }
}
