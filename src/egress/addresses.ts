import { BlockList, isIPv4 } from 'node:net';
import type { PrivateRule } from '../core/egress.ts';
import { canonicalAddress, ipv4OfWords, ipv6Words } from '../lib/ip-address.ts';

/**
 * `special`: sandboxes never reach it. `own`: an address of this machine, which they never reach either. `private`: only with a rule of
 * `network.private`.
 */
export type AddressClass = 'public' | 'private' | 'special' | 'own';

type Family = 'ipv4' | 'ipv6';

export interface AddressRange {
  address: string;
  prefix: number;
  family: Family;
}

const privateRanges = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  // Shared by the customers of a provider (CGNAT), and by overlay networks.
  '100.64.0.0/10',
  'fc00::/7',
  // Site local, from before fc00::/7.
  'fec0::/10',
].map(range);

/** Win over the private ranges in which some of them are. */
const specialRanges = [
  // This network, loopback, and link local, where most clouds have their metadata.
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  // Protocol assignments, with the metadata of Oracle Cloud; relays of 6to4; benchmarks.
  '192.0.0.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  // Multicast, reserved, broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Metadata of Alibaba Cloud, and the services of an Azure host.
  '100.100.100.200/32',
  '168.63.129.16/32',
  // Link local and multicast.
  'fe80::/10',
  'ff00::/8',
  // Metadata of AWS, Google Cloud, Oracle Cloud, Scaleway, Linode and Alibaba Cloud.
  'fd00:ec2::/32',
  'fd20:ce::/64',
  'fd00:c1::/64',
  'fd00:42::/64',
  'fd00:a9fe:a9fe::/64',
  'fd00:100::/64',
  // Protocol assignments; Teredo, which is among them, is judged by the addresses it carries.
  '2001:1::/32',
  '2001:2::/31',
  '2001:4::/30',
  '2001:8::/29',
  '2001:10::/28',
  '2001:20::/27',
  '2001:40::/26',
  '2001:80::/25',
  '2001:100::/24',
].map(range);

/** The part of IPv6 that is given out. Everything else is reserved. */
const globalUnicast = blockList([range('2000::/3')]);
const specials = blockList(specialRanges);
const privates = blockList(privateRanges);

/** The addresses of a machine, for `addressClass`. */
export function addressSet(addresses: Iterable<string>): ReadonlySet<string> {
  return new Set(Array.from(addresses, canonicalAddress));
}

/**
 * Security: an address that carries others, such as 64:ff9b::7f00:1, is judged by the worst of them. Without the addresses of this machine, from
 * `addressSet`, none is its own.
 */
export function addressClass(address: string, own?: ReadonlySet<string>): AddressClass {
  const forms = formsOf(address);
  if (forms === undefined || forms.some(isSpecial)) return 'special';
  if (own && forms.some((form) => own.has(canonicalAddress(form)))) return 'own';
  return forms.some(isPrivate) ? 'private' : 'public';
}

/** Whether a rule of `network.private` lets `host` lead to this private address. Never true for a special one. */
export function isPrivateAllowed(address: string, host: string, rules: readonly PrivateRule[]): boolean {
  const forms = formsOf(address);
  if (forms === undefined || forms.some(isSpecial)) return false;
  if (rules.some((rule) => rule.kind === 'host' && rule.host === host)) return true;
  const networks = blockList(rules.filter((rule) => rule.kind === 'network'));
  return forms.filter(isPrivate).every((form) => networks.check(form, familyOf(form)));
}

/** Whether every address of the range is private, and not all of them are special. */
export function isPrivateRange(candidate: AddressRange): boolean {
  const isInside = (outer: AddressRange) =>
    outer.family === candidate.family && outer.prefix <= candidate.prefix && blockList([outer]).check(candidate.address, candidate.family);
  return privateRanges.some(isInside) && !specialRanges.some(isInside);
}

/** The address and the IPv4 addresses that it carries, in a form in which some network delivers to them. Undefined for anything else. */
function formsOf(address: string): string[] | undefined {
  if (isIPv4(address)) return [address];
  // Security: a zone chooses an interface of this machine.
  const words = address.includes('%') ? undefined : ipv6Words(address);
  if (!words) return undefined;
  const carried = carriedBy(words);
  return carried.isWhole ? carried.ipv4 : [address, ...carried.ipv4];
}

/** `isWhole`: the address has no other meaning than the IPv4 address. */
function carriedBy(words: readonly number[]): { ipv4: string[]; isWhole: boolean } {
  const [a, b, c, d, e, f] = words;
  const isZero = (from: number, to: number) => words.slice(from, to).every((word) => word === 0);
  const last = ipv4OfWords(words.slice(6));
  // Compatible and mapped, translated, and NAT64: the known prefix and the local one. Any other way to use that one is reserved.
  if (isZero(0, 5) && (f === 0 || f === 0xffff)) return { ipv4: [last], isWhole: true };
  if (isZero(0, 4) && e === 0xffff && f === 0) return { ipv4: [last], isWhole: true };
  if (a === 0x64 && b === 0xff9b && (c === 0 || c === 1) && isZero(3, 6)) return { ipv4: [last], isWhole: true };
  const ipv4: string[] = [];
  if (a === 0x2002) ipv4.push(ipv4OfWords(words.slice(1, 3)));
  // Teredo: its server, and the client with all bits turned.
  if (a === 0x2001 && b === 0) ipv4.push(ipv4OfWords([c ?? 0, d ?? 0]), ipv4OfWords(words.slice(6).map((word) => word ^ 0xffff)));
  // ISATAP, in any network.
  if ((e === 0 || e === 0x200) && f === 0x5efe) ipv4.push(last);
  return { ipv4, isWhole: false };
}

function isSpecial(address: string): boolean {
  return specials.check(address, familyOf(address)) || !(isIPv4(address) || isPrivate(address) || globalUnicast.check(address, 'ipv6'));
}

function isPrivate(address: string): boolean {
  return privates.check(address, familyOf(address));
}

function familyOf(address: string): Family {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

function range(text: string): AddressRange {
  const [address = '', prefix] = text.split('/');
  return { address, prefix: Number(prefix), family: familyOf(address) };
}

function blockList(ranges: readonly AddressRange[]): BlockList {
  const list = new BlockList();
  for (const { address, prefix, family } of ranges) list.addSubnet(address, prefix, family);
  return list;
}
