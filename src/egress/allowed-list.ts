import type { AllowedConnection, Destination } from '../core/egress.ts';
import type { ConnectionList } from './connection-journal.ts';

const maxDestinations = 128;

/**
 * Allowed connections by destination and rule, in bounded memory: further destinations are left out, but for the few that secrets are bound to, whether or
 * not a secret was used there.
 */
export class AllowedList implements ConnectionList<AllowedConnection> {
  readonly #isBound: (destination: Destination) => boolean;
  readonly #connections = new Map<string, AllowedConnection>();

  constructor(isBound: (destination: Destination) => boolean) {
    this.#isBound = isBound;
  }

  add({ host, port, rule, count, bytes, secrets, placeholders }: AllowedConnection): void {
    const key = `${port} ${host} ${rule ?? ''}`;
    const known = this.#connections.get(key);
    if (!known) {
      if (this.#connections.size < maxDestinations || secrets.length > 0 || this.#isBound({ host, port }))
        this.#connections.set(key, { host, port, rule, count, bytes, secrets, placeholders });
      return;
    }
    known.count += count;
    known.bytes += bytes;
    if (secrets.length > 0) known.secrets = [...new Set([...known.secrets, ...secrets])];
    if (placeholders.length > 0) known.placeholders = [...new Set([...known.placeholders, ...placeholders])];
  }

  take(): AllowedConnection[] {
    const all = [...this.#connections.values()];
    this.#connections.clear();
    return all;
  }
}
