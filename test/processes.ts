import { readdirSync, readFileSync } from 'node:fs';

/** Every process of this machine, in whatever sandbox. */
export function allProcesses(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Its program and the arguments; nothing for a process that is dead. */
export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Those of all processes, one in a line. */
export function commandLines(): string {
  return allProcesses()
    .map((pid) => commandLine(pid).join(' '))
    .join('\n');
}

/**
 * Not for one that has ended and that its parent did not collect: the first process of a container may never collect
 * any.
 */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
