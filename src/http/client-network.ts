import { isIPv6 } from 'node:net';

/**
 * Which clients count as one. Security: an IPv6 network gives everybody in it billions of addresses, so its first half counts; an IPv4 address that
 * is written as IPv6 counts as what it is.
 */
export function clientNetwork(address: string): string {
  const bare = address.replace(/%.*$/, '');
  if (!isIPv6(bare)) return address;
  const words = wordsOf(bare);
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  if (isMapped)
    return words
      .slice(6)
      .flatMap((word) => [word >> 8, word & 255])
      .join('.');
  return `${words
    .slice(0, 4)
    .map((word) => word.toString(16))
    .join(':')}::/64`;
}

/** The eight words of an IPv6 address. */
function wordsOf(address: string): number[] {
  const [, before = address, quad = ''] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = quad.split('.').map(Number);
  const last = quad === '' ? [] : [(a << 8) | b, (c << 8) | d];
  const [head = '', tail] = before.split('::');
  const words = (text: string): number[] =>
    text
      .split(':')
      .filter(Boolean)
      .map((word) => Number.parseInt(word, 16));
  const end = [...words(tail ?? ''), ...last];
  const start = words(head);
  return tail === undefined
    ? [...start, ...last]
    : [...start, ...Array<number>(Math.max(0, 8 - start.length - end.length)).fill(0), ...end];
}
