import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import type { ExecRequest, OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { collect, type Result } from '../../contracts/sandbox/rig.ts';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';

/** Whatever an attack does, it does it with so much and no more. */
export const limits = { cpus: 0, memoryMb: 512, diskMb: 0, pids: 64 };

/** The processor may be somebody else's for a while; what the host itself does in between must be short. */
const maxWorkMs = 800;
const maxStallMs = 5_000;
const maxGrowthMb = 400;
const deadlineMs = 3_000;
/** A shell that has not answered by then never will, however busy the machine is. */
const answerMs = 20_000;

/** Sandboxes that belong to an attacker, and one beside them that must not notice. */
export interface AttackRig {
  /** A sandbox nobody has attacked yet. */
  open(wishes?: Partial<SandboxSpec>): Promise<OpenSandbox>;
  /**
   * Lets the attack happen, and proves that meanwhile the host went on working: its clock ticked, its memory stayed small and another
   * sandbox answered.
   */
  withstand<T>(attack: () => Promise<T>): Promise<T>;
}

export function useAttackRig(engine: TestEngine): AttackRig {
  let bystander: OpenSandbox | undefined;
  let descriptors = 0;
  const open: AttackRig['open'] = (wishes) => engine.open(engine.spec({ limits, ...wishes }));
  beforeAll(async () => {
    descriptors = openDescriptors();
    bystander = await open();
  });
  afterAll(async () => {
    await bystander?.destroy();
    // Connections to an engine are kept for a while.
    await until('no attack has cost the host a descriptor', () => openDescriptors() <= descriptors + 24);
  });

  return {
    open,
    withstand: async (attack) => {
      const answers: string[] = [];
      let isOver = false;
      const asking = (async () => {
        while (!isOver) answers.push((await command(bystander, 'echo unharmed; sleep 0.1')).stdout);
      })();
      asking.catch(() => undefined);
      const watch = watchHost();
      try {
        return await attack();
      } finally {
        isOver = true;
        await asking;
        const { longestWorkMs, longestStallMs, growthMb } = watch.stop();
        expect(new Set(answers)).toEqual(new Set(['unharmed\n']));
        expect(longestWorkMs, 'milliseconds of work without a tick').toBeLessThan(maxWorkMs);
        expect(longestStallMs, 'milliseconds without a tick').toBeLessThan(maxStallMs);
        expect(growthMb, 'megabytes more than before').toBeLessThan(maxGrowthMb);
      }
    },
  };
}

export async function command(sandbox: OpenSandbox | undefined, text: string, options?: Omit<ExecRequest, 'command'>): Promise<Result> {
  if (!sandbox) throw new Error('the sandbox is not open yet');
  return await collect(await sandbox.exec({ ...options, command: text }));
}

/** As a tool runs it: with an end, come what may. */
export async function briefly(
  sandbox: OpenSandbox,
  text: string,
  options?: Omit<ExecRequest, 'command'>,
  forMs = deadlineMs,
): Promise<Result> {
  const handle = await sandbox.exec({ ...options, command: text });
  const timer = setTimeout(() => void handle.kill('KILL'), forMs);
  return await collect(handle).finally(() => clearTimeout(timer));
}

/** The sandbox works as if nothing had been, or says that it is lost; it does not hang and it does not pretend. */
export async function worksOrIsLost(sandbox: OpenSandbox): Promise<void> {
  // The shell that waited during the attack may have been spoilt.
  for (let attempt = 1; ; attempt++) {
    const forMs = attempt < 4 ? deadlineMs : answerMs;
    const outcome = await briefly(sandbox, 'echo "$((6 * 7))"', {}, forMs).catch((error: unknown) => error);
    if (outcome instanceof Error) return expect(outcome).toMatchObject({ code: 'sandbox/lost' });
    const { stdout, exit } = outcome as Result;
    // One that was killed, or lost with its sandbox, after it had printed is one more that was spoilt.
    if (stdout === '42\n' && exit.kind === 'exited') return expect(exit).toEqual({ kind: 'exited', code: 0 });
    if (attempt === 4) return expect(exit).toMatchObject({ kind: 'lost' });
  }
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

function watchHost() {
  const before = process.memoryUsage.rss();
  let last = performance.now();
  let lastWork = workMs();
  let longestStallMs = 0;
  let longestWorkMs = 0;
  let most = before;
  const tick = (): void => {
    const [now, work] = [performance.now(), workMs()];
    longestStallMs = Math.max(longestStallMs, now - last);
    longestWorkMs = Math.max(longestWorkMs, Math.min(now - last, work - lastWork));
    most = Math.max(most, process.memoryUsage.rss());
    [last, lastWork] = [now, work];
  };
  const timer = setInterval(tick, 10);
  return {
    stop: () => {
      clearInterval(timer);
      tick();
      return { longestStallMs, longestWorkMs, growthMb: (most - before) / 1024 / 1024 };
    },
  };
}

/** Time of all processors this process has used. */
function workMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
