import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PrivateRule } from '../../src/core/egress.ts';
import { addressClass, addressSet, isPrivateAllowed, isPrivateRange } from '../../src/egress/addresses.ts';

/** Every way to carry an IPv4 address in an IPv6 one. */
function carriers(ipv4: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  const hex = (high: number, low: number) => ((high << 8) | low).toString(16);
  const [first, second] = [hex(a, b), hex(c, d)];
  const turned = `${hex(a ^ 255, b ^ 255)}:${hex(c ^ 255, d ^ 255)}`;
  return [
    `::ffff:${ipv4}`,
    `::FFFF:${first}:${second}`,
    `0:0:0:0:0:ffff:${first}:${second}`,
    `::${first}:${second}`,
    `::ffff:0:${ipv4}`,
    `64:ff9b::${ipv4}`,
    `64:ff9b:1::${ipv4}`,
    `2002:${first}:${second}::`,
    `2002:${first}:${second}::5db8:d822`,
    `2001:0:5db8:d822:0:1:${turned}`,
    `2001:0:${first}:${second}:0:1:a247:27dd`,
    `2001:db8::5efe:${ipv4}`,
    `2001:db8::200:5efe:${ipv4}`,
  ];
}

describe('special addresses', () => {
  it.each([
    ...['0.0.0.0', '0.1.2.3', '127.0.0.1', '127.64.0.1', '127.255.255.255'],
    ...['169.254.0.1', '169.254.169.254', '169.254.170.2', '169.254.0.23', '192.0.0.1', '192.0.0.192', '192.88.99.1'],
    ...['198.18.0.1', '198.19.255.255', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
    ...['100.100.100.200', '168.63.129.16'],
    ...['::', '::1', '0:0:0:0:0:0:0:1', 'fe80::1', 'febf::1', 'fe80::1%lo', 'fe80::a9fe:a9fe', 'ff02::1', 'ff0e::1'],
    ...['fd00:ec2::254', 'fd00:ec2::253', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42'],
    ...[
      'fd00:a9fe:a9fe::1',
      'fd00:100::100:200',
      '100::1',
      '100:0:0:1::1',
      '2001:2::1',
      '2001:10::1',
      '2001:2f::1',
      '2001:1::1',
      '2001:1ff::1',
    ],
    ...['5f00::1', '4000::1', '1::', 'e000::1', '64:ff9b:2::1', '64:ff9b:0:1::808:808', '64:ff9b:1:7f00::1:0:0', '::fffe:8.8.8.8'],
    ...[
      '2001:db8::1%eth0',
      '10.0.0.1%eth0',
      '',
      'example.com',
      '127.1',
      '1.2.3',
      '1.2.3.4.5',
      '0x7f.0.0.1',
      '1::2::3',
      '[::1]',
      ' 8.8.8.8',
      '08.8.8.8',
    ],
  ])('%j is special', (address) => {
    expect(addressClass(address)).toBe('special');
    expect(addressClass(address, addressSet([address]))).toBe('special');
  });

  it.each(['127.0.0.1', '0.0.0.0', '169.254.169.254', '100.100.100.200', '168.63.129.16', '224.0.0.1', '255.255.255.255', '198.18.0.1'])(
    '%s is special in every IPv6 address that carries it',
    (address) => {
      for (const carrier of carriers(address)) expect(addressClass(carrier), carrier).toBe('special');
    },
  );
});

describe('private addresses', () => {
  it.each([
    ...['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255', '100.64.0.1', '100.127.255.255'],
    ...['fc00::1', 'fd00::1', 'fdff:ffff::1', 'fec0::1', 'fd12:3456::5efe:8.8.8.8'],
  ])('%s is private', (address) => {
    expect(addressClass(address)).toBe('private');
  });

  it.each(['10.0.0.1', '192.168.1.1', '100.64.0.1'])('%s is private in every IPv6 address that carries it', (address) => {
    for (const carrier of carriers(address)) expect(addressClass(carrier), carrier).toBe('private');
  });
});

describe('public addresses', () => {
  it.each([
    ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0'],
    ...[
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
      '169.253.255.255',
      '169.255.0.0',
      '198.17.255.255',
      '198.20.0.0',
      '223.255.255.255',
    ],
    ...['2001:4860:4860::8888', '2606:4700::1111', '2a00:1450::1', '2001:200::1', '3ffe::1'],
    // Documentation: no host has one of these.
    ...['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1'],
  ])('%s is public', (address) => {
    expect(addressClass(address)).toBe('public');
  });

  it('a public address is public in every IPv6 address that carries it', () => {
    for (const carrier of carriers('93.184.216.34')) expect(addressClass(carrier), carrier).toBe('public');
  });
});

describe('own addresses', () => {
  it.each([
    ['203.0.113.7', ['203.0.113.7']],
    ['10.0.0.5', ['127.0.0.1', '10.0.0.5']],
    ['2001:db8::5', ['2001:DB8:0::0005']],
    ['10.0.0.5', ['::ffff:10.0.0.5']],
    ['fd00::5', ['fd00::5%eth0']],
  ])('%s is an address of a machine with %j', (address, own) => {
    expect(addressClass(address, addressSet(own))).toBe('own');
  });

  it('an own address is own in every IPv6 address that carries it', () => {
    for (const carrier of carriers('203.0.113.7')) expect(addressClass(carrier, addressSet(['203.0.113.7'])), carrier).toBe('own');
  });
});

it('gives any text a class, and an IPv6 address never a better one than an IPv4 address that it carries', () => {
  const rank = ['public', 'private', 'own', 'special'];
  fc.assert(
    fc.property(fc.ipV4(), fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 20 })), (ipv4, any) => {
      expect(rank).toContain(addressClass(any, addressSet([ipv4])));
      const plain = rank.indexOf(addressClass(ipv4));
      for (const carrier of carriers(ipv4)) expect(rank.indexOf(addressClass(carrier)), carrier).toBeGreaterThanOrEqual(plain);
    }),
  );
});

