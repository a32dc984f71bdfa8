import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Limits } from '../../core/sandbox.ts';
import { countReader, type LimitCounts } from '../../shell/limit-counts.ts';

export type Controller = 'memory' | 'pids' | 'cpu';

export interface Hierarchy {
  version: 1 | 2;
  /** The directory below which we may make groups. */
  base: string;
  controllers: Controller[];
}

/** The control groups of one sandbox. */
export interface ControlGroups {
  /** The mechanism behind each limit, in words for people; a controller that cannot be used here is missing. */
  readonly held: ReadonlyMap<Controller, string>;
  /**
   * Files of version 1 into which a process with a single thread writes 0 to put itself under the limits. For itself alone it needs
   * not the kernel's global lock, whose price is a grace period of 10 to 20 ms.
   */
  readonly entrances: readonly string[];
  /** Puts a process into the groups of version 2. Where that is not allowed they no longer count as held. */
  add(pid: number): Promise<void>;
  /** Tells what the kernel did to hold the limits. With `most`, something else lets no more processes than that through. */
  counter(most?: number): () => LimitCounts;
  /** Kills the processes left in the groups and removes them. */
  remove(): Promise<void>;
}

interface Group {
  version: 1 | 2;
  path: string;
  held: ReadonlyMap<Controller, string>;
}

/** bubblewrap itself counts as two processes. */
export const ownProcesses = 2;

export const everyController: readonly Controller[] = ['memory', 'pids', 'cpu'];
const cpuPeriodMicroseconds = 100_000;
/** Longer than a start can take: a younger group may be empty because its sandbox is only about to enter it. */
const leftOverAfterMs = 60_000;

/** Makes the groups that can be made here, with their limits. Never throws: see `held`. */
export async function makeControlGroups(
  installation: string,
  name: string,
  limits: Limits,
  hierarchies: readonly Hierarchy[],
): Promise<ControlGroups> {
  let groups = (await Promise.all(hierarchies.map((hierarchy) => makeGroup(hierarchy, installation, name, limits)))).flat();
  return {
    get held() {
      return new Map(groups.flatMap((group) => [...group.held]));
    },
    get entrances() {
      return groups.filter((group) => group.version === 1).map((group) => join(group.path, 'tasks'));
    },
    add: async (pid) => {
      for (const group of groups.filter((candidate) => candidate.version === 2)) {
        await writeFile(join(group.path, 'cgroup.procs'), String(pid)).catch(async () => {
          groups = groups.filter((other) => other !== group);
          await removeGroup(group.path);
        });
      }
    },
    counter: (most) =>
      countReader(
        groups.map((group) => group.path),
        most,
      ),
    remove: async () => {
      await Promise.all(groups.map((group) => removeGroup(group.path)));
    },
  };
}

async function makeGroup(hierarchy: Hierarchy, installation: string, name: string, limits: Limits): Promise<Group[]> {
  const { version, base, controllers } = hierarchy;
  const parent = join(base, 'hermetic', installation);
  const path = join(parent, name);
  await removeLeftOvers(parent, name);
  try {
    await makeDirectories([join(base, 'hermetic'), parent, path]);
    if (version === 2) for (const directory of [base, join(base, 'hermetic'), parent]) await delegate(directory, controllers);
  } catch {
    return [];
  }
  const held = new Map<Controller, string>();
  for (const controller of controllers) {
    const how = await setLimit(version, path, controller, limits);
    if (how !== undefined) held.set(controller, how);
  }
  if (held.size > 0) return [{ version, path, held }];
  await removeGroup(path);
  return [];
}

/** Not by Node's recursive mkdir, which never returns where a file system answers ENOENT to every attempt. */
async function makeDirectories(paths: readonly string[]): Promise<void> {
  // More than one try because the end of another sandbox removes the directory of the installation when it is empty.
  for (let attempt = 1; ; attempt += 1) {
    try {
      for (const path of paths) {
        await mkdir(path).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
        });
      }
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === 3) throw error;
    }
  }
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

/** Removes the groups that a killed product left behind. A group with processes in it cannot be removed, so this never hurts a living one. */
async function removeLeftOvers(parent: string, except: string): Promise<void> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isDirectory() && entry.name !== except).map((entry) => entry.name);
  await Promise.all(
    names.map(async (name) => {
      const status = await stat(join(parent, name)).catch(() => undefined);
      if (status !== undefined && Date.now() - status.mtimeMs > leftOverAfterMs) await rmdir(join(parent, name)).catch(() => undefined);
    }),
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
