import type { BlockedConnection } from '../core/egress.ts';
import type { ConnectionList } from './connection-journal.ts';

/** More than a person or a model reads. */
const maxDestinations = 32;

/** Blocked connections by destination and reason, in bounded memory: further destinations are left out. */
export class BlockedList implements ConnectionList<BlockedConnection> {
  readonly #connections = new Map<string, BlockedConnection>();

  add({ host, port, reason, count, by }: BlockedConnection): void {
    const key = `${reason} ${port} ${host} ${by ?? ''}`;
    const known = this.#connections.get(key);
    if (known) known.count += count;
    else if (this.#connections.size < maxDestinations)
      this.#connections.set(key, { host, port, reason, count, ...(by !== undefined && { by }) });
  }

  /** Empties the list. */
  take(): BlockedConnection[] {
    const all = [...this.#connections.values()];
    this.#connections.clear();
    return all;
  }
}
