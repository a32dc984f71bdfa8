import { HermeticError } from '../../core/errors.ts';
import type { Enforcement, Limits } from '../../core/sandbox.ts';

const mbPerProcessor = 2048;
/** What Vercel sells. More than the plan of a team allows is refused by Vercel, in words. */
const sizes = [1, 2, 4, 8, 16, 32] as const;

export const enforcement: Enforcement = {
  cpus: { enforced: true, how: 'a machine has 1, 2, 4, 8, 16 or 32 processors: the next one up' },
  memoryMb: { enforced: true, how: 'a machine has 2048 MB for each processor: so many processors that it has at least as much' },
  diskMb: { enforced: false, how: 'a machine at Vercel has a disk of the size that Vercel gives' },
  pids: { enforced: false, how: 'a machine at Vercel has no such limit' },
};

/** The processors of a machine; undefined for as many as Vercel gives. */
export function processorsFor({ cpus, memoryMb }: Limits): number | undefined {
  const wanted = Math.max(cpus, memoryMb / mbPerProcessor);
  if (wanted === 0) return undefined;
  const size = sizes.find((one) => one >= wanted);
  if (size !== undefined) return size;
  throw new HermeticError('backend/cannot-honour', `Vercel has no machine with ${cpus} processors and ${memoryMb} MB.`, {
    hint: 'The largest has 32 processors and 65536 MB: see terminal.container_cpu and container_memory.',
  });
}
