import { join } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { findEngine, type NamedEngine } from '../engine/find-engine.ts';
import type { EngineProduct } from '../engine/product.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface FindOptions {
  environment: Environment;
  /** The configured address, in the form of `CONTAINER_HOST`. */
  podmanHost?: string | undefined;
  /** Stands before the usual absolute paths. */
  root?: string;
  pingTimeoutMs?: number;
}

const startHint =
  'Start it with: systemctl --user start podman.socket, or as root: systemctl start podman.socket. Without systemd: podman system service -t 0 &';

const podmanProduct: EngineProduct = {
  kind: 'podman',
  name: 'Podman',
  install: 'Install it, on Debian and Ubuntu with: sudo apt-get install podman. Elsewhere see https://podman.io/docs/installation',
  start: startHint,
  permit: `The socket belongs to another user: use a service of your own. ${startHint}`,
  oldest: '4.0',
};

/** The service of the configuration or of `CONTAINER_HOST`, else the one that answers at a usual place: that of the user before that of root. */
export async function findPodman({ environment, podmanHost, root = '', pingTimeoutMs }: FindOptions): Promise<Engine> {
  return await findEngine({
    product: podmanProduct,
    named: namedEngine(environment, podmanHost),
    sockets: podmanSockets(environment, root),
    programs: ['/usr/bin/podman', '/usr/local/bin/podman', '/opt/podman/bin/podman'].map((path) => root + path),
    path: environment.PATH,
    pingTimeoutMs,
  });
}

function namedEngine({ CONTAINER_HOST }: Environment, podmanHost: string | undefined): NamedEngine | undefined {
  if (podmanHost) return { host: podmanHost, by: 'the configuration' };
  return CONTAINER_HOST ? { host: CONTAINER_HOST, by: 'CONTAINER_HOST' } : undefined;
}

/** Where services usually listen. */
export function podmanSockets({ XDG_RUNTIME_DIR }: Environment, root = ''): string[] {
  const runtime = XDG_RUNTIME_DIR || `${root}/run/user/${process.getuid?.() ?? 0}`;
  return [join(runtime, 'podman/podman.sock'), `${root}/run/podman/podman.sock`];
}
