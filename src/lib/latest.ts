const defaultMax = 1_000;

export interface LatestOptions<Value> {
  max?: number;
  /** Whether an entry must be kept now, however long ago it was asked for. */
  isNeeded?(value: Value): boolean;
}

/**
 * A bounded map: keeps the values that were last used. An older value can still be found while other code holds it, so that no name ever has two
 * values.
 */
export class Latest<Value extends object> {
  readonly #max: number;
  readonly #isNeeded: (value: Value) => boolean;
  /** In the order in which they were last asked for. */
  readonly #kept = new Map<string, Value>();
  readonly #others = new Map<string, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<string>((name) => {
    if (this.#others.get(name)?.deref() === undefined) this.#others.delete(name);
  });

  constructor({ max = defaultMax, isNeeded = () => false }: LatestOptions<Value> = {}) {
    this.#max = max;
    this.#isNeeded = isNeeded;
  }

  get size(): number {
    return this.#kept.size + this.#others.size;
  }

  get(name: string): Value | undefined {
    const value = this.#kept.get(name) ?? this.#others.get(name)?.deref();
    if (value) this.set(name, value);
    return value;
  }

  set(name: string, value: Value): void {
    this.#kept.delete(name);
    this.#others.delete(name);
    this.#kept.set(name, value);
    if (this.#kept.size > this.#max) this.#letGoOfOldest();
  }

  #letGoOfOldest(): void {
    for (const [name, value] of this.#kept) {
      if (this.#isNeeded(value)) continue;
      this.#kept.delete(name);
      this.#others.set(name, new WeakRef(value));
      this.#gone.register(value, name);
      return;
    }
  }

  /** The kept ones, and older ones that other code still holds. */
  values(): Value[] {
    return [...this.#kept.values(), ...[...this.#others.values()].flatMap((other) => other.deref() ?? [])];
  }
}
