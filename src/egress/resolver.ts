import { promises as dns, type LookupAddress } from 'node:dns';
import { CallSlots } from '../lib/call-slots.ts';

export type Lookup = (host: string) => Promise<readonly LookupAddress[]>;

/** A look-up takes a thread of Node's pool, which has four. */
const maxLookups = 2;
const keptMs = 30_000;
const keptFailureMs = 5_000;
const maxKept = 1_000;

interface Kept {
  addresses: Promise<readonly LookupAddress[]>;
  until: number;
}

/** The addresses of hosts, from the resolver of the gateway's machine. Asks for one host once at a time, and keeps answers for a while. */
export class Resolver {
  readonly #lookup: Lookup;
  readonly #slots = new CallSlots(maxLookups);
  /** In the order in which they were asked for. */
  readonly #kept = new Map<string, Kept>();

  constructor(lookup: Lookup = async (host) => await dns.lookup(host, { all: true, order: 'verbatim' })) {
    this.#lookup = lookup;
  }

  /**
   * No addresses: the host has none, or the resolver does not say. Never rejects. `turns` are those of one sandbox, so that the look-ups of another
   * sandbox do not wait behind all of its own.
   */
  async addressesOf(host: string, turns: CallSlots): Promise<readonly LookupAddress[]> {
    const inTurn = async () => await this.#slots.run(async () => await (this.#known(host) ?? this.#ask(host)));
    return await (this.#known(host) ?? turns.run(async () => await (this.#known(host) ?? inTurn())));
  }

  #known(host: string): Promise<readonly LookupAddress[]> | undefined {
    const kept = this.#kept.get(host);
    return kept && kept.until > Date.now() ? kept.addresses : undefined;
  }

  async #ask(host: string): Promise<readonly LookupAddress[]> {
    // While it is asked for, it does not become too old.
    const entry: Kept = { addresses: this.#answer(host), until: Number.POSITIVE_INFINITY };
    this.#keep(host, entry);
    const addresses = await entry.addresses;
    entry.until = Date.now() + (addresses.length > 0 ? keptMs : keptFailureMs);
    return addresses;
  }

  async #answer(host: string): Promise<readonly LookupAddress[]> {
    try {
      return await this.#lookup(host);
    } catch {
      return [];
    }
  }

  #keep(host: string, entry: Kept): void {
    this.#kept.delete(host);
    this.#kept.set(host, entry);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}
