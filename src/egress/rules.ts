import { isIP } from 'node:net';
import type { Destination, EgressRules, HostRule, PrivateRule } from '../core/egress.ts';
import { addressClass, isPrivateRange } from './addresses.ts';
import { proxyPort } from './environment.ts';
import { canonicalHost } from './host-name.ts';

const webPorts = [80, 443];

/** More listeners than this in each sandbox are not opened. */
const maxDirectPorts = 64;

/** The proxy has one, and TCP to the resolver is not offered. */
export const neverDirect: readonly number[] = [53, proxyPort];

/** Reads an entry of `network.allow` or of a preset, or says what is wrong with it. Without a port, it covers 80 and 443. */
export function parseHostRule(text: string): HostRule | string {
  return parseRule(text, webPorts);
}

/** Reads an entry of `network.deny`, or says what is wrong with it. Without a port, it covers all: the host is denied. */
export function parseDenyRule(text: string): HostRule | string {
  return parseRule(text, 'all');
}

/** Reads an entry of `network.private`, or says what is wrong with it. */
export function parsePrivateRule(text: string): PrivateRule | string {
  const entry = text.trim();
  const [address = '', length, ...rest] = entry.split('/');
  if (length !== undefined) {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    const isPrefix = rest.length === 0 && /^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= (family === 'ipv4' ? 32 : 128);
    if (canonicalHost(address) === undefined || !isIP(address) || !isPrefix)
      return `${quoted(text)} is not an address range such as 10.0.0.0/8.`;
    return networkRule(address, Number(length), family, text);
  }
  if (entry.includes('*')) return `${quoted(text)} has a wildcard. Name a host, an address, or a range such as 10.0.0.0/8.`;
  const host = canonicalHost(entry);
  if (host === undefined) return `${quoted(text)} is not a host name, an address, or a range such as 10.0.0.0/8.`;
  const version = isIP(host);
  if (version !== 0) return networkRule(host, version === 4 ? 32 : 128, version === 4 ? 'ipv4' : 'ipv6', text);
  if (isLocalhost(host)) return neverReached(text);
  return { kind: 'host', host, text };
}

export function matches(rule: HostRule, { host, port }: Destination): boolean {
  if (rule.ports !== 'all' && !rule.ports.includes(port)) return false;
  // Security: the dot before it, so that evilexample.com is not below example.com.
  return rule.isWildcard ? isIP(host) === 0 && host.endsWith(`.${rule.host}`) : host === rule.host;
}

export type Decision = { verdict: 'allowed' | 'denied'; rule: HostRule } | { verdict: 'unlisted' };

/** What the rules say about a destination in the spelling of `canonicalHost`. Its addresses are judged when it is dialled. */
export function decide(rules: EgressRules, destination: Destination): Decision {
  const denied = rules.deny.find((rule) => matches(rule, destination));
  if (denied) return { verdict: 'denied', rule: denied };
  const allowed = rules.allow.find((rule) => matches(rule, destination));
  return allowed ? { verdict: 'allowed', rule: allowed } : { verdict: 'unlisted' };
}

/** The ports to open for programs that know no proxy: those of `network.direct_ports`, then those that rules name, but not 80. */
export function directPorts(rules: EgressRules): number[] {
  // Two ports are those of a rule that names none.
  const named = rules.allow.flatMap(({ ports }) => (ports !== 'all' && ports.length === 1 ? ports : [])).filter((port) => port !== 80);
  const ports = new Set([...rules.directPorts, ...named].filter((port) => isPort(port) && !neverDirect.includes(port)));
  return [...ports].slice(0, maxDirectPorts);
}

function parseRule(text: string, portsOfNone: HostRule['ports']): HostRule | string {
  const entry = text.trim();
  if (entry.includes('://')) return `${quoted(text)} is a URL. Write only its host, such as example.com.`;
  if (/^[^/]+\/\d+$/.test(entry) && isIP(entry.replace(/\/\d+$/, '')))
    return `${quoted(text)} is an address range. Name the hosts; ranges of private addresses belong in network.private.`;
  const isWildcard = entry.startsWith('*.');
  const { written, port } = splitPort(isWildcard ? entry.slice(2) : entry);
  const host = canonicalHost(written);
  if (host === undefined) return `${quoted(text)} is not HOST, *.HOST, HOST:PORT or HOST:*.`;
  if (isWildcard && (isIP(host) || !host.includes('.')))
    return `${quoted(text)} would match too much. A wildcard needs a name with a dot, such as *.example.com.`;
  if (isLocalhost(host) || (isIP(host) && addressClass(host) === 'special')) return neverReached(text);
  if (port === undefined) return { host, isWildcard, ports: portsOfNone, text };
  if (port === '*') return { host, isWildcard, ports: 'all', text };
  if (!/^[1-9]\d{0,4}$/.test(port) || !isPort(Number(port))) return `${quoted(text)} has no valid port. Use 1 to 65535, or * for all.`;
  return { host, isWildcard, ports: [Number(port)], text };
}

/** Reads `HOST` or `HOST:PORT`. Undefined for anything else. */
export function parseDestination(text: string, defaultPort: number): Destination | undefined {
  const { written, port = String(defaultPort) } = splitPort(text.trim());
  const host = canonicalHost(written);
  return host !== undefined && /^[1-9]\d{0,4}$/.test(port) && isPort(Number(port)) ? { host, port: Number(port) } : undefined;
}

/** What is after the last colon, unless it is one of an IPv6 address. */
function splitPort(entry: string): { written: string; port: string | undefined } {
  const colon = entry.lastIndexOf(':');
  const isInAddress = isIP(entry) === 6 || entry.endsWith(']');
  return colon < 0 || isInAddress ? { written: entry, port: undefined } : { written: entry.slice(0, colon), port: entry.slice(colon + 1) };
}

function networkRule(address: string, prefix: number, family: 'ipv4' | 'ipv6', text: string): PrivateRule | string {
  if (!isPrivateRange({ address, prefix, family })) {
    return `${quoted(text)} is not a part of a private network. Public addresses need no entry here, and special ones are never reached.`;
  }
  return { kind: 'network', address, prefix, family, text };
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function neverReached(text: string): string {
  return `${quoted(text)} is never reached from a restricted sandbox, with or without a rule.`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
