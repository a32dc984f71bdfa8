const defaultMost = 1_000;

export interface LatestOptions<Value> {
  most?: number;
  /** What must not be forgotten now, however long ago it was asked for. */
  isNeeded?(value: Value): boolean;
}

/**
 * Values by name that do not become more and more: the ones last asked for are kept, and earlier ones for as long as somebody else has them, so
 * that there are never two of one name.
 */
export class Latest<Value extends object> {
  readonly #most: number;
  readonly #isNeeded: (value: Value) => boolean;
  /** In the order in which they were last asked for. */
  readonly #kept = new Map<string, Value>();
  readonly #others = new Map<string, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<string>((name) => {
    if (this.#others.get(name)?.deref() === undefined) this.#others.delete(name);
  });

  constructor({ most = defaultMost, isNeeded = () => false }: LatestOptions<Value> = {}) {
    this.#most = most;
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
    if (this.#kept.size > this.#most) this.#letGoOfOldest();
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

  /** Of what has been let go, only what somebody else has. */
  values(): Value[] {
    return [...this.#kept.values(), ...[...this.#others.values()].flatMap((other) => other.deref() ?? [])];
  }
}
