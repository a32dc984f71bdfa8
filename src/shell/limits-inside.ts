import type { ExecHandle, ExecRequest } from '../core/sandbox.ts';
import { type LimitCounts, limitCounts } from './limit-counts.ts';
import { limitTime } from './time-limit.ts';

/** Builtins only: when counts are of interest there may be no room for a process. */
const script = `
for group in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/pids; do
  for name in memory.events memory.oom_control pids.events; do
    [[ -r $group/$name ]] || continue
    while IFS= read -r line; do printf '%s %s\\n' "\${name%%.*}" "$line"; done <"$group/$name"
  done
done`;
const patienceMs = 5_000;
const mostBytes = 16 * 1024;

/** The sandbox's own view of its control groups. Everybody inside could forge it, and would deceive only themselves. */
export async function countsInside(exec: (request: ExecRequest) => Promise<ExecHandle>): Promise<LimitCounts> {
  const handle = await exec({ command: script, stateless: true });
  const endTimeLimit = limitTime(handle, patienceMs);
  let text = '';
  for await (const { data } of handle.output) if (text.length < mostBytes) text += data.toString();
  endTimeLimit();
  const linesOf = (word: string): string => [...text.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, line]) => line).join('\n');
  return limitCounts({ memory: linesOf('memory'), processes: linesOf('pids') });
}
