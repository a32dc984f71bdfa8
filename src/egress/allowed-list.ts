import type { AllowedConnection } from '../core/egress.ts';
import type { ConnectionList } from './connection-journal.ts';

const maxDestinations = 128;

/** Allowed connections by destination and rule, in bounded memory: further destinations are left out. */
export class AllowedList implements ConnectionList<AllowedConnection> {
  readonly #connections = new Map<string, AllowedConnection>();

  add({ host, port, rule, count, bytes, secrets }: AllowedConnection): void {
    const key = `${port} ${host} ${rule ?? ''}`;
    const known = this.#connections.get(key);
    if (!known) {
      if (this.#connections.size < maxDestinations) this.#connections.set(key, { host, port, rule, count, bytes, secrets });
      return;
    }
    known.count += count;
    known.bytes += bytes;
    if (secrets.length > 0) known.secrets = [...new Set([...known.secrets, ...secrets])];
  }

  take(): AllowedConnection[] {
    const all = [...this.#connections.values()];
    this.#connections.clear();
    return all;
  }
}
