import { describe, expect, it } from 'vitest';
import type { ExecHandle } from '../../../src/core/sandbox.ts';
import type { TestEngine } from '../../engines.ts';
import { collect, follow, sleepers, sleepMark, untilAsleep, useRig } from './rig.ts';

const terminal = { rows: 31, columns: 97 };

export function terminalContract(engine: TestEngine): void {
  const rig = useRig(engine);

  describe('a command on a terminal', () => {
    it('connects all streams of a command to one terminal of the given size', async () => {
      const { stdout, stderr, exit } = await rig.run('[[ -t 0 && -t 1 && -t 2 ]] && tty; stty size; echo problem >&2; exit 3', {
        terminal,
      });
      expect(stdout).toMatch(/^\/dev\/pts\/\d+\r\n31 97\r\nproblem\r\n$/);
      expect(stderr).toBe('');
      expect(exit).toEqual({ kind: 'exited', code: 3 });
    });

    it('gives a command no terminal when none was asked for', async () => {
      expect(await rig.run('[[ -t 0 || -t 1 || -t 2 ]]')).toMatchObject({ exit: { kind: 'exited', code: 1 } });
    });

    it('sets TERM to xterm-256color unless the caller sets it', async () => {
      expect((await rig.run('echo "$TERM"', { terminal })).stdout).toBe('xterm-256color\r\n');
      expect((await rig.run('echo "$TERM"', { terminal, env: { TERM: 'vt100' } })).stdout).toBe('vt100\r\n');
    });

    it('shares the state of the session with a command on a terminal', async () => {
      await rig.output('export BEFORE=1; shared() { echo shared; }');
      expect((await rig.run('shared; export AFTER=$BEFORE; cd /usr; exit 4', { terminal })).stdout).toBe('shared\r\n');
      expect(await rig.output('echo "$AFTER $PWD ${TERM-unset}"; cd - >/dev/null')).toMatch(/^1 \/usr /);
    });

    it('passes directory, variables and arguments to a command on a terminal', async () => {
      const { stdout } = await rig.run('echo "$PWD $ONCE $1"', { terminal, cwd: '/usr', env: { ONCE: 'once' }, args: ["it's"] });
      expect(stdout).toBe("/usr once it's\r\n");
    });

    it('leaves no internal variable in the environment of a program on a terminal', async () => {
      expect((await rig.run('env | grep __ || echo clean', { terminal })).stdout).toBe('clean\r\n');
    });

    it('notifies a program when the terminal is resized', async () => {
      const handle = await rig.start(
        `trap told=yes WINCH; echo ready; until [[ $told && $(stty size) == '50 120' ]]; do sleep 0.02; done; echo "told $(stty size)"`,
        { terminal },
      );
      const output = follow(handle);
      await output.until(/ready/);
      await handle.resize({ rows: 50, columns: 120 });
      expect(await output.rest()).toMatch(/told 50 120\r\n/);
      expect(await handle.exit).toEqual({ kind: 'exited', code: 0 });
    });

    it('echoes what is typed and passes it to the command', async () => {
      const handle = await rig.start('read -r line; echo "got $line"', { terminal, stdin: 'open' });
      await handle.write('typed\n');
      expect((await collect(handle)).stdout).toBe('typed\r\ngot typed\r\n');
    });

    it('ends the input of a terminal when none is given', async () => {
      const { stdout, exit } = await rig.run('cat; echo "end $?"', { terminal });
      expect(stdout).toMatch(/end 0\r\n$/);
      expect(exit).toEqual({ kind: 'exited', code: 0 });
    });

    it('interrupts a command on a terminal with Ctrl-C', async () => {
      const mark = sleepMark();
      const handle = await rig.start(`sleep ${mark}; echo never`, { terminal, stdin: 'open' });
      await untilAsleep(rig.sandbox, mark);
      await handle.write('\x03');
      const { stdout, exit } = await collect(handle);
      expect(stdout).not.toContain('never');
      expect(exit).toEqual({ kind: 'signaled', signal: 'INT' });
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
    });

    it('lets a command on a terminal catch Ctrl-C', async () => {
      const handle = await rig.start(`trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done`, {
        terminal,
        stdin: 'open',
      });
      const output = follow(handle);
      await output.until(/ready/);
      await handle.write('\x03');
      expect(await output.rest()).toMatch(/caught\r\n$/);
      expect(await handle.exit).toEqual({ kind: 'exited', code: 7 });
    });

    it('kills a command on a terminal with all its processes', async () => {
      const mark = sleepMark();
      const handle = await rig.start(`echo begun; setsid sleep ${mark} & sleep ${mark}`, { terminal });
      await untilAsleep(rig.sandbox, mark, 2);
      await handle.kill('KILL');
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
      expect((await handle.exit).kind).toBe('signaled');
    });

    it.each([
      ['exit 130', { kind: 'exited', code: 130 }],
      ['kill -9 $$', { kind: 'signaled', signal: 'KILL' }],
      ['kill -TERM $$', { kind: 'signaled', signal: 'TERM' }],
      ['exec sh -c "exit 7"', { kind: 'exited', code: 7 }],
      ['exec sh -c "exit 137"', { kind: 'exited', code: 137 }],
      ["exec sh -c 'kill -9 $$'", { kind: 'signaled', signal: 'KILL' }],
    ])('reports the exit of %s on a terminal', async (command, exit) => {
      expect((await rig.run(command, { terminal })).exit).toEqual(exit);
    });

    it('delivers a megabyte from a terminal before the exit', async () => {
      const { bytes, exit } = await rig.run('head -c 1000000 /dev/zero | tr "\\0" x; exit 2', { terminal });
      expect([bytes.length, exit]).toEqual([1_000_000, { kind: 'exited', code: 2 }]);
    });
  });

  describe('a shell that reads lines', () => {
    const feed = async (handle: ExecHandle, text: string) => {
      await handle.write(text);
      handle.closeStdin();
      return await collect(handle);
    };

    it('runs lines one after another in one shell and exits with the last code', async () => {
      const result = await feed(await rig.sandbox.shell(), 'x=1\necho "x is $x"\ncd /usr\nexport LINES_RAN=yes\nfalse\n');
      expect(result).toMatchObject({ stdout: 'x is 1\n', stderr: '', exit: { kind: 'exited', code: 1 } });
      expect(await rig.output('echo "$LINES_RAN $PWD"; cd - >/dev/null')).toBe('yes /usr\n');
    });

    it('starts a shell with the state of the session', async () => {
      await rig.output('export SESSION=here; from_session() { echo "function $1"; }; alias al="echo alias"');
      expect((await feed(await rig.sandbox.shell(), 'echo $SESSION; pwd\nfrom_session x\nal\n')).stdout).toBe(
        `here\n${rig.workdir}\nfunction x\nalias\n`,
      );
    });

    it('lets a line read the lines after it', async () => {
      expect((await feed(await rig.sandbox.shell(), 'read word\nhello\necho "got $word"\ncat\nrest\n')).stdout).toBe('got hello\nrest\n');
    });

    it('answers each line before the next one is written', async () => {
      const handle = await rig.sandbox.shell();
      const output = follow(handle);
      await handle.write('echo one\n');
      await output.until(/one\n/);
      await handle.write('echo two >&2\n');
      await output.until(/two\n/);
      await handle.write('exit 5\n');
      expect(await handle.exit).toEqual({ kind: 'exited', code: 5 });
      await output.rest();
    });

    it('continues after a line that fails and ends at a syntax error', async () => {
      const { stdout, stderr, exit } = await feed(await rig.sandbox.shell(), 'no-such-program\necho still here\necho )\necho never\n');
      expect(stdout).toBe('still here\n');
      expect(stderr).toMatch(/syntax error/);
      expect(exit).toEqual({ kind: 'exited', code: 2 });
    });

    it('ends a shell at once without any line', async () => {
      expect(await feed(await rig.sandbox.shell(), '')).toMatchObject({ stdout: '', stderr: '', exit: { kind: 'exited', code: 0 } });
    });

    it('kills a shell with all its processes', async () => {
      const mark = sleepMark();
      const handle = await rig.sandbox.shell();
      await handle.write(`sleep ${mark}\n`);
      await untilAsleep(rig.sandbox, mark);
      await handle.kill('KILL');
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    });
  });

  describe('an interactive shell', () => {
    it('prompts, runs what is typed and returns its state to the session', async () => {
      await rig.output('export GREETING=hello');
      const handle = await rig.sandbox.shell(terminal);
      const output = follow(handle);
      await output.until(/\$ |# /);
      await handle.write('stty size; echo "$GREETING person"; cd /usr; export TYPED=yes\n');
      await output.until(/31 97\r\nhello person\r\n/);
      await handle.resize({ rows: 40, columns: 100 });
      await handle.write('stty size\n');
      await output.until(/40 100\r\n/);
      await handle.write('exit 6\n');
      await output.rest();
      expect(await handle.exit).toEqual({ kind: 'exited', code: 6 });
      expect(await rig.output('echo "$TYPED $PWD"; cd - >/dev/null')).toBe('yes /usr\n');
    });

    it('ends the program and not the shell on Ctrl-C', async () => {
      const mark = sleepMark();
      const handle = await rig.sandbox.shell(terminal);
      const output = follow(handle);
      await output.until(/\$ |# /);
      await handle.write(`sleep ${mark}\n`);
      await untilAsleep(rig.sandbox, mark);
      await handle.write('\x03');
      await handle.write('echo went" "on\n');
      // With the prompt after it: an end of input that arrives before the shell reads lines again is lost in the terminal.
      await output.until(/went on\r\n[\s\S]*[$#] /);
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
      await handle.write('\x04');
      await output.rest();
      expect((await handle.exit).kind).toBe('exited');
    });

    it('stops a program with Ctrl-Z in an interactive shell', async () => {
      const mark = sleepMark();
      const handle = await rig.sandbox.shell(terminal);
      const output = follow(handle);
      await output.until(/\$ |# /);
      await handle.write(`sleep ${mark}\n`);
      await untilAsleep(rig.sandbox, mark);
      await handle.write('\x1a');
      await output.until(/Stopped/);
      await handle.kill('KILL');
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
      await output.rest();
    });
  });
}
