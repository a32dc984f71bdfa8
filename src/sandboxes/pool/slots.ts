/** Tells a waiting caller how many are before it, whenever that changes. */
export type PlaceListener = (place: number) => void;

interface Waiting {
  tell: PlaceListener;
  admit(): void;
}

/** A number of places, given out in the order in which they were asked for. */
export class Slots {
  readonly #max: number;
  readonly #queue: Waiting[] = [];
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Negative when more places are taken than there are. */
  get free(): number {
    return this.#max - this.#taken;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Takes a place for a sandbox that runs already, also when none is left. */
  occupy(): () => void {
    this.#taken += 1;
    return this.#giveBack();
  }

  /** Resolves with the function that gives the place back, which may be called more than once. Rejects when the signal comes first. */
  async take(tell: PlaceListener, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.free > 0 && this.#queue.length === 0) this.#taken += 1;
    else await this.#wait(tell, signal);
    return this.#giveBack();
  }

  #giveBack(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken -= 1;
      this.#admitNext();
    };
  }

  #wait(tell: PlaceListener, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        const place = this.#queue.indexOf(waiting);
        if (place !== -1) this.#queue.splice(place, 1);
        this.#tellPlaces(place);
        reject(signal?.reason);
      };
      const admit = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const waiting = { tell, admit };
      signal?.addEventListener('abort', leave, { once: true });
      this.#queue.push(waiting);
      tell(this.#queue.length);
    });
  }

  #admitNext(): void {
    const next = this.free > 0 ? this.#queue.shift() : undefined;
    if (!next) return;
    this.#taken += 1;
    next.admit();
    this.#tellPlaces(0);
  }

  #tellPlaces(from: number): void {
    for (const [index, { tell }] of this.#queue.entries()) if (index >= from) tell(index + 1);
  }
}
