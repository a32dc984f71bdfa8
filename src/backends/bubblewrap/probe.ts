import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { HermeticError } from '../../core/errors.ts';
import type { Enforcement } from '../../core/sandbox.ts';
import { errorText } from '../../lib/error-text.ts';
import { hostBash } from '../../lib/guest-files.ts';
import { started } from '../../lib/started.ts';
import { type ControlGroups, findHierarchies, makeControlGroups } from './cgroup.ts';
import { enforcementWith } from './enforcement.ts';
import type { Failure } from './failures.ts';
import { bash, groupVersions, hostUserHere } from './launch.ts';
import type { NetworkChoice } from './network.ts';
import { startBubblewrap } from './start.ts';

const noLimits = { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 };
const probeInstallation = 'ffff';

/** The directories of a probe are in memory, so that a killed probe leaves nothing. */
const inMemory = { runDirectory: undefined, workspace: undefined, home: undefined };

/** Runs `true` in a throw-away sandbox, with a directory of the host in it. Never throws. */
export async function probe(network: NetworkChoice = 'none'): Promise<{ ok: true } | ({ ok: false } & Failure)> {
  try {
    const mounts = [{ source: '/usr', target: '/mounted', readOnly: true }];
    const options = { ...inMemory, name: probeName(), installation: probeInstallation, mounts, env: {}, limits: noLimits };
    const { child, release } = await startBubblewrap({ ...options, network, command: ['true'] });
    child.stdout?.resume();
    child.stderr?.resume();
    const [code, signal] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode, child.signalCode];
    await release();
    if (code === 0) return { ok: true };
    const reason = `A sandbox started, but the program true ended in it with ${signal ?? `code ${code}`}.`;
    return { ok: false, code: 'backend/unavailable', reason, fix: 'Use the docker backend.' };
  } catch (error) {
    const reason = errorText(error);
    const fix = (error instanceof HermeticError ? error.hint : undefined) ?? 'Use the docker backend.';
    return { ok: false, code: failureCode(error), reason, fix };
  }
}

/** Which limits can be enforced on this machine, found out by putting a process under them. Never throws: then none. */
export async function enforcementHere(): Promise<Enforcement> {
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
    return enforcementWith(code === 0 ? groups.held : new Map());
  } catch {
    return enforcementWith(new Map());
  } finally {
    await groups?.remove();
  }
}

function probeName(): string {
  return `probe-${randomBytes(6).toString('hex')}`;
}

function failureCode(error: unknown): Failure['code'] {
  const code = error instanceof HermeticError ? error.code : undefined;
  switch (code) {
    case 'backend/not-installed':
    case 'backend/not-running':
    case 'backend/not-permitted':
      return code;
    default:
      return 'backend/unavailable';
  }
}
