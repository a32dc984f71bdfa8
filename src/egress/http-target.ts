import type { IncomingMessage } from 'node:http';
import type { Destination } from '../core/egress.ts';
import { canonicalHost } from './host-name.ts';
import { malformed, type Refusal } from './refusal.ts';

/** `host` as the client wrote it. */
export interface Authority {
  host: string;
  port: number;
}

export interface Target extends Authority {
  /** The path with its query, as the client wrote it. */
  path: string;
}

const httpPort = 80;

/** What is before the first `/`, and the rest; a fragment is never sent. */
const absoluteForm = /^http:\/\/([^/?#]*)([^#]*)$/i;
const authorityForm = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/;

/** Reads `host:port`, as in `CONNECT host:port`. */
export function parseAuthority(text: string, defaultPort?: number): Authority | undefined {
  const [, host, digits] = authorityForm.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  return host && port !== undefined && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** The target of a request to the proxy, which must be in the absolute form. */
export function proxyTarget({ url = '' }: IncomingMessage): Target | Refusal {
  const [, authority, rest = ''] = absoluteForm.exec(url) ?? [];
  if (authority === undefined) return malformed('This is a proxy: it forwards requests for http:// URLs, and CONNECT.');
  // Security: user information could pass for the host in another reader of the URL.
  if (authority.includes('@')) return malformed('The proxy forwards no URL with user information.');
  const target = parseAuthority(authority, httpPort);
  if (!target) return malformed('The URL has no valid host and port.');
  return { ...target, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** The target of a request on a connection that leads to `fixed`. */
export function fixedTarget(request: IncomingMessage, fixed: Destination): Target | Refusal {
  const { url = '', method } = request;
  if (url.includes('#')) return malformed('The target of a request has no fragment.');
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return { ...fixed, path: url };
  const target = proxyTarget(request);
  if ('reason' in target) return target;
  // Security: the host at the other end may be a proxy itself, or serve more hosts than the allowed one.
  if (canonicalHost(target.host) !== fixed.host || target.port !== fixed.port)
    return malformed('The request is for another host than the connection.');
  return target;
}
