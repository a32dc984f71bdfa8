import { promises as dns, type LookupAddress } from 'node:dns';
import { HostsFile } from './hosts-file.ts';
import { hasPublicIpv6 } from './own-addresses.ts';

/**
 * The addresses of a host, in the order in which to try them. Settles soon after `signal` has aborted, with those that
 * are known by then.
 */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

export interface SystemLookupOptions {
  hostsFile?: string;
  /** Those of /etc/resolv.conf, as it is at each look-up, unless a test has its own. */
  servers?: readonly string[];
}

interface Query {
  host: string;
  family: 4 | 6;
  signal: AbortSignal;
}

/** Then the next server is asked, and the first one again after the last. */
const timeout = 2_000;
const tries = 2;

/** Such an answer says nothing about the name: another server may know it. */
const refusals: readonly string[] = [dns.SERVFAIL, dns.REFUSED, dns.NOTIMP];

/**
 * Looks names up in the hosts file, then at the name servers of this machine, for addresses of both families. Unlike
 * `getaddrinfo`, it takes none of Node's four threads while a name server is silent. It knows no search domains, and of
 * nsswitch.conf only files and DNS.
 */
export function systemLookup({ hostsFile = '/etc/hosts', servers }: SystemLookupOptions = {}): Lookup {
  const hosts = new HostsFile(hostsFile);
  return async (host, signal) => {
    const listed = await hosts.addressesOf(host);
    if (listed.length > 0) return listed;
    const found = async (family: Query['family']) => await addressesFor({ host, family, signal }, servers);
    const [ipv4, ipv6] = await Promise.all([found(4), found(6)]);
    return hasPublicIpv6() ? alternating(ipv6, ipv4) : alternating(ipv4, ipv6);
  };
}

async function addressesFor(query: Query, servers: readonly string[] | undefined): Promise<readonly LookupAddress[]> {
  const answer = await answerOf(query, servers);
  if (answer !== 'refused') return answer;
  // The library asks the next server when one is silent, and not when one refuses.
  const all = servers ?? new dns.Resolver().getServers();
  for (const server of all.length > 1 ? all : []) {
    const other = await answerOf(query, [server]);
    if (other !== 'refused') return other;
  }
  return [];
}

/** Never rejects. */
async function answerOf(query: Query, servers: readonly string[] | undefined): Promise<readonly LookupAddress[] | 'refused'> {
  try {
    const addresses = await ask(query, servers);
    return addresses.map((address) => ({ address, family: query.family }));
  } catch (error) {
    return refusals.includes((error as NodeJS.ErrnoException).code ?? '') ? 'refused' : [];
  }
}

async function ask({ host, family, signal }: Query, servers: readonly string[] | undefined): Promise<string[]> {
  signal.throwIfAborted();
  // One for each query: it reads /etc/resolv.conf when it is made, and avoids a server that left a name unanswered.
  const resolver = new dns.Resolver({ timeout, tries });
  if (servers) resolver.setServers(servers);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await (family === 4 ? resolver.resolve4(host) : resolver.resolve6(host));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** One of each in turn: of a host with many addresses not all are tried. */
function alternating(first: readonly LookupAddress[], second: readonly LookupAddress[]): LookupAddress[] {
  return Array.from({ length: Math.max(first.length, second.length) }, (_, at) =>
    [first[at], second[at]].filter((one) => one !== undefined),
  ).flat();
}
