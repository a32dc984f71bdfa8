import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { locate, type MountEntry, parseMounts, placesOf } from './mount-table.ts';
import { localAddresses, parseRoutes, type Routes } from './routes.ts';

/** One process as the kernel shows it to us. Properties that this user may not read are undefined. */
export interface ProcessView {
  pid: number;
  /** Lines of `/proc/<pid>/status` by name. */
  status: ReadonlyMap<string, string>;
  namespaces: ReadonlyMap<string, string>;
  mounts: readonly MountEntry[] | undefined;
  routes: Routes | undefined;
  addresses: readonly string[] | undefined;
  groups: string | undefined;
  limits: string | undefined;
}

/** A sandbox as this machine sees it. Nothing in it can be forged from inside. */
export interface HostView {
  probe: ProcessView;
  /** The first process of the sandbox: the probe itself where nothing tells them apart. */
  init: ProcessView;
  /** This program's own. */
  namespaces: ReadonlyMap<string, string>;
  mounts: readonly MountEntry[];
}

export const namespaceKinds = ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup'] as const;

const read = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

/**
 * Finds the process with this mark on its command line among those of this machine. undefined when there is none: the sandbox is on another
 * kernel, or this user may not see its processes.
 */
export async function viewFromHost(mark: string): Promise<HostView | undefined> {
  const pid = await findMarked(mark);
  if (pid === undefined) return undefined;
  const [probe, init, namespaces, table] = await Promise.all([
    viewProcess(pid),
    firstOf(pid).then((first) => viewProcess(first)),
    namespacesOf('self'),
    read('/proc/self/mountinfo'),
  ]);
  return { probe, init, namespaces, mounts: parseMounts((table ?? '').split('\n')) };
}

/** The innermost, because what started it from outside may have the mark on its command line as well. */
async function findMarked(mark: string): Promise<number | undefined> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  let found: { pid: number; depth: number } | undefined;
  for (const pid of pids) {
    const words = ((await read(`/proc/${pid}/cmdline`)) ?? '').split('\0');
    if (!words.includes(mark)) continue;
    const depth = depthOf(await statusOf(pid));
    if (depth >= (found?.depth ?? 0)) found = { pid, depth };
  }
  return found?.pid;
}

/** How many process namespaces, one in another, it is in. */
function depthOf(status: ReadonlyMap<string, string>): number {
  return (status.get('NSpid') ?? '').split(/\s+/).length;
}

/** Security: the probe may have been put into narrower namespaces than the rest, so what counts is the process everything descends from. */
async function firstOf(pid: number): Promise<number> {
  const ownDepth = depthOf(await statusOf('self'));
  let first = pid;
  for (let current = pid; current > 1; ) {
    const status = await statusOf(current);
    if (depthOf(status) <= ownDepth) break;
    first = current;
    current = Number(status.get('PPid') ?? 0);
  }
  return first;
}

async function viewProcess(pid: number): Promise<ProcessView> {
  const [status, namespaces, mounts, routes, routes6, trie, groups, limits] = await Promise.all([
    statusOf(pid),
    namespacesOf(pid),
    ...['mountinfo', 'net/route', 'net/ipv6_route', 'net/fib_trie', 'cgroup', 'limits'].map((name) => read(`/proc/${pid}/${name}`)),
  ]);
  return {
    pid,
    status,
    namespaces,
    // A process that is gone has an empty table, which must not be taken for one without mounts or routes.
    mounts: mounts ? parseMounts(mounts.split('\n')) : undefined,
    routes: routes?.startsWith('Iface') ? parseRoutes(routes.split('\n'), (routes6 ?? '').split('\n')) : undefined,
    addresses: trie === undefined ? undefined : localAddresses(trie),
    groups,
    limits,
  };
}

async function statusOf(pid: number | 'self'): Promise<Map<string, string>> {
  const lines = ((await read(`/proc/${pid}/status`)) ?? '').split('\n');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
}

async function namespacesOf(pid: number | 'self'): Promise<Map<string, string>> {
  const links = namespaceKinds.map(async (kind) => [kind, await readlink(`/proc/${pid}/ns/${kind}`).catch(() => '')] as const);
  return new Map((await Promise.all(links)).filter(([, link]) => link !== ''));
}

/** Where a file of the host is seen inside, by the mounts of the sandbox; undefined when this user may not know them. */
export async function seenInside(view: HostView | undefined, path: string): Promise<string[] | undefined> {
  if (!view?.init.mounts) return undefined;
  const location = locate(view.mounts, await realpath(path).catch(() => path));
  return location && placesOf(location, view.init.mounts);
}
