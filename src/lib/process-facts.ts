import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** A process of this machine, as /proc shows it. */
export interface ProcessFacts {
  pid: number;
  /** 0 when it is outside what this process can see. */
  parent: number;
  /** The process that began its session, in the sense of setsid. */
  session: number;
  hasTerminal: boolean;
  /** Since the machine started, in ticks of the kernel's clock. */
  startedAt: number;
}

/** Further up nothing is looked at: no honest line of processes is as long. */
const maxLine = 500;

function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
}

/** undefined when there is no such process, it has ended, or this one may not know of it. */
function processFacts(pid: number): ProcessFacts | undefined {
  const text = read(pid, 'stat');
  if (text === undefined) return undefined;
  // The name before the last parenthesis may hold anything.
  const [state = '', parent, , session, terminal, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if ('ZX'.includes(state)) return undefined;
  return { pid, parent: Number(parent), session: Number(session), hasTerminal: Number(terminal) !== 0, startedAt: Number(rest[14]) };
}

/**
 * When a process started, in ticks of the kernel's clock; undefined when there is none, or it is dead and only waits for its parent to notice. Where
 * the kernel does not tell by files, all processes have started at 0.
 */
export function startTime(pid: number): string | undefined {
  if (process.platform === 'linux') return processFacts(pid)?.startedAt.toString();
  return isRunning(pid) ? '0' : undefined;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** All processes that descend from this one. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const found = [pid];
  // Grows while it is gone through.
  for (const parent of found) {
    const threads = await readdir(`/proc/${parent}/task`).catch(() => []);
    const lists = threads.map((thread) => readFile(`/proc/${parent}/task/${thread}/children`, 'utf8').catch(() => ''));
    for (const list of await Promise.all(lists)) found.push(...(list.match(/\d+/g) ?? []).map(Number));
  }
  return found.slice(1);
}

/** A process and those above it, as far as they can be seen; undefined when not even the first one can. */
export function lineOf(pid: number): ProcessFacts[] | undefined {
  const first = processFacts(pid);
  if (!first) return undefined;
  const line = [first];
  for (let last = first; last.parent > 0 && line.length < maxLine; ) {
    const above = processFacts(last.parent);
    if (above) {
      line.push(above);
      last = above;
      continue;
    }
    // It ended meanwhile, and another one took its place, or it is hidden from this user.
    const again = processFacts(last.pid);
    if (!again || again.parent === last.parent) break;
    line[line.length - 1] = again;
    last = again;
  }
  return line;
}

export function argumentsOf(pid: number): string[] {
  return read(pid, 'cmdline')?.split('\0') ?? [];
}

/** As it was when the program started. Empty when this user may not read it. */
export function environmentOf(pid: number): string[] {
  return read(pid, 'environ')?.split('\0') ?? [];
}

export interface ResourceLimit {
  soft: number;
  hard: number;
}

/** A resource limit by its name in /proc, Infinity for unlimited. */
export function resourceLimit(pid: number, name: string): ResourceLimit | undefined {
  const line = read(pid, 'limits')
    ?.split('\n')
    .find((entry) => entry.startsWith(`${name} `));
  if (line === undefined) return undefined;
  const [soft, hard] = line
    .slice(name.length)
    .trim()
    .split(/\s+/)
    .map((value) => (value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)));
  return soft === undefined || hard === undefined ? undefined : { soft, hard };
}

/** The control groups it is in, one a line. */
export function controlGroups(pid: number): string | undefined {
  return read(pid, 'cgroup');
}

/** Its open files, as /proc names them; undefined when this user may not read them. */
export function openPaths(pid: number): string[] | undefined {
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return undefined;
  }
  return names.flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return []; // closed meanwhile
    }
  });
}

/** The process that holds a lock on the file, of the kind that the kernel takes back when the process ends. */
export function lockHolder(path: string): number | undefined {
  try {
    const { ino } = statSync(path);
    const lines = readFileSync('/proc/locks', 'latin1').split('\n');
    const line = lines.find((entry) => entry.split(/\s+/)[5]?.endsWith(`:${ino}`));
    const pid = Number(line?.split(/\s+/)[4]);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}
