const maxEntries = 2_048;

/** Adds up connections by destination, in bounded memory. Changes none that it is given. */
export interface ConnectionList<Entry> {
  add(entry: Entry): void;
  /** Empties the list. */
  take(): Entry[];
}

/** The connections between the beginnings of two commands. */
interface Period<Entry> {
  number: number;
  entries: readonly Entry[];
}

/** The latest connections of one sandbox, in bounded memory, whether or not they are asked for. */
export class ConnectionJournal<Entry> {
  readonly #makeList: () => ConnectionList<Entry>;
  #periods: readonly Period<Entry>[] = [];
  #last = 0;

  constructor(makeList: () => ConnectionList<Entry>) {
    this.#makeList = makeList;
  }

  add(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    const current = this.#periods.at(-1);
    const isNew = current?.number !== this.#last;
    const merged = { number: this.#last, entries: this.#sum([...(isNew ? [] : (current?.entries ?? [])), ...entries]) };
    const all = [...(isNew ? this.#periods : this.#periods.slice(0, -1)), merged];
    let size = all.reduce((sum, period) => sum + period.entries.length, 0);
    // The oldest ones are forgotten.
    const first = all.findIndex(({ entries: { length } }) => {
      if (size <= maxEntries) return true;
      size -= length;
      return false;
    });
    this.#periods = all.slice(first);
  }

  /** Begins now. The answer is what was added since, and may be asked for again. */
  watch(): () => Entry[] {
    if (this.#periods.at(-1)?.number === this.#last) this.#last += 1;
    const begun = this.#last;
    return () => this.#sum(this.#periods.filter(({ number }) => number >= begun).flatMap(({ entries }) => entries));
  }

  #sum(entries: readonly Entry[]): Entry[] {
    const list = this.#makeList();
    for (const entry of entries) list.add(entry);
    return list.take();
  }
}
