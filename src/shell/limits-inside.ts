import type { Sandbox } from '../core/sandbox.ts';
import { guestBash } from '../lib/guest-files.ts';
import { askSandbox } from './ask-sandbox.ts';
import { type LimitCounts, limitCounts } from './limit-counts.ts';

/** The sandbox's own view of its control groups. A process inside could forge it, and would deceive only its own session. */
export async function countsInside(sandbox: Pick<Sandbox, 'exec'>): Promise<LimitCounts> {
  const command = await guestBash('limit-counts');
  const text = (await askSandbox(sandbox, { command }, { timeoutMs: 5_000, maxBytes: 16 * 1024 })).stdout.toString();
  const linesOf = (word: string): string => [...text.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, line]) => line).join('\n');
  return limitCounts({ memory: linesOf('memory'), processes: linesOf('pids') });
}
