import { readdir, readFile, realpath } from 'node:fs/promises';
import { basename, join, relative } from 'node:path/posix';

/** Where container engines usually listen. */
export const usualEngineSockets: readonly string[] = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/containerd/containerd.sock',
  '/run/podman/podman.sock',
  '/run/crio/crio.sock',
  '/run/buildkit/buildkitd.sock',
  '/run/docker/containerd/containerd.sock',
  '/run/k3s/containerd/containerd.sock',
];

export function isEngineSocketName(path: string): boolean {
  return /docker|containerd|podman|crio|buildkit/.test(basename(path));
}

/** Below the directory of a user who has an engine without root. */
const userSockets: readonly string[] = ['docker.sock', 'podman/podman.sock', 'buildkit/buildkitd.sock', 'containerd/containerd.sock'];

/** The real paths of those that are there. */
export async function presentEngineSockets(further: readonly string[] = [], users = '/run/user'): Promise<string[]> {
  const names = await readdir(users).catch(() => []);
  const ofUsers = names.flatMap((name) => userSockets.map((socket) => join(users, name, socket)));
  const found = await Promise.all([...usualEngineSockets, ...ofUsers, ...further].map((path) => realpath(path).catch(() => undefined)));
  return [...new Set(found.filter((path) => path !== undefined))];
}

/** Sockets of engines outside that were mounted into the container in which this program is. */
export async function mountedEngineSockets(table = '/proc/self/mountinfo'): Promise<string[]> {
  const isSocket = (path: string): boolean => path.endsWith('.sock') && isEngineSocketName(path);
  return (await readFile(table, 'utf8').catch(() => '')).split('\n').flatMap((line) => {
    // By its name outside, too: inside it may have any.
    const [, , , outside = '', point = ''] = line.split(' ');
    return isSocket(outside) || isSocket(point) ? [point] : [];
  });
}

/** The way from a directory to a path below it; empty for the directory itself, undefined for what lies elsewhere. */
export function pathBelow(directory: string, path: string): string | undefined {
  const way = relative(directory, path);
  return way === '..' || way.startsWith('../') ? undefined : way;
}
