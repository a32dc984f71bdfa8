import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Engine } from '../src/backends/engine/engine.ts';
import { findPodman } from '../src/backends/podman/discover.ts';
import { findProgram } from '../src/backends/programs.ts';
import { started } from '../src/lib/started.ts';
import { until } from './until.ts';

export interface PodmanService {
  /** In the form of `CONTAINER_HOST`. */
  host: string;
  /** The test image, in the storage of this service. */
  image: string;
  directory: string;
  find(): Promise<Engine>;
}

/** Who runs a service: by default root, otherwise a user without root who has a range of subordinate ids. */
export interface ServiceUser {
  name: string;
}

/** Words that the program of a service gets before all others. */
function words(directory: string): string[] {
  const places = ['--root', join(directory, 'root'), '--runroot', join(directory, 'runroot'), '--events-backend', 'none'];
  // The default runtime, crun, refuses machines that have both versions of control groups.
  return [...places, '--runtime', 'runc', '--cgroup-manager', 'cgroupfs'];
}

/** A service of its own, with storage of its own, that ends with the tests of the file; or the reason why there is none. */
export async function startPodman(user?: ServiceUser): Promise<PodmanService | string> {
  const missing = ['podman', 'conmon', 'runc'].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `${missing.join(', ')} is not installed`;
  const image = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-podman-'));
  const become = user ? ['setpriv', '--reuid', user.name, '--regid', user.name, '--init-groups', '--reset-env'] : [];
  const variables = ['env', `HOME=${directory}`, `XDG_RUNTIME_DIR=${directory}/runtime`];
  mkdirSync(join(directory, 'runtime'), { mode: 0o700 });
  if (user) spawnSync('chown', ['-R', `${user.name}:${user.name}`, directory]);
  const [program = '', ...before] = [...become, ...variables, 'podman', ...words(directory)];
  const loaded = spawnSync('bash', ['-c', 'set -o pipefail; docker save "$1" | "${@:2}"', 'bash', image, program, ...before, 'load'], {
    cwd: '/',
    encoding: 'utf8',
  });
  const remove = (): void => {
    // Its layers belong to subordinate ids, which only its own user namespace may remove.
    spawnSync(program, [...before, 'system', 'reset', '--force'], { cwd: '/' });
    rmSync(directory, { recursive: true, force: true });
  };
  if (loaded.status !== 0) {
    remove();
    return `the image ${image} cannot be loaded: ${loaded.stderr}`;
  }
  const socket = join(directory, 'podman.sock');
  const service = started(spawn(program, [...before, 'system', 'service', '-t', '0', `unix://${socket}`], { cwd: '/', stdio: 'ignore' }));
  const ended = once(service, 'exit');
  afterAll(async () => {
    service.kill('SIGTERM');
    await ended;
    remove();
  });
  await until('the service listens', () => existsSync(socket) || service.exitCode !== null);
  const host = `unix://${socket}`;
  return {
    host,
    image: `localhost/${image}`,
    directory,
    find: () => findPodman({ environment: {}, podmanHost: host }),
  };
}
