import { expect, it } from 'vitest';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { terminal } from '../../src/tools/terminal.ts';
import { sleepers, sleepMark, untilAsleep } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { itNeeding, shownBy } from '../needs.ts';
import { withEnoughTime } from '../until.ts';
import { secret, useToolRig } from './tool-rig.ts';

interface Result {
  output: string;
  exit_code: number | null;
  ended: string;
  note?: string;
  cwd: string;
  truncated: boolean;
  output_file?: string;
}

const maxBytes = 5_000;

function terminalTests(engine: TestEngine): void {
  const rig = useToolRig(
    engine,
    (sandbox) => [terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 120, processes: new ProcessTable(sandbox) })],
    { maxBytes },
  );
  const run = (command: string, more: object = {}) => rig.data<Result>('terminal', { command, ...more });

  it('returns output, exit code and directory, and keeps the state of the session', async () => {
    expect(await run('cd /usr && export WORD=kept; echo out; echo err >&2; exit 3')).toMatchObject({
      output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
      exit_code: 3,
      ended: 'exited',
      cwd: '/usr',
      truncated: false,
    });
    expect(await run('echo $WORD; cd - >/dev/null')).toMatchObject({ output: 'kept\n', exit_code: 0 });
  });

  it('runs one command in another directory', async () => {
    const before = rig.sandbox.cwd;
    expect(await run('pwd', { cwd: '/usr/bin' })).toMatchObject({ output: '/usr/bin\n', cwd: before });
    expect(await run('pwd', { cwd: '/no/such/place' })).toMatchObject({ exit_code: 126, note: expect.stringContaining('directory') });
  });

  it('explains an exit code that is no failure', async () => {
    expect(await run('echo a | grep b')).toMatchObject({ exit_code: 1, note: 'no line matched' });
    const { text } = await rig.call('terminal', { command: 'diff <(echo a) <(echo b) >/dev/null' });
    expect(text).toBe('[exit code 1: the files differ]');
    expect(await run('no-such-program 2>/dev/null')).toMatchObject({ exit_code: 127, note: 'there is no such program' });
  });

  it('removes colours from output and keeps the last state of a progress bar', async () => {
    const command = String.raw`printf '\e[31mred\e[0m\n\e]0;title\a'; for i in 1 2 3; do printf '\r%s0%% done' $i; done; printf '\nab\bc\x07\r\n'`;
    expect((await run(command)).output).toBe('red\n30% done\nac\n');
  });

  it('runs a command on a terminal when asked, and passes its input', async () => {
    expect((await run('[ -t 1 ] && echo terminal', { pty: true })).output).toBe('terminal\n');
    expect((await run('cat; echo end', { stdin: 'line\nlast' })).output).toBe('line\nlastend\n');
    expect((await run('cat')).output).toBe('');
    expect((await run('true', { stdin: 'x'.repeat(200_000) })).exit_code).toBe(0);
  });

  it('keeps the beginning and the end of long output, and all of it in a file inside', async () => {
    const result = await run('seq 1 20000');
    expect(result).toMatchObject({ truncated: true, exit_code: 0 });
    expect(result.output.length).toBeLessThan(maxBytes + 300);
    expect(result.output).toMatch(/^1\n2\n3\n/);
    expect(result.output).toMatch(/\n19999\n20000\n$/);
    expect(result.output).toContain(`all of it is in ${result.output_file}`);
    expect((await run(`sha256sum <'${result.output_file}'; seq 1 20000 | sha256sum`)).output).toMatch(/^(.+)\n\1\n$/);
  });

  it('writes no file for a progress bar of many bytes', async () => {
    const result = await run('for ((i = 0; i < 3000; i++)); do printf "\\r%05d" $i; done; echo');
    expect(result).toMatchObject({ output: '02999\n', truncated: false });
    expect(result.output_file).toBeUndefined();
  });

  it('returns a long output when its file cannot be written', async () => {
    // On a disk without room, or a home that cannot be written to.
    const home = (await run('echo $HOME')).output.trim();
    await run(`rm -rf '${home}/.cache/hermetic'; mkdir -p '${home}/.cache'; : >'${home}/.cache/hermetic'`);
    const result = await run('seq 1 20000');
    expect(result).toMatchObject({ truncated: true, exit_code: 0, output: expect.stringContaining('could not be kept') });
    await run(`rm '${home}/.cache/hermetic'`);
  });

  it('ends a command and its processes at its timeout', async () => {
    const mark = sleepMark();
    const result = await withEnoughTime(
      (timeout) => run(`echo begun; (setsid sleep ${mark} &); : >begun; sleep ${mark}`, { timeout }),
      async () => (await run('rm begun')).exit_code === 0,
    );
    expect(result).toMatchObject({ output: 'begun\n', exit_code: null, ended: 'timeout' });
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
  });

  it('ends a command and its processes when it is interrupted', async () => {
    const mark = sleepMark();
    const controller = new AbortController();
    const call = rig.data<Result>('terminal', { command: `echo begun; sleep ${mark} & sleep ${mark}` }, { signal: controller.signal });
    await untilAsleep(rig.sandbox, mark, 2);
    controller.abort();
    expect(await call).toMatchObject({ output: 'begun\n', ended: 'interrupted' });
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
  });

  it('redacts secrets in the result and in the progress, not in files', async () => {
    const shown: string[] = [];
    const half = secret.length / 2;
    const command = `printf ${secret.slice(0, half)}; sleep 0.1; echo ${secret.slice(half)} | tee -a file; printf %s ${secret} >secret`;
    const result = await rig.call('terminal', { command }, { progress: (text) => shown.push(text) });
    expect(JSON.stringify([result, shown])).not.toContain(secret);
    expect(result.text).toContain('[redacted]');
    expect(shown.join('')).toContain('[redacted]');
    expect((await rig.sandbox.readFile('secret')).toString()).toBe(secret);
  });

  it('shows output while the command runs', async () => {
    const seen = Promise.withResolvers<void>();
    const controller = new AbortController();
    const progress = (text: string): void => {
      if (text.includes('early')) seen.resolve();
    };
    const call = rig.call('terminal', { command: 'echo early; sleep 60' }, { progress, signal: controller.signal });
    await seen.promise;
    controller.abort();
    await call;
  });

  it('declares the command and its input before anything runs', async () => {
    rig.asked.length = 0;
    rig.permission = { allowed: false, reason: 'Not today.' };
    const result = await rig.call('terminal', { command: 'touch marker', stdin: 'touch marker', cwd: '/usr' });
    rig.permission = { allowed: true };
    expect(result).toEqual({ ok: false, failure: 'denied', text: 'Not today.' });
    expect(rig.asked).toEqual([
      { kind: 'command', command: 'touch marker', cwd: '/usr' },
      { kind: 'input', process: 'touch marker', text: 'touch marker', cwd: '/usr' },
    ]);
    expect((await run('ls marker')).exit_code).not.toBe(0);
  });

  it.each([
    [{}, /command/],
    [{ command: '' }, /command/],
    [{ command: 'true', timeout: 121 }, /at most 120 seconds; use background/],
    [{ command: 'true', timeot: 3 }, /timeot/],
    [{ command: 'true', background: true, timeout: 3 }, /not for background/],
    [{ command: 'true', notify_on: ['x'] }, /only for background/],
    ['true', /object/],
  ])('refuses %j with an error that a model can act on', async (input, words) => {
    expect(await rig.call('terminal', input)).toMatchObject({ ok: false, failure: 'bad-input', text: expect.stringMatching(words) });
  });

  it('returns an error for a NUL byte or an unknown tool', async () => {
    expect(await rig.call('terminal', { command: 'echo \0' })).toMatchObject({ ok: false, text: expect.stringContaining('NUL') });
    expect(await rig.call('terminl', {})).toMatchObject({
      failure: 'unknown-tool',
      text: expect.stringContaining('Did you mean terminal'),
    });
  });
}

for (const kind of ['local', 'bubblewrap', 'docker']) await describeBackend(kind, terminalTests);

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    const spec = { limits: { cpus: 0, memoryMb: 64, diskMb: 0, pids: 0 } };
    const rig = useToolRig(
      engine,
      (sandbox) => [terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 120, processes: new ProcessTable(sandbox) })],
      { spec },
    );

    itNeeding(shownBy(engine.backend, 'python3'), 'reports that a command ran out of memory, and runs the next one', async () => {
      const hog = 'python3 -c "x = bytearray(512 * 1024 * 1024); print(len(x))"';
      expect(await rig.call('terminal', { command: hog })).toMatchObject({ ok: true, text: expect.stringMatching(/memory/i) });
      expect((await rig.call('terminal', { command: 'echo alive' })).text).toBe('alive\n');
    });
  });
}
