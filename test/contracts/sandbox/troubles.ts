import { describe, expect, it, type TestContext } from 'vitest';
import type { Limits } from '../../../src/core/sandbox.ts';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { collect, useRig } from './rig.ts';

/** Takes three times the memory there is, and no more. */
const hog = 'head -c 300000000 /dev/zero | tail -c 290000000 | wc -c';
/** At most 80 sleepers; ends by itself, because bash tries again for longer than they sleep. It complains when it finds no room. */
const crowd = 'for n in {1..80}; do sleep 2 & done; wait; false';

export function troublesContract(engine: TestEngine): void {
  describe('troubles at the limits', () => {
    const rig = useRig(engine, { limits: { cpus: 0, memoryMb: 96, diskMb: 0, pids: 40 } });
    const troubles = async (command: string) => {
      const handle = await rig.start(command);
      const { exit, stderr } = await collect(handle);
      return { exit, stderr, troubles: await handle.troubles() };
    };
    const needs = async (limit: keyof Limits, { skip }: TestContext): Promise<void> => {
      const check = await engine.backend.check();
      if (!check.usable || !check.limits[limit].enforced) skip(`${engine.kind} does not enforce it here`);
    };

    it('reports no trouble for a command that succeeds, fails or kills itself', async () => {
      for (const command of ['true', 'false', 'kill -9 $$', 'exit 137']) expect((await troubles(command)).troubles).toEqual([]);
    });

    it('reports a process killed for lack of memory once, and the sandbox stays usable', async (context) => {
      await needs('memoryMb', context);
      const seen = await troubles(`set -o pipefail; ${hog}`);
      expect(seen).toMatchObject({ exit: { kind: 'exited', code: 137 }, troubles: ['out-of-memory'] });
      expect((await troubles('false')).troubles).toEqual([]);
      expect(await rig.output('echo usable')).toBe('usable\n');
    });

    it('reports that the process limit was reached, and the sandbox stays usable', async (context) => {
      await needs('pids', context);
      for (const time of [1, 2]) {
        // On a machine that is slow enough the first have slept before the last are there.
        const crowded = await until('there was no room', async () => {
          const seen = await troubles(crowd);
          return seen.stderr.includes('fork: retry') ? seen : undefined;
        });
        expect([time, crowded.troubles]).toEqual([time, ['out-of-processes']]);
        // Sleepers that bash did not wait for may have kept a shell from starting since, which counts for the next command.
        await until('the crowd is gone', async () => !(await rig.sandbox.hasLiveProcesses()));
        await troubles('false');
        expect([time, (await troubles('false')).troubles]).toEqual([time, []]);
      }
      expect(await rig.output('echo usable')).toBe('usable\n');
    });
  });
}
