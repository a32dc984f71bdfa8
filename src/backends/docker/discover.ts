import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { EngineAddress } from '../engine/connection.ts';
import { Engine } from '../engine/engine.ts';
import { errnoOf } from '../engine/engine-errors.ts';
import { contextHost, type Environment } from './docker-context.ts';

export interface FindOptions {
  environment: Environment;
  /** The configured address, in the form of `DOCKER_HOST`. */
  dockerHost?: string | undefined;
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

/**
 * The engine that answers. An address that was configured (configuration, `DOCKER_HOST`, docker context) is the only one that is tried: a sandbox must
 * not turn up on another engine than the one that was meant.
 */
export async function findEngine(options: FindOptions): Promise<Engine> {
  const { environment, platform = process.platform } = options;
  const home = environment.HOME || userInfo().homedir;
  const named = await namedHost(options, home);
  if (named) {
    const engine = new Engine(parseHost(named.host, named.by, environment));
    await answering(engine, options, named.by);
    return engine;
  }

  let denied: HermeticError | undefined;
  let silent: HermeticError | undefined;
  for (const path of usualSockets(environment, home, options.root ?? '')) {
    if (!(await exists(path))) {
      continue;
    }
    const engine = new Engine({ kind: 'unix', path });
    try {
      await answering(engine, options);
      return engine;
    } catch (error) {
      engine.close();
      if (!(error instanceof HermeticError)) {
        throw error;
      }
      if (error.code === 'backend/not-permitted') {
        denied ??= error;
      } else {
        silent ??= error;
      }
    }
  }
  const failure = denied ?? silent;
  if (failure) {
    throw failure;
  }
  const binary = await findBinary(environment, options.root ?? '');
  if (binary !== undefined) {
    throw new HermeticError('backend/not-running', `Docker is installed (${binary}), but no engine is running.`, {
      hint: startHint[platform],
    });
  }
  throw new HermeticError('backend/not-installed', 'Docker is not installed: there is no engine socket and no docker program.', {
    hint: installHint[platform],
  });
}

async function namedHost(options: FindOptions, home: string): Promise<{ host: string; by: string } | undefined> {
  if (options.dockerHost) {
    return { host: options.dockerHost, by: 'the configuration' };
  }
  if (options.environment.DOCKER_HOST) {
    return { host: options.environment.DOCKER_HOST, by: 'DOCKER_HOST' };
  }
  const context = await contextHost(options.environment, home);
  return context && { host: context.host, by: `the docker context "${context.name}"` };
}

function usualSockets(environment: Environment, home: string, root: string): string[] {
  return [`${root}/var/run/docker.sock`, ...userEngineSockets(environment, home)];
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

async function findBinary(environment: Environment, root: string): Promise<string | undefined> {
  const directories = [
    ...(environment.PATH ?? '').split(delimiter).filter((directory) => directory.startsWith('/')),
    ...['/usr/local/bin', '/opt/homebrew/bin', '/Applications/Docker.app/Contents/Resources/bin'].map((directory) => root + directory),
  ];
  for (const directory of directories) {
    const path = join(directory, 'docker');
    try {
      await access(path, constants.X_OK);
      if ((await stat(path)).isFile()) {
        return path;
      }
    } catch (error) {
      if (errnoOf(error) === undefined) {
        throw error;
      }
    }
  }
  return undefined;
}

/** `by` says who named the engine; without it the engine was found in a usual place. */
async function answering(engine: Engine, options: FindOptions, by?: string): Promise<void> {
  try {
    await engine.ping({ timeoutMs: options.pingTimeoutMs ?? 5000 });
  } catch (error) {
    if (error instanceof HermeticError && error.code === 'backend/not-running') {
      const missing = errnoOf(error) === 'ENOENT';
      const said = by === undefined ? '' : ` It was named by ${by}, so no other engine is looked for.`;
      const message = missing ? `There is no Docker engine at ${engine.where}.` : error.message;
      throw new HermeticError('backend/not-running', message + said, {
        hint: startHint[options.platform ?? process.platform] ?? error.hint,
        cause: error.cause,
      });
    }
    throw error;
  }
}

/** A path that this user cannot stat belongs to another user. */
async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) {
      throw error;
    }
    return false;
  }
}

export function parseHost(host: string, by: string, environment: Environment = {}): EngineAddress {
  if (host.startsWith('unix://') || host.startsWith('/')) {
    const path = host.replace(/^unix:\/\//, '');
    if (path.startsWith('/')) {
      return { kind: 'unix', path };
    }
  }
  if (host.startsWith('ssh://')) {
    throw new HermeticError('backend/unavailable', `${by} names the Docker engine ${host}, and engines behind ssh are not supported.`, {
      hint: `Forward the socket (ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST) and set DOCKER_HOST=unix:///tmp/docker.sock, or use the ssh backend.`,
    });
  }
  if (/^(tcp|http|https):\/\//.test(host)) {
    const url = URL.parse(host.replace(/^tcp:/, 'http:'));
    if (url && url.hostname !== '') {
      if (host.startsWith('https:') || environment.DOCKER_TLS_VERIFY) {
        throw new HermeticError('backend/unavailable', `${by} names the Docker engine ${host} with TLS, which is not supported.`, {
          hint: 'Use the socket of a local engine, or forward it through ssh.',
        });
      }
      return {
        kind: 'tcp',
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? (host.startsWith('http:') ? 80 : 2375) : Number(url.port),
      };
    }
  }
  throw new HermeticError('config/bad-value', `"${host}" (${by}) is not the address of a Docker engine.`, {
    hint: 'Write it as unix:///PATH/docker.sock or tcp://HOST:PORT.',
  });
}
