import type { LookupAddress } from 'node:dns';
import { BoundedMap } from '../lib/bounded-map.ts';
import { CallSlots } from '../lib/call-slots.ts';
import { abortAfter, within } from '../lib/deadline.ts';
import { type Lookup, systemLookup } from './system-lookup.ts';

/** Of one sandbox: a name that is not answered does not delay the next one. */
const maxLookups = 2;
/** Reached when the names of 64 sandboxes are not answered. Name servers have limits too: dnsmasq takes 150 queries. */
const maxLookupsInAll = 128;
const deadlineMs = 5_000;
const keptMs = 30_000;
const keptFailureMs = 5_000;
const maxKept = 1_000;

interface Kept {
  /** Never rejects. */
  addresses: Promise<readonly LookupAddress[]>;
  until: number;
  /** Connections that wait for the answer. */
  waiting: number;
  /** Ends the look-up. */
  end: AbortController;
}

/**
 * The look-ups of one sandbox, and the answers it got. Security: no other sandbox is given them, or the time that an
 * answer takes would tell it what this one reaches.
 */
export class SessionLookups {
  readonly turns = new CallSlots(maxLookups);
  readonly kept = new BoundedMap<string, Kept>(maxKept);
}

/**
 * The addresses of hosts, as the gateway's machine finds them. Asks for one host of a sandbox once at a time, and keeps
 * answers for a while.
 */
export class Resolver {
  readonly #lookup: Lookup;
  readonly #slots = new CallSlots(maxLookupsInAll);

  constructor(lookup: Lookup = systemLookup()) {
    this.#lookup = lookup;
  }

  /** No addresses: the host has none, no name server answers in time, or the connection is gone. Never rejects. */
  async addressesOf(host: string, lookups: SessionLookups, gone: AbortSignal): Promise<readonly LookupAddress[]> {
    if (gone.aborted) return [];
    const known = lookups.kept.get(host);
    const entry = known && known.until > Date.now() ? known : this.#begin(host, lookups);
    entry.waiting += 1;
    const addresses = await within({ signal: gone }, entry.addresses, () => []);
    entry.waiting -= 1;
    if (gone.aborted && entry.waiting === 0 && entry.until === Number.POSITIVE_INFINITY) {
      entry.end.abort();
      if (lookups.kept.get(host) === entry) lookups.kept.delete(host);
    }
    return addresses;
  }

  #begin(host: string, lookups: SessionLookups): Kept {
    const end = new AbortController();
    // While it is asked for, it does not become too old.
    const entry: Kept = { addresses: this.#ask(host, lookups, end.signal), until: Number.POSITIVE_INFINITY, waiting: 0, end };
    lookups.kept.set(host, entry);
    void entry.addresses.then(({ length }) => {
      entry.until = Date.now() + (length > 0 ? keptMs : keptFailureMs);
    });
    return entry;
  }

  async #ask(host: string, { turns }: SessionLookups, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const look = async () => await abortAfter({ ms: deadlineMs, signal }, async (late) => await this.#lookup(host, late));
    try {
      return await turns.run(async () => await this.#slots.run(look, signal), signal);
    } catch {
      return [];
    }
  }
}
