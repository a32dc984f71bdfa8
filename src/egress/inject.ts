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

export type Injection = { request: OutgoingRequest; used: readonly string[] } | { refused: string };

/**
 * Replaces placeholders by values, where each secret allows it. `here` are the secrets of this host, `all` those of the installation.
 * Security: a placeholder of a secret of other hosts is refused, so that no mistake sends one away unseen; bodies are never looked into, because
 * hosts repeat them.
 */
export function inject(request: OutgoingRequest, here: readonly BoundSecret[], all: readonly BoundSecret[]): Injection {
  const foreign = all.find((secret) => !here.some(({ name }) => name === secret.name) && mentions(request, secret));
  if (foreign) return { refused: `${foreign.name} is not for this host` };
  const stranger = here.some(({ exclusive }) => exclusive) ? otherCredential(request, here) : undefined;
  if (stranger !== undefined) return { refused: `this host takes only its own secret, and ${stranger} has another credential` };
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

/** Applies a change to the user and password of an `Authorization: Basic`. */
function inBasic(name: string, text: string, change: (inner: string) => string): string {
  const [, encoded] = (name === 'authorization' && /^basic\s+([A-Za-z0-9+/]+={0,2})\s*$/i.exec(text)) || [];
  if (encoded === undefined) return text;
  const inner = Buffer.from(encoded, 'base64').toString('latin1');
  const changed = change(inner);
  return changed === inner ? text : `Basic ${Buffer.from(changed, 'latin1').toString('base64')}`;
}

function mentions(request: OutgoingRequest, { placeholder }: BoundSecret): boolean {
  const texts = pairs(request.headers).flatMap(([name, text]) => {
    let inner = '';
    inBasic(name, text, (decoded) => {
      inner = decoded;
      return decoded;
    });
    return [name, text, inner];
  });
  return [request.path, ...texts].some((text) => text.includes(placeholder));
}

/** Where a request has a credential that is no placeholder of this host. */
function otherCredential(request: OutgoingRequest, here: readonly BoundSecret[]): string | undefined {
  const names = new Set([...credentialHeaders, ...here.flatMap(({ headers }) => headers)]);
  const isOwn = (single: OutgoingRequest): boolean => here.some((secret) => mentions(single, secret));
  const header = pairs(request.headers).find(([name, text]) => names.has(name) && !isOwn({ headers: [name, text], path: '' }));
  if (header) return `the header ${header[0]}`;
  const parameters = new URLSearchParams(request.path.split('?').slice(1).join('?'));
  const parameter = [...parameters].find(([name, value]) => credentialLike.test(name) && !isOwn({ headers: [], path: value }));
  return parameter && 'the query';
}

/** Names in lower case. */
function pairs(headers: readonly string[]): [name: string, value: string][] {
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1] ?? '']] : []));
}
