import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { sleepMark, untilAsleep, useRig } from './rig.ts';

export function aftermathContract(engine: TestEngine): void {
  const rig = useRig(engine);
  const change = (name: string): string => `export LEFT=${name}; cd /usr; f() { echo ${name}; }; alias a='echo ${name}'; umask 077`;
  const check = async (name: string): Promise<void> => {
    expect(await rig.output('echo "$LEFT"; pwd; f; umask; a')).toBe(`${name}\n/usr\n${name}\n0077\n${name}\n`);
    await rig.output('cd - >/dev/null; unset LEFT; unset -f f; unalias a; umask 022');
  };

  it('keeps the state of a command after exit 3', async () => {
    expect((await rig.run(`${change('exit')}; exit 3; echo never`)).exit).toEqual({ kind: 'exited', code: 3 });
    await check('exit');
  });

  it('keeps the state of a command that fails', async () => {
    expect((await rig.run(`${change('failure')}; false`)).exit).toEqual({ kind: 'exited', code: 1 });
    await check('failure');
  });

  it('keeps the state of a command that set -e ends', async () => {
    expect((await rig.run(`set -e; ${change('errexit')}; false; echo never`)).exit).toEqual({ kind: 'exited', code: 1 });
    await check('errexit');
  });

  it('keeps the state of a command that set -u ends', async () => {
    expect((await rig.run(`set -u; ${change('nounset')}; echo "$undefined"; echo never`)).exit).toMatchObject({ kind: 'exited' });
    await check('nounset');
  });

  it('keeps the state of a command that exits in a function in a loop', async () => {
    expect((await rig.run(`${change('deep')}; g() { while :; do exit 4; done; }; g | cat; g`)).exit).toEqual({
      kind: 'exited',
      code: 4,
    });
    await check('deep');
  });

  it('keeps the state of a command that TERM ends', async () => {
    const mark = sleepMark();
    const handle = await rig.start(`${change('timeout')}; sleep ${mark}`);
    await untilAsleep(rig.sandbox, mark);
    await handle.kill('TERM');
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'TERM' });
    await handle.kill('KILL');
    await check('timeout');
  });

  it('keeps the state of a command that INT ends', async () => {
    const mark = sleepMark();
    const handle = await rig.start(`${change('interrupt')}; sleep ${mark}; echo never`);
    await untilAsleep(rig.sandbox, mark);
    await handle.kill('INT');
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'INT' });
    await check('interrupt');
  });

  it('restores the state from before a command that KILL ends', async () => {
    await rig.output(change('before'));
    const mark = sleepMark();
    const handle = await rig.start(`export LEFT=lost; sleep ${mark}`);
    await untilAsleep(rig.sandbox, mark);
    await handle.kill('KILL');
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    await check('before');
  });

  it('restores the state from before a command whose shell was replaced by exec', async () => {
    await rig.output(change('replaced'));
    expect(await rig.run('export LEFT=lost; exec echo instead')).toMatchObject({
      stdout: 'instead\n',
      exit: { kind: 'exited', code: 0 },
    });
    await check('replaced');
  });

  it('runs the EXIT trap of a command once, after the command and with its exit code', async () => {
    const command = `trap 'echo "trap $?"' EXIT; ${change('trap')}; echo body; exit 5`;
    expect(await rig.run(command)).toMatchObject({ stdout: 'body\ntrap 5\n', exit: { kind: 'exited', code: 5 } });
    await check('trap');
  });

  it('lets an EXIT trap set the exit code, and lets a command remove it', async () => {
    expect((await rig.run('trap "exit 9" EXIT; true')).exit).toEqual({ kind: 'exited', code: 9 });
    expect(await rig.run('trap "echo no" EXIT; trap - EXIT; true')).toMatchObject({ stdout: '', exit: { kind: 'exited', code: 0 } });
    expect((await rig.run('(trap "echo sub" EXIT; true); trap "" EXIT; echo main')).stdout).toBe('sub\nmain\n');
  });

  it('leaves traps for other signals to the command', async () => {
    expect((await rig.run(`trap 'echo caught' USR1; kill -USR1 $$; trap - USR1; trap -p USR1`)).stdout).toBe('caught\n');
  });

  it.each(['set -x', 'set -v', 'set -xv'])('prints under %s exactly what bash prints', async (option) => {
    const command = `${option}; ${change('traced')}\necho traced`;
    const { stdout, stderr } = await rig.run('bash -c "eval \\"\\$1\\"" bash "$1"', { args: [command] });
    expect(await rig.run(command)).toMatchObject({ stdout, stderr });
    await check('traced');
  });

  it('keeps state and output of a command with DEBUG and ERR traps', async () => {
    const traps = `trap 'echo debug >&2; echo debug' DEBUG; trap 'echo err; echo err >>errors' ERR`;
    const body = 'g() { false; }\ng\necho body\nfalse';
    const { stdout: expected } = await rig.run('bash -c "$1"', { args: [`${traps}\n${body}`] });
    const { stdout, exit } = await rig.run(`${change('debug')}\n${traps}\n${body}`);
    expect(stdout).toBe(expected);
    expect(exit).toEqual({ kind: 'exited', code: 1 });
    await check('debug');
  });

  it('keeps the state of a command that closed or redirected its streams', async () => {
    await rig.run(`${change('closed')}; exec >/dev/null 2>&1 </dev/null 3>&- 4>&-; exec >&- 2>&-`);
    await check('closed');
  });
}
