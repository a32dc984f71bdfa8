import type { Enforcement } from '../../core/sandbox.ts';
import type { Controller } from './cgroup.ts';

/** How each limit is enforced with these control groups, and with resource limits for the rest. */
export function enforcementWith(held: ReadonlyMap<Controller, string>): Enforcement {
  const missing = 'no control group can be used here';
  const byGroup = (controller: Controller): { enforced: true; how: string } | undefined => {
    const how = held.get(controller);
    return how === undefined ? undefined : { enforced: true, how };
  };
  return {
    cpus: byGroup('cpu') ?? { enforced: false, how: missing },
    memoryMb: byGroup('memory') ?? {
      enforced: false,
      how: `only for each process alone (resource limit RLIMIT_DATA), not for all together: ${missing}`,
    },
    diskMb: { enforced: false, how: 'bubblewrap cannot limit disk space' },
    pids: byGroup('pids') ?? { enforced: true, how: `resource limit RLIMIT_NPROC in the sandbox's own user namespace: ${missing}` },
  };
}
