import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const pattern = /^(\d+)-(\d+)-[0-9a-f]+$/;

/** Names the process by pid and start time, so that a recycled pid is never taken for it. */
export function attachmentName(): string {
  return `${process.pid}-${startTime(process.pid) ?? 0}-${randomBytes(4).toString('hex')}`;
}

/** Directories in `runDirectory` of processes that still run, ours included. Those of dead ones are removed. */
export function liveAttachments(runDirectory: string): string[] {
  return readdirSync(runDirectory).filter((name) => {
    const [, pid, started] = pattern.exec(name) ?? [];
    if (!pid) return false;
    if (startTime(Number(pid)) === started) return true;
    rmSync(join(runDirectory, name), { recursive: true, force: true });
    return false;
  });
}

/** In clock ticks since boot; undefined when there is no such process. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
