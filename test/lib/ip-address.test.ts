import { expect, it } from 'vitest';
import { canonicalAddress, ipv6Words, mappedIpv4 } from '../../src/lib/ip-address.ts';

it.each([
  ['::', [0, 0, 0, 0, 0, 0, 0, 0]],
  ['::1', [0, 0, 0, 0, 0, 0, 0, 1]],
  ['fe80::1%eth0', [0xfe80, 0, 0, 0, 0, 0, 0, 1]],
  ['2001:DB8::', [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0]],
  ['1:2:3:4:5:6:7:8', [1, 2, 3, 4, 5, 6, 7, 8]],
  ['1:2:3:4:5:6:7::', [1, 2, 3, 4, 5, 6, 7, 0]],
  ['::ffff:192.168.0.1', [0, 0, 0, 0, 0, 0xffff, 0xc0a8, 1]],
  ['64:ff9b::10.0.0.255', [0x64, 0xff9b, 0, 0, 0, 0, 0x0a00, 0xff]],
])('ipv6Words reads %s', (address, words) => {
  expect(ipv6Words(address)).toEqual(words);
});

it.each(['', '127.0.0.1', 'localhost', '1::2::3', ':::', '12345::', '::1.2.3'])('ipv6Words reads nothing from %j', (address) => {
  expect(ipv6Words(address)).toBeUndefined();
});

it('mappedIpv4 finds the IPv4 address in its IPv6 form alone', () => {
  expect(mappedIpv4(ipv6Words('::ffff:7f00:1') ?? [])).toBe('127.0.0.1');
  expect(mappedIpv4(ipv6Words('::fffe:7f00:1') ?? [])).toBeUndefined();
});

it('canonicalAddress writes the same address the same way', () => {
  expect(canonicalAddress('::FFFF:10.0.0.1')).toBe('10.0.0.1');
  expect(canonicalAddress('FE80:0::0001%eth0')).toBe(canonicalAddress('fe80::1'));
  expect(canonicalAddress('10.0.0.1')).toBe('10.0.0.1');
});
