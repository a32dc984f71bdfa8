import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressClass, addressSet } from './addresses.ts';

/**
 * Reading hundreds of interfaces, as beside many containers, takes more than a millisecond. A new address counts after
 * this time.
 */
const keptMs = 1_000;
let known: { addresses: ReadonlySet<string>; readAt: number } | undefined;

/** The addresses of this machine, for `addressClass`. */
export function ownAddresses(): ReadonlySet<string> {
  const now = performance.now();
  if (known === undefined || now - known.readAt >= keptMs) {
    const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map((one) => one.address) ?? []);
    known = { addresses: addressSet(addresses), readAt: now };
  }
  return known.addresses;
}

/** Whether this machine is in the internet of IPv6. A private address does not lead there. */
export function hasPublicIpv6(): boolean {
  return [...ownAddresses()].some((address) => isIPv6(address) && addressClass(address) === 'public');
}
