import type { IncomingMessage } from 'node:http';
import { type Destination, destinationText } from '../core/egress.ts';

/** They belong to one connection and are not forwarded. */
const hopByHop: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

const methodsWithBody: readonly (string | undefined)[] = ['POST', 'PUT', 'PATCH'];

/** The names and values of all headers but those of the connection, in the form and order of `rawHeaders`. */
export function endToEnd(message: IncomingMessage, raw: readonly string[] = message.rawHeaders): string[] {
  const listed = message.headers.connection?.split(',').map((name) => name.trim().toLowerCase()) ?? [];
  const dropped = new Set([...hopByHop, ...listed]);
  return pairs(raw).flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
}

/** The headers of a request as the host gets them. Security: `Host` is the allowed host, and only here a body gets its framing. */
export function forwardedHeaders(request: IncomingMessage, { host, port }: Destination, usualPort: number): string[] {
  const headers = pairs(endToEnd(request)).filter(([name]) => name.toLowerCase() !== 'host');
  const hasLength = headers.some(([name]) => name.toLowerCase() === 'content-length');
  const text = destinationText({ host, port });
  headers.unshift(['Host', port === usualPort ? text.slice(0, text.lastIndexOf(':')) : text]);
  if (hasBody(request)) {
    if (!hasLength) headers.push(['Transfer-Encoding', 'chunked']);
  } else if (!hasLength && methodsWithBody.includes(request.method)) headers.push(['Content-Length', '0']);
  return headers.flat();
}

/** Without a framing, a request has no body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** What is wrong with a request that Node's parser has let pass. */
export function requestProblem(request: IncomingMessage): string | undefined {
  const { httpVersion, rawHeaders } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The proxy speaks HTTP/1.0 and HTTP/1.1.';
  const hosts = pairs(rawHeaders).filter(([name]) => name.toLowerCase() === 'host');
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion === '1.1')) return 'The request must have one header Host.';
  if (!isPlainlyFramed(request) || (httpVersion === '1.0' && request.headers['transfer-encoding'] !== undefined))
    return 'The transfer encoding of the request is not supported.';
  return undefined;
}

/** Whether its body has no other transfer encoding than chunked, which Node decodes. */
export function isPlainlyFramed({ headers }: IncomingMessage): boolean {
  return (headers['transfer-encoding'] ?? 'chunked').toLowerCase() === 'chunked';
}

/** Names and values in turn, without those of these names in lower case. */
export function headersWithout(raw: readonly string[], names: readonly string[]): string[] {
  return pairs(raw).flatMap(([name, value]) => (names.includes(name.toLowerCase()) ? [] : [name, value]));
}

function pairs(raw: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) found.push([raw[at] ?? '', raw[at + 1] ?? '']);
  return found;
}
