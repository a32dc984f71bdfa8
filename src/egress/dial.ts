import type { LookupAddress } from 'node:dns';
import { connect, isIP, type Socket } from 'node:net';
import type { BlockReason, Destination, EgressRules } from '../core/egress.ts';
import { type AddressClass, addressClass, isPrivateAllowed } from './addresses.ts';
import { ownAddresses } from './own-addresses.ts';
import { type Refusal, refusal } from './refusal.ts';
import { Resolver, type SessionLookups } from './resolver.ts';
import type { Lookup } from './system-lookup.ts';

export interface DialerOptions {
  /** Asks the resolver of this machine, unless a test answers. */
  lookup?: Lookup;
  /** Judges by the tables of addresses and by the addresses of this machine, unless a test has its servers on loopback. */
  classify?(address: string): AddressClass;
  maxConnections?: number;
  connectMs?: number;
}

/** For whom a destination is dialled. */
export interface DialParts {
  rules: EgressRules;
  /** Its client has left. */
  signal: AbortSignal;
  /** Those of its sandbox. */
  lookups: SessionLookups;
}

const reasons: Record<Exclude<AddressClass, 'public'>, BlockReason> = {
  special: 'special-address',
  own: 'own-address',
  private: 'private-address',
};

/** More addresses of one host are not tried. */
const maxAddresses = 8;
/** Then the next address is tried. */
const attemptMs = 500;
/** A peer that is gone is noticed by this, also on a connection on which neither side says anything. */
const keepAliveMs = 60_000;

/** Makes the connections of all sandboxes to the hosts that they are allowed. */
export class Dialer {
  readonly #resolver: Resolver;
  readonly #classify: (address: string) => AddressClass;
  readonly #connectMs: number;
  #free: number;

  constructor({ lookup, classify = classifyHere, maxConnections = 4_096, connectMs = 10_000 }: DialerOptions = {}) {
    this.#resolver = new Resolver(lookup);
    this.#classify = classify;
    this.#connectMs = connectMs;
    this.#free = maxConnections;
  }

  /** Counts one connection of a sandbox; false when too many are open. Each one that is admitted must be released once. */
  admit(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  release(): void {
    this.#free += 1;
  }

  /** Why `host` may not lead to this address; undefined when it may. */
  addressRefusal(address: string, { host, port }: Destination, rules: EgressRules): Refusal | undefined {
    const found = this.#classify(address);
    if (found === 'public' || (found === 'private' && isPrivateAllowed(address, host, rules.private))) return undefined;
    return refusal(reasons[found], { host, port });
  }

  /** A connection to an allowed destination. Resolves its name once, and connects only to addresses that were checked. Never rejects. */
  async dial(destination: Destination, { rules, signal, lookups }: DialParts): Promise<Socket | Refusal> {
    const { host } = destination;
    const family = isIP(host);
    const addresses = family === 0 ? await this.#resolver.addressesOf(host, lookups, signal) : [{ address: host, family }];
    if (signal.aborted) return refusal('unreachable', destination);
    if (addresses.length === 0) return refusal('unresolved', destination);
    const refusals = new Map(addresses.map(({ address }) => [address, this.addressRefusal(address, destination, rules)]));
    const checked = addresses.filter(({ address }) => refusals.get(address) === undefined);
    if (checked.length === 0) return worst([...refusals.values()]) ?? refusal('unresolved', destination);
    return (await this.#connect(destination, checked.slice(0, maxAddresses), signal)) ?? refusal('unreachable', destination);
  }

  async #connect({ host, port }: Destination, checked: LookupAddress[], signal: AbortSignal): Promise<Socket | undefined> {
    const socket = connect({
      host,
      port,
      // Security: the only source of addresses, so that the address that is dialled is one that was checked.
      lookup: (_host, _options, callback) => callback(null, checked),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: attemptMs,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
    });
    const cut = (): void => void socket.destroy();
    const timer = setTimeout(cut, this.#connectMs);
    signal.addEventListener('abort', cut, { once: true });
    socket.on('error', () => undefined);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    socket.once('connect', () => resolve(true));
    socket.once('close', () => resolve(false));
    const isConnected = await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', cut);
    return isConnected && !socket.destroyed ? socket : undefined;
  }
}

/** A reason that a rule could change is told only when no address has another one. */
function worst(refusals: readonly (Refusal | undefined)[]): Refusal | undefined {
  const found = refusals.filter((one) => one !== undefined);
  return found.find(({ reason }) => reason !== 'private-address') ?? found[0];
}

/** By the tables of addresses and by the addresses of this machine. */
export function classifyHere(address: string): AddressClass {
  return addressClass(address, ownAddresses());
}
