import { describe, expect, it } from 'vitest';
import type { OpenSandbox } from '../../src/core/sandbox.ts';
import type { ProcessEvent } from '../../src/tools/process/background-process.ts';
import { process as processTool } from '../../src/tools/process/process.ts';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { terminal } from '../../src/tools/terminal.ts';
import { collect, sleepers, sleepMark, untilAsleep } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { until } from '../until.ts';
import { callSandbox } from './call-sandbox.ts';
import { useToolRig } from './tool-rig.ts';

interface Listed {
  processes: { id: string; command: string; state: string; exit_code: number | null; output_bytes: number }[];
  output?: string;
  offset?: number;
  next_offset?: number;
  timed_out?: boolean;
}

function processTests(engine: TestEngine): void {
  const tables = new Map<OpenSandbox, ProcessTable>();
  const rig = useToolRig(engine, (sandbox) => {
    const processes = new ProcessTable(sandbox);
    tables.set(sandbox, processes);
    return [terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 120, processes }), processTool(processes)];
  });
  const start = async (command: string, more: object = {}): Promise<string> => {
    const { process_id } = await rig.data<{ process_id: string }>('terminal', { command, background: true, ...more });
    return process_id;
  };
  const act = (action: string, id: string, more: object = {}) => rig.data<Listed>('process', { action, id, ...more });
  const state = async (id: string): Promise<string | undefined> => (await act('poll', id)).processes[0]?.state;
  const ended = (id: string) => act('wait', id, { timeout: 30 });

  it('starts a background process with the state of the session, and does not change it', async () => {
    await rig.data('terminal', {
      command: 'export WORD=carried; greet() { echo "hello $1"; }; alias shout="echo LOUD"; cd /usr; set -u',
    });
    const id = await start('echo "$WORD $PWD $#"; greet you\nshout; cd /; export WORD=changed');
    expect(await ended(id)).toMatchObject({
      output: 'carried /usr 0\nhello you\nLOUD\n',
      timed_out: false,
      processes: [{ state: 'exited', exit_code: 0 }],
    });
    expect(await rig.data('terminal', { command: 'echo $WORD $PWD; set +u; cd - >/dev/null' })).toMatchObject({
      output: 'carried /usr\n',
    });
  });

  it('hides its own variables and jobs from a background process', async () => {
    const id = await start(
      'compgen -v | grep -E "__hermetic_(keeper|name)"; echo "$*"; jobs; ls -l /proc/$BASHPID/fd | grep -c /processes/',
    );
    expect((await ended(id)).output).toBe('\n2\n');
  });

  it('reports the exit code of a background process', async () => {
    const [code, killed, errexit] = await Promise.all([start('exit 7'), start('kill -9 $BASHPID'), start('set -e; false; echo never')]);
    expect((await ended(code)).processes).toMatchObject([{ state: 'exited', exit_code: 7 }]);
    expect((await ended(killed)).processes).toMatchObject([{ state: 'exited', exit_code: 137 }]);
    expect(await ended(errexit)).toMatchObject({ output: '', processes: [{ exit_code: 1 }] });
  });

  it('reads the log of a process by byte offset', async () => {
    const id = await start('seq 1 1000; printf é');
    await ended(id);
    const log = await act('log', id, { offset: 0, limit: 10 });
    expect(log).toMatchObject({ output: '1\n2\n3\n4\n5\n', offset: 0, next_offset: 10 });
    expect(await act('log', id, { offset: 10, limit: 4 })).toMatchObject({ output: '6\n7\n', next_offset: 14 });
    expect(await act('log', id, { offset: -2 })).toMatchObject({ output: 'é', offset: 3893 });
    expect(await act('log', id, { offset: -8, limit: 7 })).toMatchObject({ output: '\n1000\n', next_offset: 3893 });
    expect((await act('log', id, { offset: 100_000 })).output).toBe('');
    expect((await act('list', id)).processes.find((process) => process.id === id)).toMatchObject({ output_bytes: 3895 });
  });

  it('polls only new output of a process', async () => {
    const id = await start('echo one; read -r line; echo "got $line"; sleep 1000');
    await until('it has printed', async () =>
      (await act('list', id)).processes.some((process) => process.id === id && process.output_bytes === 4),
    );
    expect((await act('poll', id)).output).toBe('one\n');
    expect((await act('poll', id)).output).toBe('');
    await act('write', id, { data: 'two\n' });
    let output = '';
    await until('it has answered', async () => {
      output += (await act('poll', id)).output;
      return output !== '';
    });
    expect(output).toBe('got two\n');
    await act('kill', id);
  });

  it('writes to a process without a terminal until its input is closed', async () => {
    const id = await start('cat; echo end');
    await act('write', id, { data: 'a line\n' });
    await act('write', id, { data: 'x'.repeat(100_000) });
    expect(await state(id)).toBe('running');
    await act('close', id);
    const result = await ended(id);
    expect(result.processes).toMatchObject([{ state: 'exited', exit_code: 0, output_bytes: 100_011 }]);
    expect(await rig.call('process', { action: 'write', id, data: 'more' })).toMatchObject({
      ok: false,
      text: expect.stringMatching(/ended/),
    });
    const given = await start('sort', { stdin: 'b\na\n' });
    expect((await ended(given)).output).toBe('a\nb\n');
  });

  it('kills all processes of a background process, even hidden ones', async () => {
    const mark = sleepMark();
    const id = await start(
      `trap '' TERM; (setsid env -i sleep ${mark} &); bash -c 'trap "" TERM INT; while :; do sleep ${mark}; done' & sleep ${mark}`,
    );
    await untilAsleep(rig.sandbox, mark, 3);
    const { processes } = await act('kill', id);
    expect(processes).toMatchObject([{ id, state: expect.stringMatching(/^(killed|exited)$/) }]);
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
    expect(await act('kill', id)).toMatchObject({ processes: [{ id }] });
  });

  // Where processes of others are seen, one without a mark may be anybody's.
  it.runIf(engine.backend.traits.disposable)('kills a background process that gave up its mark', async () => {
    const mark = sleepMark();
    const id = await start(`(ulimit -x 5; setsid sleep ${mark} &); sleep ${mark}`);
    await untilAsleep(rig.sandbox, mark, 2);
    await act('kill', id);
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
  });

  it('ends a background process by the first signal it obeys', async () => {
    const id = await start('trap "echo bye; exit 5" INT; echo ready; while :; do sleep 0.05; done');
    await until('it is ready', async () => (await act('log', id, { offset: 0 })).output === 'ready\n');
    expect((await act('kill', id, { signal: 'INT' })).processes).toMatchObject([{ state: 'exited', exit_code: 5 }]);
    expect((await act('log', id, { offset: 0 })).output).toBe('ready\nbye\n');
    const plain = await start('exec sleep 1000');
    expect((await act('kill', plain, { signal: 'INT' })).processes).toMatchObject([{ state: 'exited', exit_code: 130 }]);
  });

  it('delivers a signal that is sent right after a slow start', async () => {
    await rig.data('terminal', { command: "slow() { local code=$?; sleep 0.2; return $code; }; alias builtin='slow; \\builtin'" });
    const interrupted = await start('exec sleep 1000');
    expect((await act('kill', interrupted, { signal: 'INT' })).processes).toMatchObject([{ state: 'exited', exit_code: 130 }]);
    const terminated = await start('exec sleep 1000');
    expect((await act('kill', terminated)).processes).toMatchObject([{ state: 'exited', exit_code: 143 }]);
    await rig.data('terminal', { command: 'unalias builtin; unset -f slow' });
  });

  it('reports matched patterns, even across pieces, and the end of a process', async () => {
    const heard: [string, ProcessEvent][] = [];
    const stop = tables.get(rig.sandbox)?.listen(({ facts }, event) => void heard.push([facts.id, event]));
    const id = await start(
      'printf "server rea"; sleep 0.2; printf "dy on 80\\n"; for ((i = 0; i < 100; i++)); do echo error; done; sleep 0.2',
      {
        notify_on: ['ready', 'error', 'never'],
      },
    );
    await ended(id);
    stop?.();
    const own = heard.filter(([who]) => who === id).map(([, event]) => event);
    expect(own[0]).toEqual({ kind: 'started', patterns: ['ready', 'error', 'never'] });
    expect(own[1]).toEqual({ kind: 'matched', report: { pattern: 'ready', line: expect.stringMatching(/^server ready/), suppressed: 0 } });
    expect(own.filter(({ kind }) => kind === 'matched')).toHaveLength(5);
    expect(own.at(-1)).toEqual({ kind: 'ended', state: { kind: 'exited', code: 0 } });
  });

  it('runs a background process on a terminal that can be resized', async () => {
    await rig.data('terminal', { command: 'inside() { echo "function: $(tput cols 2>/dev/null || stty size)"; }' });
    const id = await start('[ -t 0 ] && [ -t 1 ] && echo terminal; inside; stty size; read -r _; stty size; exit 3', { pty: true });
    await until('it waits', async () => (await act('log', id, { offset: 0 })).output?.includes('40 120') === true);
    await act('resize', id, { rows: 50, columns: 150 });
    await act('write', id, { data: '\n' });
    const result = await ended(id);
    expect(result.processes).toMatchObject([{ state: 'exited', exit_code: 3 }]);
    const { output } = await act('log', id, { offset: 0 });
    expect(output).toContain('terminal\n');
    expect(output).toContain('function: ');
    expect(output).toContain('50 150\n');
  });

  it('lists a running background process after other work', async () => {
    const id = await start('sleep 1000');
    await rig.data('terminal', { command: 'true' });
    expect((await act('list', id)).processes.find((process) => process.id === id)).toMatchObject({
      command: 'sleep 1000',
      state: 'running',
    });
    expect(await act('wait', id, { timeout: 0.1 })).toMatchObject({ timed_out: true });
    await act('kill', id, { signal: 'KILL' });
  });

  it('finds a background process from another program in the same sandbox', async () => {
    const mark = sleepMark();
    const id = await start(`echo said; sleep ${mark}`);
    const over = await start('exit 4');
    await ended(over);
    const other = new ProcessTable(rig.sandbox);
    const found = await other.list();
    expect(found.find(({ facts }) => facts.id === over)?.state).toEqual({ kind: 'exited', code: 4 });
    const process = await other.get(id);
    expect(process.facts.command).toBe(`echo said; sleep ${mark}`);
    await until('it is read', async () => (await other.read(process, 0, 100)).data.toString() === 'said\n');
    // What somebody inside makes of its record can only name processes of this sandbox by a mark.
    await collect(await rig.sandbox.exec({ command: `echo '*' >'${process.facts.directory}/mark'.bad` }));
    await other.kill(process, 'TERM', 1000);
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
    await other.close();
  });

  it('keeps a background process after its program is gone where the sandbox is durable, and reports it as lost elsewhere', async () => {
    const spec = engine.spec();
    const mark = sleepMark();
    const first = await engine.open(spec);
    const started = await new ProcessTable(first).start(callSandbox(first), {
      command: `echo before; read -r line; echo "got $line"; sleep ${mark}`,
      cwd: undefined,
      terminal: undefined,
      patterns: [],
    });
    await until('it has printed', () => started.bytes === 'before\n'.length);
    await first.close();
    const second = await engine.open(spec);
    const table = new ProcessTable(second);
    const process = await table.get(started.facts.id);
    if (engine.backend.traits.durable) {
      expect(process.state).toEqual({ kind: 'running' });
      await table.write(process, 'hello\n', false);
      await until('it has answered', async () => process.bytes === 'before\ngot hello\n'.length);
      await table.kill(process, 'TERM', 1000);
      expect(await sleepers(second, mark)).toBe(0);
    } else {
      await process.ended;
      expect(process.state).toMatchObject({ kind: 'lost' });
    }
    expect((await table.read(process, 0, 7)).data.toString()).toBe('before\n');
    await second.destroy();
  });

  it.each([
    [{ action: 'poll' }, /needs the id/],
    [{ action: 'write', id: 'x' }, /needs data/],
    [{ action: 'resize', id: 'x', rows: 3 }, /rows and columns/],
    [{ action: 'jump' }, /action/],
    [{ action: 'poll', id: 'nothing' }, /no process "nothing"/],
  ])('refuses %j with an error that a model can act on', async (input, words) => {
    expect(await rig.call('process', input)).toMatchObject({ ok: false, text: expect.stringMatching(words) });
  });

  it('refuses to start a background process in a missing directory', async () => {
    const result = await rig.call('terminal', { command: 'true', background: true, cwd: '/no/such/place' });
    expect(result).toMatchObject({ ok: false, text: expect.stringContaining('could not be started') });
  });

  it('asks before it writes to a process, as for a command', async () => {
    const id = await start('cat >got; sleep 1000');
    rig.asked.length = 0;
    rig.permission = { allowed: false, reason: 'No.' };
    expect(await rig.call('process', { action: 'write', id, data: 'rm -rf /\n' })).toMatchObject({ failure: 'denied' });
    rig.permission = { allowed: true };
    expect(rig.asked).toEqual([{ kind: 'input', process: 'cat >got; sleep 1000', text: 'rm -rf /\n', cwd: rig.sandbox.cwd }]);
    await act('kill', id);
    expect((await collect(await rig.sandbox.exec({ command: 'cat got' }))).stdout).toBe('');
  });

  it('judges simultaneous writes to a process together and in order', async () => {
    const id = await start('cat');
    rig.asked.length = 0;
    await Promise.all(['r', 'm -f nothing\n'].map((data) => act('write', id, { data })));
    expect(rig.asked.at(-1)).toMatchObject({ text: 'rm -f nothing\n' });
    await until('it has come', async () => (await act('log', id)).output === 'rm -f nothing\n');
    await act('kill', id);
  });

  it('declares a write together with an unfinished line before it', async () => {
    const id = await start('bash');
    await act('write', id, { data: 'cd /tmp\nr' });
    rig.asked.length = 0;
    await act('write', id, { data: 'm -f nothing\n' });
    expect(rig.asked).toMatchObject([{ kind: 'input', process: 'bash', text: 'rm -f nothing\n', before: 'cd /tmp\n' }]);
    await act('kill', id);
  });
}

for (const kind of ['local', 'bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => describe('background processes', () => processTests(engine)));
}
