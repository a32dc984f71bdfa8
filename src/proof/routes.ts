import { ipv6Words } from '../lib/ip-address.ts';

/** Where packets of a network namespace can go. Nothing is ever sent to find out. */
export interface Routes {
  v4: readonly { network: number; mask: number; gateway: string | undefined }[];
  v6: readonly { network: bigint; bits: number }[];
}

const isUp = 0x1;
const isReject = 0x200;
/** The metadata service of most clouds, and of those that have one over IPv6. */
export const metadataAddresses = ['169.254.169.254', 'fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe'] as const;

/** From `/proc/net/route` and `/proc/net/ipv6_route`. */
export function parseRoutes(lines: readonly string[], lines6: readonly string[]): Routes {
  const v4 = lines.flatMap((line) => {
    const [name, network = '', gateway = '', flags = '', , , , mask = ''] = line.trim().split(/\s+/);
    if (name === undefined || ![network, gateway, mask].every((word) => /^[0-9A-F]{8}$/i.test(word)) || !isUsable(flags)) return [];
    return [{ network: swapped(network), mask: swapped(mask), gateway: swapped(gateway) === 0 ? undefined : dotted(swapped(gateway)) }];
  });
  const v6 = lines6.flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const [network = '', bits = ''] = words;
    if (!/^[0-9a-f]{32}$/i.test(network) || !/^[0-9a-f]{2}$/i.test(bits) || !isUsable(words[8] ?? '') || words[9] === 'lo') return [];
    return [{ network: BigInt(`0x${network}`), bits: Number.parseInt(bits, 16) }];
  });
  return { v4, v6 };
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return (bits & isUp) !== 0 && (bits & isReject) === 0;
}

/** The file has the bytes of an address in the order of this machine's memory. */
function swapped(word: string): number {
  return Buffer.from(word, 'hex').readUInt32LE();
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

export function reaches(routes: Routes, address: string): boolean {
  const words = ipv6Words(address);
  if (words) {
    const wanted = words.reduce((bits, word) => (bits << 16n) | BigInt(word), 0n);
    return routes.v6.some(({ network, bits }) => wanted >> BigInt(128 - bits) === network >> BigInt(128 - bits));
  }
  const wanted = address.split('.').reduce((sum, part) => ((sum << 8) | Number(part)) >>> 0, 0);
  return routes.v4.some(({ network, mask }) => (wanted & mask) >>> 0 === (network & mask) >>> 0);
}

/** The metadata addresses that have a way out. */
export function metadataRoutes(routes: Routes): string[] {
  return metadataAddresses.filter((address) => reaches(routes, address));
}

/** The addresses of a network namespace itself, from `/proc/net/fib_trie`, without loopback. */
export function localAddresses(trie: string): string[] {
  const found = [...trie.matchAll(/\|-- (\d{1,3}(?:\.\d{1,3}){3})\s+\/32 host LOCAL/g)].map((match) => match[1] ?? '');
  return [...new Set(found)].filter((address) => !address.startsWith('127.'));
}
