import type { Enforcement } from '../../core/sandbox.ts';
import type { EngineInfo } from './engine.ts';
import type { StorageSupport } from './storage.ts';
import { runtimeProgram } from './transport.ts';

/** The kernel would refuse it a thread, and all of the sandbox would end. */
const gvisorPids = 'gVisor does not count the processes of a sandbox, and a limit would end gVisor itself';
const rootless = 'an engine without root needs control groups v2 that are delegated to its user';

/** The limits that this engine can enforce. Where its kernel lacks a controller it accepts a limit silently and does nothing. */
export function limitEnforcement(info: EngineInfo, storage: StorageSupport, runtime?: string): Enforcement {
  const group = `control group v${info.CgroupVersion ?? '1'}`;
  const by = (supported: boolean, controller: string) => ({
    enforced: supported,
    how: supported ? group : info.Rootless ? rootless : `the kernel of the engine has no ${controller} controller`,
  });
  const memory = by(info.MemoryLimit, 'memory');
  return {
    cpus: by(info.CpuCfsQuota, 'cpu quota'),
    memoryMb: memory.enforced && !info.SwapLimit ? { enforced: true, how: `${group}; swap is not limited` } : memory,
    diskMb: storage,
    pids: runtimeProgram(runtime, info) === 'runsc' ? { enforced: false, how: gvisorPids } : by(info.PidsLimit, 'pids'),
  };
}
