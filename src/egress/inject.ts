import type { BoundSecret } from '../core/egress.ts';
import { credentialLike } from '../lib/credential-like.ts';
import { credentialHeaders } from './bound-secret.ts';

/** A request on its way to a host that has secrets. */
export interface OutgoingRequest {
  /** Names and values in turn. */
  headers: string[];
  /** With its query. */
  path: string;
}

/** With the names of the secrets that were put in. */
export type Injection = { request: OutgoingRequest; used: readonly string[] } | { refused: string };

/**
 * Replaces placeholders by values, where each secret allows it. `here` are the secrets of this host, `all` those of the installation.
 * Security: a placeholder of a secret of other hosts is refused, so that no mistake sends one away unseen; bodies are never looked into, because
 * hosts repeat them.
 */
export function inject(request: OutgoingRequest, here: readonly BoundSecret[], all: readonly BoundSecret[]): Injection {
  const foreign = all.filter((secret) => !here.some(({ name }) => name === secret.name));
  const [carried] = placeholdersIn(request, foreign);
  if (carried !== undefined) return { refused: `${carried} is not for this host` };
  const refusal = refusalFor(request, here);
  if (refusal) return refusal;
  const used = new Set<string>();
  const replaced = (text: string, secret: BoundSecret, value = secret.value): string => {
    if (!text.includes(secret.placeholder)) return text;
    used.add(secret.name);
    return text.replaceAll(secret.placeholder, () => value);
  };
  const header = (name: string, text: string): string => {
    const own = here.filter(({ headers }) => headers.includes(name));
    return own.reduce((result, secret) => inBasic(name, replaced(result, secret), (inner) => replaced(inner, secret)), text);
  };
  const headers = request.headers.map((text, at) => (at % 2 === 0 ? text : header((request.headers[at - 1] ?? '').toLowerCase(), text)));
  const [path = '', ...queries] = request.path.split('?');
  const query = queries.join('?');
  const inUrl = (text: string, secrets: readonly BoundSecret[]): string =>
    secrets.reduce((result, secret) => replaced(result, secret, encodeURIComponent(secret.value)), text);
  const newPath = inUrl(
    path,
    here.filter((secret) => secret.path),
  );
  const newQuery = inUrl(
    query,
    here.filter((secret) => secret.query),
  );
  return { request: { headers, path: queries.length > 0 ? `${newPath}?${newQuery}` : newPath }, used: [...used] };
}

/** The names of the secrets whose placeholders a request has. */
export function placeholdersIn(request: OutgoingRequest, secrets: readonly BoundSecret[]): string[] {
  return secrets.filter((secret) => mentions(request, secret)).map(({ name }) => name);
}

/** The user and password of an `Authorization: Basic`, with a colon between them. */
function basicText(name: string, text: string): string | undefined {
  const [, encoded] = (name === 'authorization' && /^basic\s+([A-Za-z0-9+/]+={0,2})\s*$/i.exec(text)) || [];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('latin1');
}

function inBasic(name: string, text: string, change: (inner: string) => string): string {
  const inner = basicText(name, text);
  const changed = inner === undefined ? inner : change(inner);
  return changed === undefined || changed === inner ? text : `Basic ${Buffer.from(changed, 'latin1').toString('base64')}`;
}

function mentions(request: OutgoingRequest, { placeholder }: BoundSecret): boolean {
  const texts = pairs(request.headers).flatMap(([name, text]) => [name, text, basicText(name, text) ?? '']);
  return [request.path, ...texts].some((text) => text.includes(placeholder));
}

/** Why a request is not sent to a host of these secrets; undefined when it is, or none of them is exclusive. */
export function refusalFor(request: OutgoingRequest, here: readonly BoundSecret[]): { refused: string } | undefined {
  const place = here.some(({ exclusive }) => exclusive) ? otherCredential(request, here) : undefined;
  return place === undefined ? undefined : { refused: `this host takes only its own secret, and ${place} has another credential` };
}

