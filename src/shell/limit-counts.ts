import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How often one sandbox has hit its limits so far, as the kernel counts; undefined where it does not. */
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
}

export function limitCounts({ memory, processes }: CountFiles): LimitCounts {
  return { outOfMemoryKills: numberIn(memory, /^oom_kill (\d+)$/m), refusedProcesses: numberIn(processes, /^max (\d+)$/m), isFull: false };
}

function numberIn(text: string, line: RegExp): number | undefined {
  const found = line.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** How often a sandbox that was full once is polled. */
const lookEveryMs = 200;

/**
 * Reads the counts of the sandbox's control groups, which exist already. `max` is a limit of processes that another mechanism enforces without
 * counting refusals: reaching it counts as one. The first time is known from the kernel's peak; for later ones a sandbox that was full once is polled.
 */
export function countReader(groups: readonly string[], max = 0): () => LimitCounts {
  const find = (...names: readonly string[]): string | undefined =>
    groups.flatMap((group) => names.map((name) => join(group, name))).find((path) => existsSync(path));
  const memory = find('memory.events', 'memory.oom_control');
  const processes = find('pids.events');
  const current = max > 0 ? find('pids.current') : undefined;
  const peak = max > 0 ? find('pids.peak') : undefined;
  const reaches = (text: string): boolean => max > 0 && Number.parseInt(text, 10) >= max;
  let timesFull = 0;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const text = contentOf(current);
    if (text === '') clearInterval(timer);
    if (reaches(text) && !isFull) timesFull += 1;
    isFull = reaches(text);
  };
  return () => {
    const counts = limitCounts({ memory: contentOf(memory), processes: contentOf(processes) });
    if (counts.refusedProcesses === undefined || !reaches(contentOf(peak))) return counts;
    look();
    timer ??= setInterval(look, lookEveryMs).unref();
    // The first time may be over.
    timesFull ||= 1;
    return { ...counts, refusedProcesses: counts.refusedProcesses + timesFull, isFull };
  };
}

/** Empty when the group has gone with its sandbox. */
function contentOf(path: string | undefined): string {
  try {
    return path === undefined ? '' : readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
