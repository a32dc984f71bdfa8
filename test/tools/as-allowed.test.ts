import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Action } from '../../src/core/approval.ts';
import type { OpenSandbox } from '../../src/core/sandbox.ts';
import type { CallSandbox } from '../../src/core/tool.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { toolSet } from '../../src/tools/index.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { watchedSandbox } from './watched-sandbox.ts';

/** The sandbox of the last call of a toy. */
let kept: CallSandbox | undefined;

/** A tool of somebody who has read only the contract of tools. */
function toyTool(name: string, act: (sandbox: CallSandbox) => Promise<unknown>) {
  return defineTool({
    name,
    title: name,
    description: name,
    hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
    forScripts: false,
    input: z.strictObject({}),
    output: z.object({}),
    prepare: (_, { cwd }) => ({
      actions: [{ kind: 'command', command: 'touch made', cwd }],
      run: async ({ sandbox }) => {
        kept = sandbox;
        await act(sandbox);
        return {};
      },
    }),
    render: () => 'done',
  });
}

const make = async (sandbox: CallSandbox, command = 'touch made') => await collect(await sandbox.exec({ command }));
const toys = [
  toyTool('toy', make),
  toyTool('toy_in_steps', async (sandbox) => {
    await collect(await sandbox.exec({ command: 'true', plain: true, cwd: '/' }));
    await make(sandbox);
  }),
  toyTool('toy_that_insists', (sandbox) => make(sandbox).catch(() => make(sandbox))),
  toyTool('toy_that_moves', async (sandbox) => {
    await make(sandbox, 'touch begun; cd ../there');
    await make(sandbox);
  }),
];

/** Another call of the session gets in between a permission and the moment that something begins. */
function racingTests(engine: TestEngine): void {
  let sandbox: OpenSandbox;
  let toolbox: Toolbox;
  let asked: Action[] = [];
  /** Run once, before the first command for which it matters what the session is like. */
  let meanwhile: string | undefined;
  /** The directory in which nothing is allowed. */
  let refused: string | undefined;
  const has = async (path: string): Promise<boolean> => {
    const { exit } = await collect(await sandbox.exec({ command: `test -e ${path}`, plain: true }));
    return exit.kind === 'exited' && exit.code === 0;
  };

  beforeEach(async () => {
    refused = undefined;
    sandbox = await engine.open(engine.spec());
    asked = [];
    await collect(await sandbox.exec({ command: 'mkdir here there; echo here >here/file; echo there >there/file; cd here' }));
    const raced = watchedSandbox(sandbox, async ({ onlyIf }) => {
      const command = onlyIf && meanwhile;
      if (!command) return;
      meanwhile = undefined;
      await collect(await sandbox.exec({ command }));
    });
    const { tools } = toolSet({
      sandbox: raced,
      terminal: { timeoutSeconds: 60, maxTimeoutSeconds: 60 },
      code: { timeoutSeconds: 60, maxToolCalls: 10, mode: 'project' },
      deliver: async () => undefined,
    });
    const guard = async (actions: readonly Action[]) => {
      asked.push(...actions);
      const isRefused = actions.some((action) => 'cwd' in action && action.cwd === refused);
      return isRefused ? ({ allowed: false, reason: 'not there' } as const) : ({ allowed: true } as const);
    };
    toolbox = new Toolbox({ tools: [...tools, ...toys], sandbox: raced, guard, redact: unredacted, maxBytes: 50_000 });
  });
  afterEach(() => sandbox.destroy());

  it.each([
    ['terminal', { command: 'cat file' }],
    ['terminal', { command: 'cat file', pty: true }],
    ['terminal', { command: 'cat file', background: true }],
    ['execute_code', { language: 'bash', code: 'cat file' }],
    ['read_file', { path: 'file' }],
    ['write_file', { path: 'file', content: 'x' }],
    ['edit_file', { path: 'file', edits: [{ old_text: 'there', new_text: 'x' }] }],
    ['search_files', { pattern: 'there' }],
    ['send_file', { path: 'file' }],
  ])('asks again for %s %j after the session changed its directory', async (name, input) => {
    meanwhile = 'cd ../there';
    expect(await toolbox.call(name, input)).toMatchObject({ ok: true });
    expect(asked.map((action) => 'cwd' in action && action.cwd.split('/').at(-1))).toEqual(['here', 'there']);
  });

  it.each(['toy', 'toy_in_steps', 'toy_that_insists'])(
    '%s, which knows nothing of permissions, runs nothing in a session that has changed',
    async (name) => {
      meanwhile = 'cd ../there';
      refused = sandbox.cwd.replace(/here$/, 'there');
      expect(await toolbox.call(name, {})).toMatchObject({ ok: false, failure: 'denied' });
      expect(asked).toHaveLength(2);
      expect([await has('made'), await has('../here/made')]).toEqual([false, false]);
      refused = undefined;
      expect(await toolbox.call(name, {})).toMatchObject({ ok: true });
      expect(await has('made')).toBe(true);
    },
  );

  it('runs no call again that had begun before the session changed', async () => {
    expect(await toolbox.call('toy_that_moves', {})).toMatchObject({
      ok: false,
      failure: 'failed',
      text: expect.stringContaining('changed'),
    });
    expect(asked).toHaveLength(1);
    expect([await has('begun'), await has('../here/begun'), await has('made')]).toEqual([false, true, false]);
  });

  it('lets no tool use the sandbox of a call that is over', async () => {
    await toolbox.call('toy', {});
    await expect(kept?.exec({ command: 'touch late' })).rejects.toThrow('The call is over');
    expect(await has('late')).toBe(false);
  });

  it('keeps long output of a command that removes its own directory', async () => {
    const command = 'cd ..; rm -r here; seq 100000';
    expect(await toolbox.call('terminal', { command })).toMatchObject({ data: { truncated: true, output_file: expect.any(String) } });
  });

  it('asks again when a function was defined after the command was allowed', async () => {
    meanwhile = 'harmless() { echo something else; }';
    expect(await toolbox.call('terminal', { command: 'harmless; echo done' })).toMatchObject({ ok: true });
    expect(asked).toHaveLength(2);
  });

  it('declares the directory of one call as an absolute path', async () => {
    expect(await toolbox.call('terminal', { command: 'cat file', cwd: '../there' })).toMatchObject({ data: { output: 'there\n' } });
    expect(asked).toMatchObject([{ cwd: sandbox.cwd.replace(/here$/, 'there') }]);
  });
}

for (const kind of ['local', 'bubblewrap']) {
  await describeBackend(kind, (engine) => describe('changes between permission and start', () => racingTests(engine)));
}
