import type { ExecHandle } from '../core/sandbox.ts';

/**
 * Kills a command of ours that has not ended in time: a sandbox may have made anything of the programs it runs. Call what this returns
 * when the command has ended; it tells whether it was killed.
 */
export function limitTime(handle: ExecHandle, patienceMs: number): () => boolean {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    handle.kill('KILL').catch(() => undefined);
  }, patienceMs);
  return () => {
    clearTimeout(timer);
    return isLate;
  };
}
