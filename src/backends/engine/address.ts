import type { SecureContext } from 'node:tls';
import { HermeticError } from '../../core/errors.ts';
import type { EngineProduct } from './product.ts';

/** Where an engine listens. */
export type EngineAddress =
  | { kind: 'unix'; path: string }
  /** With `tls` the engine must prove by its certificate that it is this host. */
  | { kind: 'tcp'; host: string; port: number; tls?: SecureContext | undefined };

/** The same as a person writes it, before certificates are read. */
export type WrittenAddress =
  | Extract<EngineAddress, { kind: 'unix' }>
  | { kind: 'tcp'; host: string; port: number | undefined; isTls: boolean };

/** In the form of `DOCKER_HOST`. */
export function addressText(address: EngineAddress): string {
  return address.kind === 'unix'
    ? `unix://${address.path}`
    : `tcp://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}

/** `by` says who wrote it. */
export function parseHost(host: string, by: string, { name, kind }: Pick<EngineProduct, 'name' | 'kind'>): WrittenAddress {
  if (host.startsWith('unix://') || host.startsWith('/')) {
    const path = host.replace(/^unix:\/\//, '');
    if (path.startsWith('/')) return { kind: 'unix', path };
  }
  if (host.startsWith('ssh://')) {
    throw new HermeticError('backend/unavailable', `${by} names the ${name} engine ${host}, and engines behind ssh are not supported.`, {
      hint: `Forward the socket (ssh -nNT -L /tmp/${kind}.sock:SOCKET HOST) and name unix:///tmp/${kind}.sock instead, or use the ssh backend.`,
    });
  }
  const [scheme = ''] = /^(?:tcp|https?)(?=:\/\/)/.exec(host) ?? [];
  const url = scheme === '' ? null : URL.parse(host.replace(/^\w+:/, 'http:'));
  if (url && url.hostname !== '' && url.username === '' && url.password === '' && url.pathname === '/') {
    // `URL` drops the usual port of its scheme.
    const [, written] = /:(\d+)\/?$/.exec(host) ?? [];
    const usual = { tcp: undefined, http: 80, https: 443 }[scheme];
    return {
      kind: 'tcp',
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: written === undefined ? usual : Number(written),
      isTls: scheme === 'https',
    };
  }
  throw new HermeticError('config/bad-value', `"${host}" (${by}) is not the address of a ${name} engine.`, {
    hint: `Write it as unix:///PATH/${kind}.sock, tcp://HOST:PORT or https://HOST:PORT.`,
  });
}