/** Where a request has a credential that is not exactly a placeholder of this host. Bodies are not looked at. */
function otherCredential({ headers, path: url }: OutgoingRequest, here: readonly BoundSecret[]): string | undefined {
  const placeholders = here.map(({ placeholder }) => placeholder);
  const isOwn = (text: string): boolean => placeholders.includes(text);
  const names = new Set([...credentialHeaders, ...here.flatMap((secret) => secret.headers)]);
  const isCredential = (name: string): boolean => names.has(name) || isCredentialHeader(name);
  const header = pairs(headers).find(([name, text]) => isCredential(name) && !credentialsIn(name, text).every(isOwn));
  if (header) return `the header ${header[0]}`;
  const [path = '', ...queries] = url.split('?');
  const inPath = here.filter((secret) => secret.exclusive && secret.path);
  if (inPath.length > 0 && (isAmbiguous(path) || !inPath.every(({ placeholder }) => path.includes(placeholder)))) return 'the path';
  // Some hosts separate parameters by other signs, and take those of a path.
  const parameters = [...path.split(';').slice(1), queries.join('&').replaceAll(';', '&')].flatMap((text) => [
    ...new URLSearchParams(text),
  ]);
  return parameters.some(([name, value]) => isCredentialName(name) && !isOwn(value)) ? 'the query' : undefined;
}

/** A path that its host may read as another one: with steps, with signs that end or divide a path, or with them, a percent sign or a control character escaped. */
function isAmbiguous(path: string): boolean {
  return /[#;\\]|%(?:2f|5c|25|3f|23|3b|7f|[01][\da-f])|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(path);
}

/** A signature, as that of a signed URL, stands for an account too. */
const otherCredentialNames = /(?:^|[-_.])(?:sig|signature|jwt|assertion|hmac|bearer|dpop|pat|pwd|pass|sid)(?:$|[-_.\d])/i;

/** Parts of names that say nothing about an account: of pages of results, of columns, of repeated requests, of forms and of sessions of the protocol MCP. */
const otherNames = [
  'author(?!iz)',
  'keyword',
  '(?:page|next|previous|prev|sync|continuation|start|marker)[-_]?token',
  '(?:sort|order|group|partition|primary|foreign|surrogate|idempotency)[-_]?key',
  '(?:max|min|prompt|completion|output|input)[-_](?:\\w+[-_])?tokens',
  '(?:csrf|xsrf)[-_]?token',
  'mcp-session-id',
];
const otherName = new RegExp(otherNames.join('|'), 'gi');

function isCredentialName(name: string): boolean {
  return credentialLike.test(name.replaceAll(otherName, '')) || otherCredentialNames.test(name);
}

/** Of the browser and of the handshake of a WebSocket. Its protocols may carry a token. */
const handshakeHeader = /^sec-(?:fetch-|ch-|gpc$|websocket-(?!protocol$))/;

function isCredentialHeader(name: string): boolean {
  return name === 'sec-websocket-protocol' || (isCredentialName(name) && !handshakeHeader.test(name));
}

/** What looks like a token, and not like the name of a protocol or a person. */
const tokenLike = /^[\w.~+/=-]{24,}$/;
/** Shorter ones are told from names by letters and digits in one word. */
const shortToken = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{16,}$/;
/** The user of every token of Google. */
const publicUser = 'oauth2accesstoken';

/** Words before a credential that are none. */
const schemes =
  /^(?:bearer|basic|token|bot|key|apikey|api-key|api-token|oauth|jwt|ssws|splunk|geniekey|deepl-auth-key|klaviyo-api-key|zoho-oauthtoken)\s+(?:token=)?/i;

/** Every credential in a header: all cookies, those of `Basic`, what follows the scheme, or all of it. */
function credentialsIn(name: string, text: string): string[] {
  if (name === 'cookie') {
    const cookies = text.split(';').filter((cookie) => cookie.trim() !== '');
    return cookies.map((cookie) => cookie.slice(cookie.indexOf('=') + 1).trim());
  }
  if (name === 'sec-websocket-protocol') return protocolTokens(text);
  const inner = basicText(name, text);
  if (inner === undefined) return [text.trim().replace(schemes, '')];
  const colon = inner.indexOf(':');
  const [user, password] = colon === -1 ? [inner, ''] : [inner.slice(0, colon), inner.slice(colon + 1)];
  // A token may also be the user, with no password or beside one.
  if (password === '') return [user];
  const isToken = user !== publicUser && (tokenLike.test(user) || shortToken.test(user));
  return isToken ? [user, password] : [password];
}

/** Some clients put their token into the name of a protocol, after a dot, or into the next one. */
function protocolTokens(text: string): string[] {
  const protocols = text.split(',').map((protocol) => protocol.trim());
  return protocols.flatMap((protocol, index) => {
    const parts = protocol.split('.');
    const named = parts.findLastIndex(isCredentialName);
    const next = named === parts.length - 1 ? protocols[index + 1] : parts.at(-1);
    const tokens = parts.filter((part) => tokenLike.test(part));
    return named === -1 || next === undefined ? tokens : [...tokens, next];
  });
}

/** Names in lower case. */
function pairs(headers: readonly string[]): [name: string, value: string][] {
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1] ?? '']] : []));
}
