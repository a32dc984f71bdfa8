import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { startTime } from './process-facts.ts';

const pattern = /^(\d+)-(\d+)-[0-9a-f]+$/;

/** A new name for something that a process owns. It has the pid and the start time of the process, so that a recycled pid is never taken for it. */
export function processName(pid = process.pid): string {
  return `${pid}-${startTime(pid) ?? 0}-${randomBytes(4).toString('hex')}`;
}

export function isProcessName(name: string): boolean {
  return pattern.test(name);
}

/** Whether the process that made this name still runs. Security: only known in the process namespace it was made in. */
export function isAlive(name: string): boolean {
  const [, pid, started] = pattern.exec(name) ?? [];
  return pid !== undefined && startTime(Number(pid)) === started;
}

/** The number of our process namespace; 0 where the kernel has none. */
export function processNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}
