import { hash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { startTime } from './process-facts.ts';

const pattern = /^([0-9a-f]+-\d+)-(\d+)-(\d+)-[0-9a-f]+$/;
/** In the names of processes that do not know where they run. */
const nowhere = '0-0';

/**
 * A new name for something that a process owns. It says on which kernel and in which process namespace the process runs, and has its pid and start
 * time, so that neither a recycled pid nor a process elsewhere is taken for it.
 */
export function processName(pid = process.pid): string {
  return `${placeHere() ?? nowhere}-${pid}-${startTime(pid) ?? 0}-${randomBytes(4).toString('hex')}`;
}

export function isProcessName(name: string): boolean {
  return pattern.test(name);
}

/** What can be proven of the process that a name was made for. Nothing about one of another machine or process namespace: it is `unknown`. */
export function lifeOf(name: string): 'alive' | 'dead' | 'unknown' {
  const [, place, pid, started] = pattern.exec(name) ?? [];
  if (place === undefined || place !== placeHere()) return 'unknown';
  return startTime(Number(pid)) === started ? 'alive' : 'dead';
}

/** The number of the process that a name was made for. Security: undefined unless it is known to live here, where the number means that process. */
export function livePid(name: string): number | undefined {
  return lifeOf(name) === 'alive' ? Number(pattern.exec(name)?.[2]) : undefined;
}

let known: { place: string | undefined } | undefined;

/** The kernel and the process namespace of this process; undefined when its own processes cannot be told apart from those of another namespace. */
function placeHere(): string | undefined {
  known ??= { place: process.platform === 'linux' ? linuxPlace() : `${hash('sha256', hostname()).slice(0, 8)}-0` };
  return known.place;
}

function linuxPlace(): string | undefined {
  try {
    // Security: with the /proc of an outer namespace, which lists more than one number here, our pids mean other processes.
    const [, pids] = /^NSpid:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
    if (pids?.trim() !== String(process.pid)) return undefined;
    // The first namespace has the same number on every machine.
    const [kernel] = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').split('-');
    const [namespace] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? [];
    return kernel !== undefined && namespace !== undefined ? `${kernel}-${namespace}` : undefined;
  } catch {
    return undefined;
  }
}
