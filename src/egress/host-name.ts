import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { ipv6Words, mappedIpv4 } from '../lib/ip-address.ts';

/** With the dot at the end that a full name may have. */
const maxLength = 254;

/**
 * Letters, marks and digits of any script, and the full stops of East Asia. Security: no other character may reach `domainToASCII`, which
 * drops what does not show, decodes `%` and cuts at `/`, `?` and `#`.
 */
const written = /^[[\p{L}\p{M}\p{N}_.\-\u3002\uFF0E\uFF61]--\p{Default_Ignorable_Code_Point}]+$/v;

const label = '(?!-)[a-z0-9_\\-]{1,63}(?<!-)';
const name = new RegExp(`^${label}(?:\\.${label})*$`);

/**
 * The one spelling of a host, for rules, requests, TLS names, look-ups and the log: a name in lower case, ASCII and without a dot at the end; an
 * IPv4 address with four decimal numbers, also when it is written as a number, in octal, in hexadecimal or as IPv6; an IPv6 address without
 * brackets, as RFC 5952 writes it. Undefined for anything else.
 */
export function canonicalHost(text: string): string | undefined {
  if (text.length > maxLength) return undefined;
  if (text.includes(':')) return canonicalIpv6(text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text);
  if (!written.test(text)) return undefined;
  const ascii = domainToASCII(text).replace(/\.$/, '');
  return isIP(ascii) === 4 || (ascii.length < maxLength && name.test(ascii)) ? ascii : undefined;
}

function canonicalIpv6(text: string): string | undefined {
  // Security: a zone names an interface of this machine.
  const words = text.includes('%') ? undefined : ipv6Words(text);
  return words && (mappedIpv4(words) ?? new URL(`http://[${text}]`).hostname.slice(1, -1));
}
