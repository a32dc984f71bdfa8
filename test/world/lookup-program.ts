import { createInterface } from 'node:readline';
import { Resolver, SessionLookups } from '../../src/egress/resolver.ts';

/** Looks up the host of each line of its input as the gateway does for a new sandbox, and prints its addresses. */
const resolver = new Resolver();
for await (const host of createInterface({ input: process.stdin })) {
  const found = await resolver.addressesOf(host, new SessionLookups(), new AbortController().signal);
  process.stdout.write(`${found.map(({ address }) => address).join(' ')}\n`);
}
