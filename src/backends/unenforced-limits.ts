import type { Enforcement, Limits, Traits } from '../core/sandbox.ts';

const names: Record<keyof Limits, string> = { cpus: 'cpu', memoryMb: 'memory', diskMb: 'disk', pids: 'process' };

/** How a limit is treated that is not enforced. */
export function insteadOfEnforcing(name: keyof Limits, traits: Pick<Traits, 'seesDisk'>): string {
  return name === 'diskMb' && traits.seesDisk ? 'only watched' : 'not enforced';
}

/** A sentence for each limit that was asked for and is not enforced. */
export function unenforcedLimits(limits: Limits, enforcement: Enforcement, traits: Pick<Traits, 'seesDisk'>): string[] {
  return (Object.keys(names) as (keyof Limits)[])
    .filter((name) => limits[name] > 0 && !enforcement[name].enforced)
    .map((name) => `The ${names[name]} limit is ${insteadOfEnforcing(name, traits)}: ${enforcement[name].how}.`);
}
