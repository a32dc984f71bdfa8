import { isIP } from 'node:net';
import { allowRules, egressRules } from '../config/egress-rules.ts';
import type { Config } from '../config/schema.ts';
import { type BlockReason, type Destination, destinationText, type EgressRules } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import { type AddressClass, isPrivateAllowed } from '../egress/addresses.ts';
import { classifyHere } from '../egress/dial.ts';
import { isPublicName } from '../egress/names.ts';
import { decide, directPorts, isLocalhost, parseDestination } from '../egress/rules.ts';
import { hermetic } from '../lib/own-command.ts';
import { isAskedAbout } from './host-argument.ts';

interface JudgedAddress {
  address: string;
  class: AddressClass;
  allowed: boolean;
}

type Reason = Extract<BlockReason, 'unlisted' | 'denied' | 'private-address' | 'special-address' | 'own-address' | 'unresolved'>;

/** What would become of a connection from a restricted sandbox. JSON, but for what is undefined. */
export interface NetworkVerdict extends Destination {
  /** `asked`: no rule decides, and people are asked while the connection waits. */
  verdict: 'allowed' | 'asked' | 'denied' | 'unresolved';
  /** undefined when it is allowed. */
  reason: Reason | undefined;
  /** The rule that decided, and where it is from. */
  rule: string | undefined;
  source: string | undefined;
  /** Whether programs that know no proxy reach it too: by its name, on one of the direct ports. */
  direct: boolean;
  /** undefined when nothing was resolved. */
  addresses: readonly JudgedAddress[] | undefined;
}

/** Reads `HOST[:PORT]`; without a port, 443. */
export function destinationFrom(text: string): Destination {
  const destination = parseDestination(text, 443);
  if (destination) return destination;
  throw new HermeticError('usage/bad-argument', `${JSON.stringify(text)} is neither a host nor a host and a port.`, {
    hint: `Usage: ${hermetic} network test HOST[:PORT] [--resolve] [--json]`,
  });
}

/** The addresses of a name; empty when it has none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Security: a name that no rule allows is not resolved, here as in a sandbox. */
export async function networkVerdict(config: Config, destination: Destination, resolve?: Resolve): Promise<NetworkVerdict> {
  const sources = new Map(allowRules(config).map(({ rule, source }) => [rule, source]));
  const rules = { ...egressRules(config), allow: [...sources.keys()] };
  const decision = decide(rules, destination);
  const rule = decision.verdict === 'unlisted' ? undefined : decision.rule;
  const { host } = destination;
  const literal = isIP(host) === 0 ? undefined : judged(host, host, rules);
  const isAsked = config.network.ask && isAskedAbout(destination);
  const answer = (reason?: Reason, addresses?: readonly JudgedAddress[]): NetworkVerdict => ({
    ...destination,
    verdict: verdictFor(reason, isAsked),
    reason,
    rule: rule?.text,
    source: rule && (sources.get(rule) ?? 'network.deny'),
    direct: isPublicName(host) && directPorts(rules).includes(destination.port),
    addresses,
  });
  if (decision.verdict === 'denied') return answer('denied');
  // An address that no rule of `network.allow` could open says so, listed or not.
  if (literal && literal.class !== 'public' && !literal.allowed) return answer(`${literal.class}-address`, [literal]);
  if (isLocalhost(host)) return answer('own-address');
  if (decision.verdict === 'unlisted') return answer('unlisted');
  if (!literal && !resolve) return answer();
  const addresses = literal ? [literal] : ((await resolve?.(host)) ?? []).map((address) => judged(address, host, rules));
  if (addresses.some(({ allowed }) => allowed)) return answer(undefined, addresses);
  // Of several, one that can be allowed.
  const refused = addresses.find((one) => one.class === 'private') ?? addresses[0];
  return answer(refused === undefined || refused.class === 'public' ? 'unresolved' : `${refused.class}-address`, addresses);
}

function verdictFor(reason: Reason | undefined, isAsked: boolean): NetworkVerdict['verdict'] {
  if (reason === undefined) return 'allowed';
  if (reason === 'unresolved') return 'unresolved';
  return reason === 'unlisted' && isAsked ? 'asked' : 'denied';
}

function judged(address: string, host: string, rules: EgressRules): JudgedAddress {
  const kind = classifyHere(address);
  return { address, class: kind, allowed: kind === 'public' || (kind === 'private' && isPrivateAllowed(address, host, rules.private)) };
}

const whyNot: Readonly<Record<Exclude<Reason, 'denied'>, string>> = {
  unlisted: 'no rule allows it. Add it to network.allow to change that.',
  'private-address': 'it leads to a private address. Add the host or its network to network.private to change that.',
  'special-address': 'it leads to a special address, which a restricted sandbox never reaches.',
  'own-address': 'it leads to this machine, which a restricted sandbox never reaches.',
  unresolved: 'its name has no address.',
};

/** In sentences. */
export function verdictText({ host, port, verdict, reason, rule, source, direct, addresses = [] }: NetworkVerdict): string {
  const where = destinationText({ host, port });
  const by = rule === undefined ? '' : ` by ${rule} (${source})`;
  const first = {
    allowed: `${where} is allowed${by}.`,
    asked: `${where} would be asked about: no rule names it. Where no person can be asked, it is blocked.`,
    denied: reason === undefined || reason === 'denied' ? `${where} is denied${by}.` : `${where} is denied: ${whyNot[reason]}`,
    unresolved: `${where} is allowed${by}, but ${whyNot.unresolved}`,
  }[verdict];
  const lines = [
    first,
    ...addresses.map(({ address, class: kind, allowed }) => `  ${address}: ${kind}, ${allowed ? 'allowed' : 'refused'}`),
    ...(verdict === 'allowed'
      ? [direct ? `Programs reach it by name and through the proxy.` : `Programs reach it through the proxy only.`]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}
