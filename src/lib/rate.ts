const maxKeys = 10_000;

/** So many each minute for every key, and as many at once after a pause. */
export class Rate {
  readonly #perMinute: number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** 0 when there is one left, which is taken; else in how many seconds there will be. */
  take(key: string): number {
    const wait = this.#waitFor(key);
    const bucket = this.#buckets.get(key);
    if (wait === 0 && bucket) bucket.left -= 1;
    return wait;
  }

  #waitFor(key: string): number {
    const now = Date.now();
    const { left, at } = this.#buckets.get(key) ?? { left: this.#perMinute, at: now };
    const refilled = Math.min(this.#perMinute, left + ((now - at) / 60_000) * this.#perMinute);
    if (this.#buckets.size >= maxKeys && !this.#buckets.has(key)) this.#buckets.clear();
    this.#buckets.set(key, { left: refilled, at: now });
    return refilled >= 1 ? 0 : Math.ceil(((1 - refilled) / this.#perMinute) * 60);
  }
}
