import { readdirSync, readFileSync } from 'node:fs';

/** Of the clock in which the kernel counts processor time. */
const ticksPerSecond = 100;

/** Seconds of processor time, in user mode and in the kernel. */
export interface CpuTimes {
  /** Of the process and all its threads. */
  process: number;
  /** Of everything that runs on the machine. */
  machine: number;
}

export function cpuTimes(pid: number): CpuTimes {
  return { process: processSeconds(pid), machine: machineSeconds() };
}

export function cpuTimesBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return { process: after.process - before.process, machine: after.machine - before.machine };
}

/** Of this process and of those that it started and that have ended. */
export function ownSeconds(): number {
  const fields = statFields(process.pid);
  return sum(fields.slice(11, 15)) / ticksPerSecond;
}

export function residentBytes(pid: number): number {
  return kilobytes(read(`/proc/${pid}/status`), 'VmRSS') * 1024;
}

/** What is shared counts in parts. */
export function proportionalBytes(pid: number): number {
  return kilobytes(read(`/proc/${pid}/smaps_rollup`), 'Pss') * 1024;
}

export function descriptors(pid: number): number {
  return list(`/proc/${pid}/fd`).length;
}

/** Every process below this one. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of list('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statFields(Number(name))[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (one: number): number[] => (children.get(one) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

function processSeconds(pid: number): number {
  return sum(statFields(pid).slice(11, 13)) / ticksPerSecond;
}

function machineSeconds(): number {
  const [user = '', nice = '', system = '', , , interrupt = '', soft = ''] = (/^cpu +(.+)$/m.exec(read('/proc/stat'))?.[1] ?? '').split(
    ' ',
  );
  return sum([user, nice, system, interrupt, soft]) / ticksPerSecond;
}

/** From the state on: the name before it may contain anything. */
function statFields(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function kilobytes(text: string, key: string): number {
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN);
}

function sum(values: readonly string[]): number {
  return values.reduce((total, value) => total + Number(value), 0);
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
