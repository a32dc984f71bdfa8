import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the kernel has done so far to hold the limits of one sandbox; undefined where nobody counts. */
export interface LimitCounts {
  /** Processes killed for want of memory. */
  outOfMemoryKills: number | undefined;
  /** How often no process could be started for want of room. */
  refusedProcesses: number | undefined;
  /** There is no room for another process at this moment. */
  isFull: boolean;
}

/** The text of the files of control groups, empty where there is none; those of version 2 and 1 say what matters here alike. */
export interface CountFiles {
  /** `memory.events` or `memory.oom_control`. */
  memory: string;
  /** `pids.events`. */
  processes: string;
  /** `pids.current`. */
  current?: string;
  /** `pids.peak`: the most there ever were at once. */
  peak?: string;
}

/** With `most`, which may be less than what the group allows, whoever reached that was refused too, though the group does not count it. */
export function limitCounts({ memory, processes, current = '', peak = '' }: CountFiles, most = 0): LimitCounts {
  const reached = (text: string): boolean => most > 0 && Number.parseInt(text, 10) >= most;
  const refused = numberAfter('max', processes);
  return {
    outOfMemoryKills: numberAfter('oom_kill', memory),
    refusedProcesses: refused === undefined ? undefined : refused + Number(reached(peak)),
    isFull: reached(current),
  };
}

function numberAfter(word: string, text: string): number | undefined {
  const found = new RegExp(`^${word} (\\d+)$`, 'm').exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Reads the counts of the groups that a sandbox is in, which are there already. Without waiting: the kernel has them at hand. */
export function countReader(groups: readonly string[], most = 0): () => LimitCounts {
  const find = (...names: readonly string[]): string | undefined =>
    groups.flatMap((group) => names.map((name) => join(group, name))).find((path) => existsSync(path));
  const memory = find('memory.events', 'memory.oom_control');
  const processes = find('pids.events');
  const current = most > 0 ? find('pids.current') : undefined;
  const peak = most > 0 ? find('pids.peak') : undefined;
  return () =>
    limitCounts({ memory: contentOf(memory), processes: contentOf(processes), current: contentOf(current), peak: contentOf(peak) }, most);
}

/** Empty when the group has gone with its sandbox. */
function contentOf(path: string | undefined): string {
  try {
    return path === undefined ? '' : readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
