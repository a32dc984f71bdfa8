import type { BlockedConnection } from '../core/egress.ts';
import { BlockedList } from './blocked-list.ts';

const maxEntries = 2_048;

/** The latest blocked connections of one sandbox, in bounded memory, whether or not anybody asks. */
export class BlockedJournal {
  #entries: readonly { number: number; connection: BlockedConnection }[] = [];
  #last = 0;

  add(connections: readonly BlockedConnection[]): void {
    const added = connections.map((connection) => {
      this.#last += 1;
      return { number: this.#last, connection };
    });
    this.#entries = [...this.#entries, ...added].slice(-maxEntries);
  }

  /** Begins now. The answer is what was added since, and may be asked for again. */
  watch(): () => BlockedConnection[] {
    const begun = this.#last;
    return () => {
      const list = new BlockedList();
      for (const { number, connection } of this.#entries) if (number > begun) list.add(connection);
      return list.take();
    };
  }
}
