import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Engine } from '../src/backends/engine/engine.ts';
import { findPodman } from '../src/backends/podman/discover.ts';
import { findProgram } from '../src/backends/programs.ts';
import { started } from '../src/lib/started.ts';
import { allProcesses, commandLine } from './processes.ts';
import { until } from './until.ts';

export interface PodmanService {
  /** In the form of `CONTAINER_HOST`. */
  host: string;
  /** The test image, in the storage of this service. */
  image: string;
  directory: string;
  /** The user it runs as, without root; undefined is root. */
  user: string | undefined;
  find(): Promise<Engine>;
}

/**
 * A service of its own, with storage of its own, that ends with the tests of the file; or the reason why there is none. Without root it runs as a user
 * that is made for it.
 */
export async function startPodman({ isRootless = false } = {}): Promise<PodmanService | string> {
  const needed = ['podman', 'conmon', 'runc', ...(isRootless ? ['useradd', 'newuidmap'] : [])];
  const missing = needed.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `${missing.join(', ')} is not installed`;
  const image = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-podman-'));
  mkdirSync(join(directory, 'runtime'), { mode: 0o700 });
  const user = isRootless ? `hermetic-${randomBytes(4).toString('hex')}` : undefined;
  const [program = '', ...before] = [...identity(user, directory), 'podman', ...places(directory)];
  const run = (...args: string[]) => spawnSync(program, [...before, ...args], { cwd: '/', encoding: 'utf8' });
  const remove = (): void => {
    // Its layers belong to subordinate ids, which only its own user namespace may remove.
    run('system', 'reset', '--force');
    if (user !== undefined) spawnSync('userdel', [user]);
    rmSync(directory, { recursive: true, force: true });
  };
  if (user !== undefined) {
    const made = spawnSync('useradd', ['--no-create-home', '--home-dir', directory, '--shell', '/usr/sbin/nologin', user], {
      encoding: 'utf8',
    });
    if (made.status !== 0) return `no user can be made for it: ${made.stderr}`;
    spawnSync('chown', ['-R', `${user}:${user}`, directory]);
  }
  const load = ['-c', 'set -o pipefail; image=$1; shift; docker save "$image" | "$@"', 'bash', image, program, ...before, 'load'];
  const loaded = spawnSync('bash', load, { cwd: '/', encoding: 'utf8' });
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
    user,
    find: () => findPodman({ environment: {}, podmanHost: host }),
  };
}

function places(directory: string): string[] {
  const own = ['--root', join(directory, 'root'), '--runroot', join(directory, 'runroot'), '--events-backend', 'none'];
  // The default runtime, crun, refuses machines that have both versions of control groups.
  return [...own, '--runtime', 'runc', '--cgroup-manager', 'cgroupfs'];
}

/** The words before a program that make this user run it. */
export function identity(user: string | undefined, directory: string): string[] {
  const become = user === undefined ? [] : ['setpriv', '--reuid', user, '--regid', user, '--init-groups', '--reset-env'];
  return [...become, 'env', `HOME=${directory}`, `XDG_RUNTIME_DIR=${directory}/runtime`];
}

/** Processes of podman that watch over this container and over commands in it. */
export function monitorsOf(container: string): number[] {
  return allProcesses().filter((pid) => /^\/\S*conmon$/.test(commandLine(pid)[0] ?? '') && commandLine(pid).includes(container));
}
