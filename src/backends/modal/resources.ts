import type { Enforcement, Limits } from '../../core/sandbox.ts';

/** Modal sells no less. It is what a sandbox costs while it does nothing. */
const minCpus = 0.125;
const minMemoryMb = 128;

export const enforcement: Enforcement = {
  cpus: { enforced: true, how: 'limit of the sandbox at Modal, at least 0.125' },
  memoryMb: { enforced: true, how: 'limit of the sandbox at Modal, at least 128 MB; Modal may end a sandbox that reaches it' },
  diskMb: { enforced: false, how: 'Modal has a limit of its own that cannot be changed' },
  pids: { enforced: false, how: 'Modal has no such limit' },
};

/** As little as possible is reserved, and no more than the limits can be used. */
export function resourcesOf({ cpus, memoryMb }: Limits) {
  return {
    milliCpu: minCpus * 1000,
    memoryMb: minMemoryMb,
    gpuConfig: {},
    ...(cpus > 0 && { milliCpuMax: Math.ceil(Math.max(cpus, minCpus) * 1000) }),
    ...(memoryMb > 0 && { memoryMbMax: Math.ceil(Math.max(memoryMb, minMemoryMb)) }),
  };
}
