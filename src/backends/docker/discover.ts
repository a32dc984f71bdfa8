import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { findEngine, type NamedEngine } from '../engine/find-engine.ts';
import type { EngineProduct } from '../engine/product.ts';
import { contextEngine, type Environment } from './docker-context.ts';

export interface FindOptions {
  environment: Environment;
  /** The configured address, in the form of `DOCKER_HOST`. */
  dockerHost?: string | undefined;
  /** The configured directory of certificates. */
  certPath?: string | undefined;
  platform?: NodeJS.Platform;
  /** Stands before the usual absolute paths. */
  root?: string;
  pingTimeoutMs?: number;
}

const installHint: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Install it, on Debian and Ubuntu with: sudo apt-get install docker.io. Elsewhere see https://docs.docker.com/engine/install/',
  darwin: 'Install Docker Desktop, OrbStack or Colima: https://docs.docker.com/desktop/setup/install/mac-install/',
};
const startHint: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Start it with: sudo systemctl start docker. Without systemd: sudo dockerd &',
  darwin: 'Start Docker Desktop (open -a Docker), OrbStack or Colima (colima start).',
};

export function dockerProduct(platform = process.platform): EngineProduct {
  return {
    kind: 'docker',
    name: 'Docker',
    install: installHint[platform],
    start: startHint[platform],
    permit: 'Add the user to the group of the socket, then log in again: sudo usermod -aG docker "$USER"',
    oldest: '20.10',
  };
}

/** The engine of the configuration, of `DOCKER_HOST` or of the docker context, else the one that answers at a usual place. */
export async function findDocker(options: FindOptions): Promise<Engine> {
  const { environment, platform = process.platform, root = '', pingTimeoutMs } = options;
  const home = environment.HOME || userInfo().homedir;
  const directories = ['/usr/local/bin', '/opt/homebrew/bin', '/Applications/Docker.app/Contents/Resources/bin'];
  return await findEngine({
    product: dockerProduct(platform),
    ssh: { identity: { directory: join(home, '.ssh'), agentSocket: environment.SSH_AUTH_SOCK }, socket: '/var/run/docker.sock' },
    named: await namedEngine(options, home),
    sockets: [`${root}/var/run/docker.sock`, ...userEngineSockets(environment, home)],
    programs: directories.map((directory) => join(root + directory, 'docker')),
    path: environment.PATH,
    pingTimeoutMs,
  });
}

async function namedEngine({ environment, dockerHost, certPath }: FindOptions, home: string): Promise<NamedEngine | undefined> {
  const { DOCKER_HOST, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY, DOCKER_TLS } = environment;
  const usualCertificates = environment.DOCKER_CONFIG || join(home, '.docker');
  const directory = certPath || DOCKER_CERT_PATH;
  // Security: also DOCKER_TLS, with which the docker program would not verify the engine.
  const isTls = Boolean(certPath || DOCKER_TLS_VERIFY || DOCKER_TLS);
  const certificates = isTls ? { directory: directory || usualCertificates, needsAuthority: true } : undefined;
  const common = { certificates, usualCertificates: directory || usualCertificates };
  if (dockerHost) return { host: dockerHost, by: 'the configuration', ...common };
  if (DOCKER_HOST) return { host: DOCKER_HOST, by: 'DOCKER_HOST', ...common };
  const context = await contextEngine(environment, home);
  return (
    context && {
      host: context.host,
      by: `the docker context "${context.name}"`,
      certificates: context.certificates ?? certificates,
      usualCertificates: common.usualCertificates,
    }
  );
}

/** Where engines of the user who runs Hermetic usually listen. */
export function userEngineSockets(environment: Environment, home = environment.HOME || userInfo().homedir): string[] {
  const runtime = environment.XDG_RUNTIME_DIR;
  return [
    ...(runtime ? [join(runtime, 'docker.sock')] : []),
    ...[
      '.docker/run/docker.sock',
      '.docker/desktop/docker.sock',
      '.colima/default/docker.sock',
      '.orbstack/run/docker.sock',
      '.rd/docker.sock',
    ].map((path) => join(home, path)),
  ];
}
