import { isIPv6 } from 'node:net';

/** The eight 16-bit words of an IPv6 address, whose zone does not count; undefined for anything else. */
export function ipv6Words(address: string): number[] | undefined {
  const [bare = ''] = address.split('%');
  if (!isIPv6(bare)) return undefined;
  // One way to write it: what is missing between both halves is filled with zeros, and an IPv4 address at the end is two words.
  const plain = bare.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = [], tail = []] = plain.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].map((word) => Number.parseInt(word, 16));
}

/** The IPv4 address that is written as an IPv6 one, as in ::ffff:127.0.0.1. */
export function mappedIpv4(words: readonly number[]): string | undefined {
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  return isMapped ? ipv4OfWords(words.slice(6)) : undefined;
}

/** The IPv4 address of two 16-bit words. */
export function ipv4OfWords(words: readonly number[]): string {
  return words.flatMap((word) => [word >> 8, word & 255]).join('.');
}

/** One way to write each address: without a zone, IPv4 as IPv4, IPv6 as its eight words. */
export function canonicalAddress(address: string): string {
  const words = ipv6Words(address);
  return words ? (mappedIpv4(words) ?? words.map((word) => word.toString(16)).join(':')) : address;
}
