import type { Enforcement, Limits } from '../core/sandbox.ts';

const names: Record<keyof Limits, string> = { cpus: 'cpu', memoryMb: 'memory', diskMb: 'disk', pids: 'process' };

/** A sentence for each limit that was asked for and is not enforced. */
export function unenforcedLimits(limits: Limits, enforcement: Enforcement): string[] {
  return (Object.keys(names) as (keyof Limits)[])
    .filter((name) => limits[name] > 0 && !enforcement[name].enforced)
    .map((name) => `The ${names[name]} limit is ${name === 'diskMb' ? 'only watched' : 'not enforced'}: ${enforcement[name].how}.`);
}
