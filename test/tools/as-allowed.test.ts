import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../../src/core/approval.ts';
import type { ExecRequest, OpenSandbox } from '../../src/core/sandbox.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { toolSet } from '../../src/tools/index.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';

/** Another call of the session gets in between a permission and the moment that something begins. */
function racingTests(engine: TestEngine): void {
  let sandbox: OpenSandbox;
  let toolbox: Toolbox;
  let asked: Action[] = [];
  /** Run once, before the first command for which it matters what the session is like. */
  let meanwhile: string | undefined;

  beforeEach(async () => {
    sandbox = await engine.open(engine.spec());
    asked = [];
    await collect(await sandbox.exec({ command: 'mkdir here there; echo here >here/file; echo there >there/file; cd here' }));
    const raced = Object.create(sandbox, {
      cwd: { get: () => sandbox.cwd },
      definitions: { get: () => sandbox.definitions },
      name: { get: () => sandbox.name },
      exec: {
        value: async (request: ExecRequest) => {
          const command = request.onlyIf && meanwhile;
          if (command) {
            meanwhile = undefined;
            await collect(await sandbox.exec({ command }));
          }
          return await sandbox.exec(request);
        },
      },
    }) as OpenSandbox;
    const { tools } = toolSet({
      sandbox: raced,
      terminal: { timeoutSeconds: 60, maxTimeoutSeconds: 60 },
      code: { timeoutSeconds: 60, maxToolCalls: 10, mode: 'project' },
      deliver: async () => undefined,
    });
    const guard = async (actions: readonly Action[]) => {
      asked.push(...actions);
      return { allowed: true } as const;
    };
    toolbox = new Toolbox({ tools, sandbox: raced, guard, redact: unredacted, maxBytes: 50_000 });
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
