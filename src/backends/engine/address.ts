import type { SecureContext } from 'node:tls';
import { HermeticError } from '../../core/errors.ts';
import { parseTarget, type SshTarget } from '../../lib/ssh/target.ts';
import { userName } from '../user-name.ts';
import type { EngineProduct } from './product.ts';
import type { SshWay } from './ssh-way.ts';

/** Where an engine listens. */
export type EngineAddress =
  | { kind: 'unix'; path: string }
  /** With `tls` the engine must prove by its certificate that it is this host. */
  | { kind: 'tcp'; host: string; port: number; tls?: SecureContext | undefined }
  /** `path` is that of a socket on the other machine. */
  | { kind: 'ssh'; target: SshTarget; path: string; way: SshWay };

/** The same as a person writes it, before certificates are read. */
export type WrittenAddress =
  | Extract<EngineAddress, { kind: 'unix' }>
  | { kind: 'tcp'; host: string; port: number | undefined; isTls: boolean }
  | { kind: 'ssh'; target: SshTarget; path: string | undefined };

/** In the form of `DOCKER_HOST`. */
export function addressText(address: EngineAddress): string {
  if (address.kind === 'unix') return `unix://${address.path}`;
  const { host, port } = address.kind === 'ssh' ? address.target : address;
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return address.kind === 'ssh' ? `ssh://${address.target.user}@${place}${address.path}` : `tcp://${place}`;
}

/** `by` says who wrote it. */
export function parseHost(host: string, by: string, { name, kind }: Pick<EngineProduct, 'name' | 'kind'>): WrittenAddress {
  if (host.startsWith('unix://') || host.startsWith('/')) {
    const path = host.replace(/^unix:\/\//, '');
    if (path.startsWith('/')) return { kind: 'unix', path };
  }
  const [, remote, path] = /^ssh:\/\/([^/]+)(\/[^\0]+)?\/?$/.exec(host) ?? [];
  const target = remote === undefined ? undefined : parseTarget(remote, userName());
  if (target) return { kind: 'ssh', target, path };
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
    hint: `Write it as unix:///PATH/${kind}.sock, tcp://HOST:PORT, https://HOST:PORT or ssh://USER@HOST.`,
  });
}
