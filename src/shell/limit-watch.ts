import type { Exit, LimitHit, Sandbox } from '../core/sandbox.ts';
import { guestBash } from '../lib/guest-files.ts';
import { askSandbox } from './ask-sandbox.ts';
import { type LimitCounts, limitCounts } from './limit-counts.ts';

export interface LimitSource {
  /** undefined when they cannot be read now. */
  read(): Promise<LimitCounts | undefined> | LimitCounts;
  /** A look costs next to nothing, so that it is also worth it after a command that succeeded. */
  isCheap: boolean;
  /** Nothing ran in the sandbox before, so that all counts began at 0. */
  isNew: boolean;
}

/** Where limit hits are counted; without `read`, the sandbox itself is asked. */
export type LimitWishes = LimitSource | Pick<LimitSource, 'isNew'>;

const none: LimitCounts = { outOfMemoryKills: 0, refusedProcesses: 0, isFull: false };

/** Finds the limit hits of a command by comparing the counts before and after it. */
export class LimitWatch {
  readonly #source: LimitSource | undefined;
  /** The latest that were read. */
  #known: Promise<LimitCounts> | undefined;

  constructor(wishes: LimitWishes | undefined, sandbox: Pick<Sandbox, 'exec'>) {
    this.#source = wishes && !('read' in wishes) ? { read: () => countsInside(sandbox), isCheap: false, ...wishes } : wishes;
  }

  /** From this moment on. The answer may be asked for once the command has ended. */
  begin(): (exit: Exit) => Promise<readonly LimitHit[]> {
    this.#known ??= this.#source && !this.#source.isNew ? this.#look(none) : Promise.resolve(none);
    const before = this.#known;
    return async (exit) => {
      const succeeded = exit.kind === 'exited' && exit.code === 0;
      if (!this.#source || (succeeded && !this.#source.isCheap)) return [];
      const after = this.#look(await before);
      this.#known = after;
      return limitHitsBetween(await before, await after, succeeded);
    };
  }

  async #read(): Promise<LimitCounts | undefined> {
    return await this.#source?.read();
  }

  /** Counts only ever rise; one that cannot be read any more is what it was. */
  async #look(before: LimitCounts): Promise<LimitCounts> {
    const now = await this.#read().catch(() => undefined);
    return {
      outOfMemoryKills: Math.max(now?.outOfMemoryKills ?? 0, before.outOfMemoryKills ?? 0),
      refusedProcesses: Math.max(now?.refusedProcesses ?? 0, before.refusedProcesses ?? 0),
      isFull: now?.isFull ?? false,
    };
  }
}

function limitHitsBetween(before: LimitCounts, after: LimitCounts, succeeded: boolean): LimitHit[] {
  const rose = (name: 'outOfMemoryKills' | 'refusedProcesses'): boolean => (after[name] ?? 0) > (before[name] ?? 0);
  const hits: LimitHit[] = [];
  if (rose('outOfMemoryKills')) hits.push('out-of-memory');
  if (rose('refusedProcesses') || (after.isFull && !succeeded)) hits.push('out-of-processes');
  return hits;
}

/** The sandbox's own view of its control groups. A process inside could forge it, and would deceive only its own session. */
async function countsInside(sandbox: Pick<Sandbox, 'exec'>): Promise<LimitCounts> {
  const command = await guestBash('limit-counts');
  const text = (await askSandbox(sandbox, { command }, { timeoutMs: 5_000, maxBytes: 16 * 1024 })).stdout.toString();
  const linesOf = (word: string): string => [...text.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, line]) => line).join('\n');
  return limitCounts({ memory: linesOf('memory'), processes: linesOf('pids') });
}
