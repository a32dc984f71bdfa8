const maxEntries = 2_048;

/** Adds up connections by destination, in bounded memory. */
export interface ConnectionList<Entry> {
  add(entry: Entry): void;
  /** Empties the list. */
  take(): Entry[];
}

/** The latest connections of one sandbox, in bounded memory, whether or not anybody asks. */
export class ConnectionJournal<Entry> {
  readonly #makeList: () => ConnectionList<Entry>;
  #entries: readonly { number: number; entry: Entry }[] = [];
  #last = 0;

  constructor(makeList: () => ConnectionList<Entry>) {
    this.#makeList = makeList;
  }

  add(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    const added = entries.map((entry) => {
      this.#last += 1;
      return { number: this.#last, entry };
    });
    this.#entries = [...this.#entries, ...added].slice(-maxEntries);
  }

  /** Begins now. The answer is what was added since, and may be asked for again. */
  watch(): () => Entry[] {
    const begun = this.#last;
    return () => {
      const list = this.#makeList();
      for (const { number, entry } of this.#entries) if (number > begun) list.add(entry);
      return list.take();
    };
  }
}
