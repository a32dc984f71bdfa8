import { randomInt } from 'node:crypto';

/** The first digits of all marks of one process of ours at one sandbox; see `guest/processes.bash`. */
export function newMarkBase(): number {
  return randomInt(1_000_000, 8_000_000);
}

/** The number by which the processes of one command are known inside. */
export function markOf(base: number, number: number): string {
  return `${base}${String(number).padStart(9, '0')}`;
}
