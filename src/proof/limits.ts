import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ProofLine } from '../core/proof.ts';
import type { Limits } from '../core/sandbox.ts';
import { type Ground, line } from './ground.ts';
import type { ProcessView } from './host-view.ts';

/** Version 1 says "no limit" with the largest number of pages it knows. */
const endless = 2 ** 60;

interface Measure {
  limit: keyof Limits;
  check: string;
  tried: string;
  controller: string;
  /** Files of version 2 and 1 that hold the limit. */
  files: readonly [string, string];
  /** The value in the kernel, in the unit of the limit. */
  scale: number;
  /** Above what was asked for and still what was meant. */
  slack: number;
  unit: string;
  resourceLimit: string | undefined;
}

const measures: readonly Measure[] = [
  {
    limit: 'memoryMb',
    check: 'limit-memory',
    tried: 'Find out how much memory it may use.',
    controller: 'memory',
    files: ['memory.max', 'memory.limit_in_bytes'],
    scale: 1024 * 1024,
    slack: 1,
    unit: 'MB',
    resourceLimit: 'Max data size',
  },
  {
    limit: 'pids',
    check: 'limit-pids',
    tried: 'Find out how many processes it may have.',
    controller: 'pids',
    files: ['pids.max', 'pids.max'],
    scale: 1,
    // The programs that make the sandbox may count as a few of its processes.
    slack: 8,
    unit: 'processes',
    resourceLimit: 'Max processes',
  },
  {
    limit: 'cpus',
    check: 'limit-cpu',
    tried: 'Find out how many processors it may use.',
    controller: 'cpu',
    files: ['cpu.max', 'cpu.cfs_quota_us'],
    scale: 1,
    slack: 0.05,
    unit: 'processors',
    resourceLimit: undefined,
  },
];

/** Security: no sandbox's first process has more for honest reasons, and some can be made to have any number. */
const maxFirstThreads = 64;
/** Of resource limits alone: they also count the program outside that made the sandbox, and threads that it may start later. */
const spareThreads = 16;

/** Threads of the first process of a sandbox, beyond one: its limit of processes is raised by them where that process is not one of the image. */
function firstThreads({ host }: Ground): number {
  const threads = Number(host?.init.status.get('Threads') ?? 1);
  return Number.isInteger(threads) ? Math.min(threads - 1, maxFirstThreads) : 0;
}

/** The limits that the kernel really keeps, from the host's own control groups where it sees them. */
export async function checkLimits(ground: Ground): Promise<ProofLine[]> {
  return await Promise.all(measures.map((measure) => checkLimit(ground, measure)));
}

async function checkLimit(ground: Ground, measure: Measure): Promise<ProofLine> {
  const { check, tried, scale, slack, unit } = measure;
  const asked = ground.spec.limits[measure.limit];
  if (asked === 0) return line(check, tried, 'open', 'No limit was asked for.');
  const group = (ground.host && (await groupLimit(ground.host.init, measure))) ?? toldLimit(ground, check);
  if (group === undefined) return line(check, tried, 'unknown', `${asked} ${unit} were asked for; no control group can be seen.`);
  const threads = measure.limit === 'pids' ? firstThreads(ground) : 0;
  const isEnough = (value: number, spare = 0): boolean => value / scale <= asked + slack + spare;
  const shown = (value: number): string => `${Math.round((value / scale) * 100) / 100} ${unit}`;
  if (isEnough(group.limit, threads)) return line(check, tried, 'held', `At most ${shown(group.limit)}, by a control group.`);
  const each = ground.host && resourceLimit(ground.host.probe, measure);
  if (each !== undefined && isEnough(each, threads > 0 ? 2 * threads + spareThreads : 0)) {
    if (measure.limit === 'pids') return line(check, tried, 'held', `At most ${shown(each)}, by a resource limit.`);
    return line(check, tried, 'open', `At most ${shown(each)} for each process alone: no control group holds all of them.`);
  }
  if (group.isOwn && group.limit < endless) {
    return line(check, tried, 'broken', `${asked} ${unit} were asked for, and up to ${shown(group.limit)} are allowed.`);
  }
  return line(check, tried, 'open', `${asked} ${unit} were asked for; nothing here enforces that.`);
}

interface GroupLimit {
  /** `Infinity` when there is none. */
  limit: number;
  /** It was made for this sandbox: this program is in another. */
  isOwn: boolean;
}

/** The limit that the control group of a process and all above it set; undefined when it cannot be read. */
async function groupLimit({ groups }: ProcessView, { controller, files }: Measure): Promise<GroupLimit | undefined> {
  const theirs = groupIn(groups ?? '', controller);
  const ours = groupIn(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''), controller);
  const base = theirs && (await mountOf(theirs.version === 1 ? controller : undefined));
  if (!theirs || base === undefined) return undefined;
  const file = theirs.version === 1 ? files[1] : files[0];
  let limit = Number.POSITIVE_INFINITY;
  for (let path = theirs.path; ; path = dirname(path)) {
    const text = await readFile(join(base, path, file), 'utf8').catch(() => undefined);
    if (text !== undefined) limit = Math.min(limit, await amount(text, join(base, path), file));
    if (path === '/' || path === '.') return { limit, isOwn: theirs.path !== ours?.path };
  }
}

/** Of `/proc/<pid>/cgroup`. */
function groupIn(groups: string, controller: string): { version: 1 | 2; path: string } | undefined {
  const rows = groups.split('\n').map((row) => row.split(':'));
  const old = rows.find(([, list]) => (list ?? '').split(',').includes(controller));
  const row = old ?? rows.find(([number]) => number === '0');
  return row && { version: old ? 1 : 2, path: row.slice(2).join(':') };
}

function toldLimit({ inside }: Ground, check: string): GroupLimit | undefined {
  const limit = numberOf(inside.fact(check));
  return limit === undefined ? undefined : { limit, isOwn: true };
}

async function amount(text: string, group: string, file: string): Promise<number> {
  const [first, second] = text.trim().split(/\s+/);
  if (file === 'cpu.max') return first === 'max' ? Number.POSITIVE_INFINITY : Number(first) / Number(second);
  if (file !== 'cpu.cfs_quota_us') return numberOf(text) ?? Number.POSITIVE_INFINITY;
  const period = Number(await readFile(join(group, 'cpu.cfs_period_us'), 'utf8').catch(() => '100000'));
  return Number(first) > 0 ? Number(first) / period : Number.POSITIVE_INFINITY;
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (text.trim() === 'max') return Number.POSITIVE_INFINITY;
  return /^\d{1,20}$/.test(text.trim()) ? Number(text) : undefined;
}

/** Where this machine has the groups of a controller of version 1, or those of version 2. */
async function mountOf(controller: string | undefined): Promise<string | undefined> {
  const rows = (await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')).split('\n');
  const found = rows.find((row) => {
    const [type, , options = ''] = (row.split(' - ')[1] ?? '').split(' ');
    return controller === undefined ? type === 'cgroup2' : type === 'cgroup' && options.split(',').includes(controller);
  });
  return found?.split(' ')[4];
}

function resourceLimit({ limits }: ProcessView, { resourceLimit: name }: Measure): number | undefined {
  const row = name === undefined ? undefined : (limits ?? '').split('\n').find((text) => text.startsWith(name));
  const soft = Number(row?.slice(26).trim().split(/\s+/)[0] ?? Number.NaN);
  return Number.isNaN(soft) ? undefined : soft;
}
