import { ipv6Words, mappedIpv4 } from '../lib/ip-address.ts';

/**
 * Which clients count as one. Security: an IPv6 network gives everybody in it billions of addresses, so its first half counts; an IPv4 address that
 * is written as IPv6 counts as what it is.
 */
export function clientNetwork(address: string): string {
  const words = ipv6Words(address);
  if (!words) return address;
  const network = words.slice(0, 4).map((word) => word.toString(16));
  return mappedIpv4(words) ?? `${network.join(':')}::/64`;
}
