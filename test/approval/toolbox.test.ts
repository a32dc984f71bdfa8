import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Guard } from '../../src/core/approval.ts';
import type { Sandbox } from '../../src/core/sandbox.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { type FinishedCall, Toolbox } from '../../src/tools/toolbox.ts';

/** A tool that only says where it ran, in a session whose directory can change. */
function rig(guard: Guard) {
  const place = { cwd: '/work' };
  const ran: string[] = [];
  const finished: FinishedCall[] = [];
  const tool = defineTool({
    name: 'remove',
    title: 'Remove',
    description: 'Removes.',
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
    forScripts: false,
    input: z.strictObject({ fail: z.boolean().default(false) }),
    output: z.strictObject({ exit_code: z.number() }),
    prepare: ({ fail }, sandbox) => ({
      actions: [{ kind: 'command', command: 'rm -rf build', cwd: sandbox.cwd }],
      run: async () => {
        ran.push(place.cwd);
        if (fail) throw new Error('no');
        return { exit_code: 3 };
      },
    }),
    render: () => 'done',
  });
  const sandbox = place as unknown as Sandbox;
  const toolbox = new Toolbox({
    tools: [tool],
    sandbox,
    guard,
    redact: unredacted,
    maxBytes: 1000,
    finished: (call) => finished.push(call),
  });
  return { place, ran, finished, toolbox };
}

describe('the toolbox', () => {
  it('asks again when the directory changed after the answer', async () => {
    const asked: unknown[] = [];
    const { place, ran, toolbox } = rig(async ([action]) => {
      asked.push(action);
      place.cwd = '/';
      return { allowed: true };
    });
    expect(await toolbox.call('remove', {})).toMatchObject({ ok: true });
    expect(asked).toMatchObject([{ cwd: '/work' }, { cwd: '/' }]);
    expect(ran).toEqual(['/']);
  });

  it('gives up when the directory changes after every answer', async () => {
    const { place, ran, finished, toolbox } = rig(async () => {
      place.cwd += '/deeper';
      return { allowed: true };
    });
    expect(await toolbox.call('remove', {})).toMatchObject({ ok: false, failure: 'denied' });
    expect([ran, finished]).toEqual([[], []]);
  });

  it('records how every allowed call ended, and no other', async () => {
    let allowed = true;
    const { finished, toolbox } = rig(async () => (allowed ? { allowed } : { allowed, reason: 'no' }));
    await toolbox.call('remove', {});
    await toolbox.call('remove', { fail: true });
    allowed = false;
    await toolbox.call('remove', {});
    await toolbox.call('unheard of', {});
    expect(finished).toMatchObject([
      { tool: 'remove', actions: [{ command: 'rm -rf build' }], result: { ok: true, data: { exit_code: 3 } } },
      { tool: 'remove', result: { ok: false, failure: 'failed' } },
    ]);
  });
});