describe('network.private', () => {
  const network = (address: string, prefix: number): PrivateRule => ({
    kind: 'network',
    address,
    prefix,
    family: address.includes(':') ? 'ipv6' : 'ipv4',
    text: `${address}/${prefix}`,
  });
  const host: PrivateRule = { kind: 'host', host: 'nas.example', text: 'nas.example' };

  it.each([
    ['10.1.2.3', 'any.example', [network('10.1.0.0', 16)], true],
    ['10.2.2.3', 'any.example', [network('10.1.0.0', 16)], false],
    ['::ffff:10.1.2.3', 'any.example', [network('10.1.0.0', 16)], true],
    ['64:ff9b::a01:203', 'any.example', [network('10.1.0.0', 16)], true],
    ['2002:a01:203::', 'any.example', [network('10.1.0.0', 16)], true],
    ['2002:a02:203::', 'any.example', [network('10.1.0.0', 16)], false],
    ['fd00::5efe:10.1.2.3', 'any.example', [network('10.1.0.0', 16)], false],
    ['fd00::5efe:10.1.2.3', 'any.example', [network('10.1.0.0', 16), network('fd00::', 64)], true],
    ['fd00::1', 'any.example', [network('fd00::', 64)], true],
    ['fd00:0:0:1::1', 'any.example', [network('fd00::', 64)], false],
    ['10.1.2.3', 'nas.example', [host], true],
    ['10.1.2.3', 'x.nas.example', [host], false],
    ['10.1.2.3', 'example', [host], false],
    ['10.1.2.3', 'nas.example', [], false],
    ['127.0.0.1', 'nas.example', [host, network('0.0.0.0', 0)], false],
    ['169.254.169.254', 'nas.example', [host, network('0.0.0.0', 0)], false],
    ['100.100.100.200', 'nas.example', [host, network('100.64.0.0', 10)], false],
    ['fd00:ec2::254', 'nas.example', [host, network('fc00::', 7)], false],
    ['::1', 'nas.example', [host, network('::', 0)], false],
    ['nas.example', 'nas.example', [host], false],
  ])('decides about %s of %s', (address, name, rules, isAllowed) => {
    expect(isPrivateAllowed(address, name, rules)).toBe(isAllowed);
  });

  it.each([
    ['10.0.0.0', 8, true],
    ['10.1.2.3', 32, true],
    ['10.0.0.0', 7, false],
    ['172.16.0.0', 12, true],
    ['172.16.0.0', 11, false],
    ['192.168.0.0', 16, true],
    ['100.64.0.0', 10, true],
    ['100.100.100.200', 32, false],
    ['100.100.100.200', 31, true],
    ['0.0.0.0', 0, false],
    ['127.0.0.0', 8, false],
    ['8.8.8.0', 24, false],
    ['fc00::', 7, true],
    ['fc00::', 6, false],
    ['fd00:ec2::', 32, false],
    ['fd00:ec2::254', 128, false],
    ['::', 0, false],
    ['::ffff:10.0.0.0', 104, false],
    ['2001:db8::', 32, false],
  ])('a rule for %s/%i covers private addresses and not only special ones: %s', (address, prefix, expected) => {
    expect(isPrivateRange({ address, prefix, family: address.includes(':') ? 'ipv6' : 'ipv4' })).toBe(expected);
  });
});
