import type { Enforcement, Limits } from '../../core/sandbox.ts';
import { type ControlGroups, type Controller, ownProcesses } from './cgroup.ts';

/**
 * How each limit of a sandbox that this program makes is enforced with these control groups, and with resource limits
 * for the rest. `missing`: why no control group does it.
 */
export function enforcementWith(
  held: ReadonlyMap<Controller, string>,
  program: string,
  missing = 'no control group can be used here',
): Enforcement {
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
    diskMb: { enforced: false, how: `${program} cannot limit disk space` },
    pids: byGroup('pids') ?? { enforced: true, how: `resource limit RLIMIT_NPROC in the sandbox's own user namespace: ${missing}` },
  };
}

/** Of a process, 0 for none. */
export interface ResourceLimits {
  processes: number;
  dataKilobytes: number;
}

/** Only for what no control group holds. `own` processes are not those of the sandbox and count as such. */
export function resourceLimits(limits: Limits, groups: ControlGroups, own = ownProcesses): ResourceLimits {
  const processes = groups.held.has('pids') || limits.pids === 0 ? 0 : limits.pids + own;
  return { processes, dataKilobytes: groups.held.has('memory') ? 0 : Math.round(limits.memoryMb * 1024) };
}
