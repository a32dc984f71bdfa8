import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Limits } from '../../core/sandbox.ts';

export type Controller = 'memory' | 'pids' | 'cpu';

interface Hierarchy {
  version: 1 | 2;
  /** The directory below which we may make groups. */
  base: string;
  controllers: Controller[];
}

/** The control groups of one sandbox. */
export interface ControlGroups {
  /** What holds each limit, as people would look it up; a controller that cannot be used here is missing. */
  readonly held: ReadonlyMap<Controller, string>;
  /** How many processes the kernel killed for want of memory; undefined where nobody counts. */
  outOfMemoryKills(): Promise<number | undefined>;
  /** Kills whatever is left in the groups and removes them. */
  remove(): Promise<void>;
}

/** bubblewrap itself counts as two processes. */
export const ownProcesses = 2;

const everyController: readonly Controller[] = ['memory', 'pids', 'cpu'];
const cpuPeriodMicroseconds = 100_000;

/** Puts a process under the limits, by whatever control groups can be used here. Never throws: see `held`. */
export async function joinControlGroups(pid: number, installation: string, name: string, limits: Limits): Promise<ControlGroups> {
  const held = new Map<Controller, string>();
  const groups: string[] = [];
  for (const hierarchy of await findHierarchies()) {
    const parent = join(hierarchy.base, 'hermetic', installation);
    const group = join(parent, name);
    await removeEmptyGroups(parent, name);
    const joined = await joinHierarchy(hierarchy, group, pid, limits, [join(hierarchy.base, 'hermetic'), parent]);
    for (const [controller, how] of joined) held.set(controller, how);
    if (joined.size > 0) groups.push(group);
    else await rmdir(group).catch(() => undefined);
  }
  return {
    held,
    outOfMemoryKills: () => readOutOfMemoryKills(groups),
    remove: async () => {
      await Promise.all(groups.map(removeGroup));
    },
  };
}

async function joinHierarchy(
  hierarchy: Hierarchy,
  group: string,
  pid: number,
  limits: Limits,
  ancestors: string[],
): Promise<Map<Controller, string>> {
  const joined = new Map<Controller, string>();
  // Another sandbox that starts at the same time may take our still empty group for a left-over, hence more than one try.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      await mkdir(group, { recursive: true });
      if (hierarchy.version === 2) {
        for (const directory of [hierarchy.base, ...ancestors]) await delegate(directory, hierarchy.controllers);
      }
      const set = new Map<Controller, string>();
      for (const controller of hierarchy.controllers) {
        const how = await setLimit(hierarchy.version, group, controller, limits);
        if (how !== undefined) set.set(controller, how);
      }
      await stat(group);
      if (set.size === 0) return joined;
      await writeFile(join(group, 'cgroup.procs'), String(pid));
      return set;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return joined;
    }
  }
  return joined;
}

/** Version 2 hands a controller down only where each level above says so. Where it may not, the group lacks the file of the limit. */
async function delegate(directory: string, controllers: readonly Controller[]): Promise<void> {
  const file = join(directory, 'cgroup.subtree_control');
  const present = (await readFile(file, 'utf8')).split(/\s+/);
  for (const controller of controllers) {
    if (!present.includes(controller)) await writeFile(file, `+${controller}`).catch(() => undefined);
  }
}

/** Returns what holds the limit, or undefined when nothing does. */
async function setLimit(version: 1 | 2, group: string, controller: Controller, limits: Limits): Promise<string | undefined> {
  const [file, value] = limitOf(version, controller, limits);
  try {
    if (version === 1 && controller === 'memory') {
      // Memory and swap together may never be below memory alone, so it is lifted before and set after.
      await writeFile(join(group, 'memory.memsw.limit_in_bytes'), '-1').catch(() => undefined);
      await writeFile(join(group, file), value);
      await writeFile(join(group, 'memory.memsw.limit_in_bytes'), value).catch(() => undefined);
    } else {
      await writeFile(join(group, file), value);
      if (controller === 'memory') await writeFile(join(group, 'memory.swap.max'), value === 'max' ? 'max' : '0').catch(() => undefined);
    }
    return `control group version ${version} (${file})`;
  } catch {
    return undefined;
  }
}

function limitOf(version: 1 | 2, controller: Controller, limits: Limits): [file: string, value: string] {
  const quota = Math.max(1000, Math.round(limits.cpus * cpuPeriodMicroseconds));
  switch (controller) {
    case 'memory': {
      const bytes = String(Math.round(limits.memoryMb * 1024 * 1024));
      if (version === 2) return ['memory.max', limits.memoryMb > 0 ? bytes : 'max'];
      return ['memory.limit_in_bytes', limits.memoryMb > 0 ? bytes : '-1'];
    }
    case 'pids':
      return ['pids.max', limits.pids > 0 ? String(limits.pids + ownProcesses) : 'max'];
    case 'cpu':
      if (version === 2) return ['cpu.max', `${limits.cpus > 0 ? quota : 'max'} ${cpuPeriodMicroseconds}`];
      return ['cpu.cfs_quota_us', limits.cpus > 0 ? String(quota) : '-1'];
  }
}

/** Version 2 first; each controller is in one hierarchy only. */
async function findHierarchies(): Promise<Hierarchy[]> {
  const isRoot = process.getuid?.() === 0;
  const table = (await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')).split('\n').map((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    return { type, options: options.split(','), mountPoint: before.split(' ')[4] ?? '' };
  });
  const found: Hierarchy[] = [];
  for (const { type, mountPoint } of table) {
    if (type !== 'cgroup2') continue;
    const user = process.getuid?.();
    const base = isRoot ? mountPoint : join(mountPoint, `user.slice/user-${user}.slice/user@${user}.service`);
    const names = (await readFile(join(base, 'cgroup.controllers'), 'utf8').catch(() => '')).split(/\s+/);
    const controllers = everyController.filter((controller) => names.includes(controller));
    if (controllers.length > 0) found.push({ version: 2, base, controllers });
    break;
  }
  // Version 1 has no safe way to be handed to an ordinary user.
  for (const controller of isRoot ? everyController : []) {
    const mounted = table.find((entry) => entry.type === 'cgroup' && entry.options.includes(controller));
    if (mounted !== undefined) found.push({ version: 1, base: mounted.mountPoint, controllers: [controller] });
  }
  return found;
}

/** What a product that was killed left behind. A group with processes in it cannot be removed, so this never hurts a living one. */
async function removeEmptyGroups(parent: string, except: string): Promise<void> {
  const names = await readdir(parent, { withFileTypes: true }).catch(() => []);
  await Promise.all(
    names
      .filter((entry) => entry.isDirectory() && entry.name !== except)
      .map((entry) => rmdir(join(parent, entry.name)).catch(() => undefined)),
  );
}

async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    try {
      await rmdir(group);
      await rmdir(dirname(group)).catch(() => undefined);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
    }
    const pids = (await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '')).split('\n').map(Number);
    for (const pid of pids) {
      // Security: 0 stands for a process of another pid namespace, and to kill 0 would be to kill ourselves.
      if (pid > 1) kill(pid);
    }
    await delay(10);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function readOutOfMemoryKills(groups: readonly string[]): Promise<number | undefined> {
  for (const group of groups) {
    for (const file of ['memory.events', 'memory.oom_control']) {
      const text = await readFile(join(group, file), 'utf8').catch(() => '');
      const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
      if (count !== undefined) return Number(count);
    }
  }
  return undefined;
}
