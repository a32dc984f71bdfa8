import type { NameAnswer } from './records.ts';
import { gatewayAddress } from './world.ts';

/** Addresses to which no proxy of a sandbox leads, in the spellings that programs accept. */
export const forbidden = [
  ...['127.0.0.1', '0', '0.0.0.0', '127.1', '2130706433', '0x7f.1', '017700000001', '127.0.0.1.', '[::1]', '[::]'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1%25lo]', '[fe80::1]', '[fe80::1%lo]'],
  ...['169.254.169.254', '[fd00:ec2::254]', '100.100.100.200', '10.66.0.10', '[::ffff:10.66.0.10]', '[fd66::a]', '[64:ff9b::a42:a]'],
  ...['[2002:a42:a::1]', '192.168.0.1', '172.16.0.1', '100.64.0.1', '224.0.0.1', '255.255.255.255', gatewayAddress, '10.66.0.1'],
];

/** Where an allowed name may not lead. */
export const badAnswers: Readonly<Record<string, NameAnswer>> = {
  loopback: { addresses: ['127.0.0.1'] },
  unspecified: { addresses: ['0.0.0.0'] },
  metadata: { addresses: ['169.254.169.254'] },
  private: { addresses: ['10.66.0.10'] },
  gateway: { addresses: [gatewayAddress] },
  loopback6: { addresses: ['::1'] },
  mapped: { addresses: ['::ffff:10.66.0.10'] },
  nat64: { addresses: ['64:ff9b::a42:a'] },
  sixtofour: { addresses: ['2002:a42:a::1'] },
  unique: { addresses: ['fd66::a'] },
  gateway6: { addresses: ['fd66::1'] },
  chain: { through: ['one.chain.test', 'two.chain.test'], addresses: ['10.66.0.10'] },
  several: { addresses: ['10.66.0.10', '127.0.0.1', '169.254.169.254'] },
};
