import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countReader, type LimitCounts } from '../../shell/limit-counts.ts';
import type { ContainerState, Engine } from './engine.ts';

/** Reads the limit hits of a container of this kernel from its control groups, which are found at the first call. */
export function countsOf(engine: Engine, id: string, state?: ContainerState): () => Promise<LimitCounts | undefined> {
  let known = state;
  let read = countReader([]);
  return async () => {
    const counts = read();
    if (counts.outOfMemoryKills !== undefined || counts.refusedProcesses !== undefined) return counts;
    const found = known ?? (await engine.inspect(id));
    known = undefined;
    // The kill that ended the container must exceed every earlier count.
    if (!found?.running) return { outOfMemoryKills: found?.oomKilled ? Number.POSITIVE_INFINITY : 0, refusedProcesses: 0, isFull: false };
    read = countReader(await groupsOf(found.pid, id));
    return read();
  };
}

/** Directories of the control groups of this process that belong to the container; none where this program does not see them. */
export async function groupsOf(pid: number, id: string): Promise<string[]> {
  const [memberships, mounts] = await Promise.all([
    readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''),
    readFile('/proc/self/mountinfo', 'utf8').catch(() => ''),
  ]);
  const mountPoints = mounts.split('\n').map((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type = '', , options = ''] = after.split(' ');
    return { type, options: options.split(','), path: before.split(' ')[4] ?? '' };
  });
  return memberships.split('\n').flatMap((line) => {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    // A process of this number may be another one where the engine counts processes of its own.
    if (!path.includes(id)) return [];
    const mounted = mountPoints.find(({ type, options }) =>
      controllers === '' ? type === 'cgroup2' : type === 'cgroup' && controllers.split(',').every((name) => options.includes(name)),
    );
    const matters = controllers === '' || /\b(memory|pids)\b/.test(controllers);
    return mounted && matters ? [join(mounted.path, path)] : [];
  });
}
