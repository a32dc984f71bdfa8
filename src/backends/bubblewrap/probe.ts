import { once } from 'node:events';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { probeInstallation, probeName } from '../namespaces/enforcement-here.ts';
import type { NetworkChoice } from '../namespaces/network.ts';
import type { Failure } from './failures.ts';
import { startBubblewrap } from './start.ts';

const noLimits = { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 };

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
