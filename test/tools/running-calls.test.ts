import { expect, it } from 'vitest';
import * as z from 'zod';
import type { Guard } from '../../src/core/approval.ts';
import type { ExecHandle, Sandbox } from '../../src/core/sandbox.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';

/** Steps of a call that the test lets go one after the other. */
function rig() {
  const step = () => Promise.withResolvers<void>();
  const [opened, judged, answered, started, ran] = [step(), step(), step(), step(), step()];
  const tool = defineTool({
    name: 'tool',
    title: 'Tool',
    description: 'Runs.',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    forScripts: true,
    input: z.strictObject({ command: z.string() }),
    output: z.strictObject({}),
    prepare: ({ command }, { cwd }) => ({
      actions: [{ kind: 'command', command, cwd }],
      run: async ({ sandbox }) => {
        await sandbox.exec({ command });
        await ran.promise;
        return {};
      },
    }),
    render: () => 'done',
  });
  const guard: Guard = async (_actions, _origin, _signal, onAsking) => {
    await judged.promise;
    onAsking?.();
    await answered.promise;
    return { allowed: true };
  };
  const handle = { connections: async () => ({ blocked: [], allowed: [] }) } as unknown as ExecHandle;
  const exec = async () => await started.promise.then(() => handle);
  const sandbox = { name: 'none', cwd: '/', definitions: {}, exec } as unknown;
  const toolbox = new Toolbox({
    tools: [tool],
    sandbox: sandbox as Sandbox,
    open: async () => await opened.promise,
    guard,
    redact: unredacted,
    maxBytes: 1000,
  });
  return { toolbox, steps: { opened, judged, answered, started, ran } };
}

it('a call says what it waits for, from its beginning to its end', async () => {
  const { toolbox, steps } = rig();
  const now = () => toolbox.running.map(({ text, waitsFor }) => `${text} ${waitsFor ?? 'runs'}`);
  /** After everything that is ready has been done. */
  const after = async (step: PromiseWithResolvers<void>) => {
    step.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    return now();
  };
  const call = toolbox.call('tool', { command: 'make' });
  expect(now()).toEqual(['make sandbox']);
  expect(await after(steps.opened)).toEqual(['make judge']);
  expect(await after(steps.judged)).toEqual(['make approval']);
  expect(await after(steps.answered)).toEqual(['make shell']);
  expect(await after(steps.started)).toEqual(['make runs']);
  steps.ran.resolve();
  expect(await call).toMatchObject({ ok: true });
  expect(now()).toEqual([]);
});

it('a call that is refused, has bad input or gets no sandbox is not listed afterwards', async () => {
  const { toolbox, steps } = rig();
  const bad = toolbox.call('tool', { nothing: 1 });
  steps.opened.reject(new Error('no sandbox'));
  expect(await bad).toMatchObject({ ok: false });
  expect(await toolbox.call('unknown', {})).toMatchObject({ ok: false });
  expect(toolbox.running).toEqual([]);
});
