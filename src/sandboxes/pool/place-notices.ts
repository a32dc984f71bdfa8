/**
 * Tells a place in the queue: the first at once, a changed one after a pause, so that places which pass quickly are not told.
 */
export class PlaceNotices {
  readonly #tell: (place: number) => void;
  readonly #everyMs: number;
  #told: number | undefined;
  #place = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (place: number) => void, everyMs: number) {
    this.#tell = tell;
    this.#everyMs = everyMs;
  }

  /** Whether anything was told. */
  get isWaiting(): boolean {
    return this.#told !== undefined;
  }

  changed(place: number): void {
    this.#place = place;
    if (this.#timer === undefined) this.#now();
  }

  #now(): void {
    this.#timer = undefined;
    if (this.#told === this.#place) return;
    this.#told = this.#place;
    this.#tell(this.#place);
    this.#timer = setTimeout(() => this.#now(), this.#everyMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
