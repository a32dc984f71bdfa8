import { describe, expect, it } from 'vitest';
import type { OpenSandbox } from '../../src/core/sandbox.ts';
import { executeCode } from '../../src/tools/execute-code/execute-code.ts';
import { process as processTool } from '../../src/tools/process/process.ts';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { terminal } from '../../src/tools/terminal.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { until } from '../until.ts';
import { useToolRig } from './tool-rig.ts';

/** Where the tools keep what is theirs, inside. */
const own = (sandbox: OpenSandbox): string => `~/.cache/hermetic/${sandbox.name}`;

function toolsAt(sandbox: OpenSandbox) {
  const processes = new ProcessTable(sandbox);
  const basic = [terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 120, processes }), processTool(processes)];
  return [...basic, executeCode({ timeoutSeconds: 60, maxToolCalls: 10, mode: 'strict', tools: basic })];
}

function hostileTests(engine: TestEngine): void {
  const rig = useToolRig(engine, toolsAt);
  const inside = async (command: string): Promise<string> => (await collect(await rig.sandbox.exec({ command }))).stdout;
  const start = async (command: string): Promise<string> =>
    (await rig.data<{ process_id: string }>('terminal', { command, background: true })).process_id;

  it('refuses to kill by a mark that was changed inside, and spares other processes', async () => {
    const [victim, bystander] = [await start('sleep 1000'), await start('sleep 1000')];
    const mark = `${own(rig.sandbox)}/processes/${victim}/mark`;
    const before = await inside(`cat ${mark}; printf '@(12345678|*)' >${mark}`);
    expect(await rig.call('process', { action: 'kill', id: victim, signal: 'KILL' })).toMatchObject({ ok: false });
    expect(await rig.data('process', { action: 'poll', id: bystander })).toMatchObject({ processes: [{ state: 'running' }] });
    await inside(`printf %s ${before.trim()} >${mark}`);
    await rig.data('process', { action: 'kill', id: victim });
    await rig.data('process', { action: 'kill', id: bystander });
  });

  it('reports a process as killed although its pipe is held open', async () => {
    const id = await start('sleep 1000');
    const holder = await start(`exec 9<>${own(rig.sandbox)}/processes/${id}/done; echo held; sleep 1000`);
    await until('it is held', async () => (await rig.data<{ output: string }>('process', { action: 'log', id: holder })).output !== '');
    expect(await rig.data('process', { action: 'kill', id, signal: 'KILL' })).toMatchObject({ processes: [{ state: 'killed' }] });
    await rig.data('process', { action: 'kill', id: holder });
  });

  it('returns in time although a long output cannot be kept', async () => {
    const stopCat = 'read -r name <$at/comm; [[ $name != cat ]] || { kill -STOP "$(basename $at)"; held=1; }';
    const stop = `until [[ $held ]]; do for at in /proc/[0-9]*; do ${stopCat}; done; done`;
    const command = `head -c 100000 /dev/zero | tr '\\0' x; ${stop} 2>/dev/null; head -c 3000000 /dev/zero | tr '\\0' y`;
    const result = await rig.data<{ output: string; output_file?: string }>('terminal', { command });
    expect(result).toMatchObject({ exit_code: 0, truncated: true, output: expect.stringContaining('could not be kept') });
    expect(result.output_file).toBeUndefined();
  });

  it('prunes only its own old output, even behind a link', async () => {
    await inside(`mkdir -p ${own(rig.sandbox)} mine; cd mine; touch {1..30}.txt; cd ..; rm -rf ${own(rig.sandbox)}/output`);
    await inside(`ln -s "$PWD/mine" ${own(rig.sandbox)}/output`);
    await rig.data('terminal', { command: 'seq 1 20000' });
    expect(await inside('ls mine/{1..30}.txt | wc -l')).toBe('30\n');
  });

  it('tracks at most 32 processes, even when the sandbox claims more', async () => {
    await inside(`cd ${own(rig.sandbox)}/processes; for i in {1..60}; do
      d=$(printf %08x $i); mkdir $d; cd $d; mkfifo done in close; echo 12345678 >mark; date +%s >started; : >log; echo x >command; cd ..
    done`);
    const table = new ProcessTable(rig.sandbox);
    expect((await table.list()).filter(({ state }) => state.kind === 'running').length).toBeLessThanOrEqual(32);
    await table.close();
    await inside(`rm -rf ${own(rig.sandbox)}/processes/000000*`);
  });

  it('starts at most 32 background processes at once', async () => {
    const started = await Promise.all(Array.from({ length: 40 }, () => rig.call('terminal', { command: 'sleep 1000', background: true })));
    expect(started.filter(({ ok }) => ok)).toHaveLength(32);
    expect(started.find(({ ok }) => !ok)).toMatchObject({ text: expect.stringContaining('32 processes run') });
  });
}

await describeBackend('bubblewrap', (engine) => describe('tools in a hostile sandbox', () => hostileTests(engine)));

await describeBackend('docker', (engine) =>
  describe('a script with a temporary directory', () => {
    const rig = useToolRig(engine, toolsAt);
    it.each([
      ['exec yes', 'answered with more than'],
      ['mkdir -p ~/precious; echo ~/precious', 'no place for a temporary directory'],
    ])('refuses to run a script when mktemp is %j', async (instead, words) => {
      const fake = `printf '%s\\n' '#!/bin/sh' '${instead}' >/usr/local/bin/mktemp && chmod 755 /usr/local/bin/mktemp`;
      await collect(await rig.sandbox.exec({ command: fake }));
      const result = await rig.call('execute_code', { language: 'bash', code: 'echo ran' });
      expect(result).toMatchObject({ ok: false, text: expect.stringContaining(words) });
      expect((await collect(await rig.sandbox.exec({ command: 'ls -d ~/precious 2>&1; rm /usr/local/bin/mktemp' }))).stdout).toMatch(
        words.startsWith('no') ? /precious$/m : /cannot access/,
      );
    });
  }),
);
