import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConnectionQuestions } from '../../src/approval/connection-questions.ts';
import type { SessionGuard } from '../../src/core/approval.ts';
import type { OpenSandbox } from '../../src/core/sandbox.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { toolSet } from '../../src/tools/index.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';
import { describeBackend } from '../engines.ts';
import { collectGarbage } from '../garbage.ts';
import { until } from '../until.ts';
import { watchedSandbox } from './watched-sandbox.ts';

await describeBackend('local', (engine) => {
  let sandbox: OpenSandbox;
  /** What an egress thread keeps of each command, because it may have left a process that wants a connection. */
  const askers: unknown[] = [];
  beforeAll(async () => {
    sandbox = await engine.open(engine.spec());
  });
  afterAll(() => sandbox?.destroy());

  /** A toolbox whose commands may ask about connections. */
  function askingToolbox(): Toolbox {
    const allow = async () => ({ allowed: true }) as const;
    const guard = Object.assign(allow, { isGranted: async () => false }) as unknown as SessionGuard;
    const keeping = watchedSandbox(sandbox, ({ askToConnect }) => void askers.push(askToConnect));
    const { tools } = toolSet({
      sandbox: keeping,
      terminal: { timeoutSeconds: 60, maxTimeoutSeconds: 60 },
      code: { timeoutSeconds: 60, maxToolCalls: 10, mode: 'project' },
    });
    const connections = new ConnectionQuestions({ guard, isAsking: () => true });
    return new Toolbox({ tools, sandbox: keeping, guard, connections, redact: unredacted, maxBytes: 50_000 });
  }

  describe('a call that is over', () => {
    it.each([
      ['terminal', { command: 'echo done' }],
      ['execute_code', { language: 'bash', code: 'echo done' }],
    ])('of %s is not kept in memory by the questions that its processes may still ask', async (name, input) => {
      const toolbox = askingToolbox();
      /** Stands for all that a turn shows and remembers. */
      const call = async (): Promise<WeakRef<object>> => {
        const turn = { shown: '' };
        const result = await toolbox.call(name, input, { progress: (text) => (turn.shown += text) });
        expect(result).toMatchObject({ ok: true });
        return new WeakRef(turn);
      };
      const turn = await call();
      expect(askers.some((asker) => typeof asker === 'function')).toBe(true);
      await until('it is collected', () => {
        collectGarbage();
        return turn.deref() === undefined;
      });
    });

    it('keeps the beginning of a long script in memory, and not all of it', async () => {
      const toolbox = askingToolbox();
      const call = async (number: number): Promise<void> => {
        // In one piece, as it comes from a model.
        const { code } = JSON.parse(JSON.stringify({ code: `echo ${number} # ${'-'.repeat(900_000)}` }));
        expect(await toolbox.call('execute_code', { language: 'bash', code })).toMatchObject({ ok: true });
      };
      await call(0);
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      for (let number = 1; number <= 20; number++) await call(number);
      collectGarbage();
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * 2 ** 20);
    });
  });
});
