import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Enforcement } from '../../core/sandbox.ts';
import { hostBash } from '../../lib/guest-files.ts';
import { started } from '../../lib/started.ts';
import { type ControlGroups, makeControlGroups } from './cgroup.ts';
import { enforcementWith } from './enforcement.ts';
import { findHierarchies, groupObstacle } from './hierarchies.ts';
import { bash, groupVersions, hostUserHere } from './stage.ts';

/** Names the control groups of probes. */
export const probeInstallation = 'ffff';

export function probeName(): string {
  return `probe-${randomBytes(6).toString('hex')}`;
}

/** Which limits can be enforced on this machine, found out by putting a process under them. Never throws: then none. */
export async function enforcementHere(program: string): Promise<Enforcement> {
  const limits = { cpus: 1, memoryMb: 64, diskMb: 0, pids: 16 };
  const name = probeName();
  let groups: ControlGroups | undefined;
  try {
    const hierarchies = await findHierarchies(groupVersions(await hostUserHere(name)));
    groups = await makeControlGroups(probeInstallation, name, limits, hierarchies);
    const words = [...bash.slice(1), await hostBash('enter-groups'), 'probe', ...groups.entrances];
    const child = started(spawn(bash[0], words, { stdio: ['pipe', 'ignore', 'ignore'], env: {}, cwd: '/' }));
    const exit = once(child, 'exit');
    // Security: 0 would mean this program.
    if (child.pid) await groups.add(child.pid);
    child.stdin.end('done\n');
    const [code] = await exit;
    return enforcementWith(code === 0 ? groups.held : new Map(), program, await groupObstacle());
  } catch {
    return enforcementWith(new Map(), program, await groupObstacle());
  } finally {
    await groups?.remove();
  }
}
