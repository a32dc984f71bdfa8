import { describe, expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { collect, follow, sleepMark, untilAsleep, useRig } from './rig.ts';

export function exitsContract(engine: TestEngine): void {
  describe('the exit of a command', () => {
    const rig = useRig(engine);
    const exited = (code: number) => ({ kind: 'exited', code });
    const signaled = (signal: string) => ({ kind: 'signaled', signal });

    it.each([
      ['true', exited(0)],
      ['false', exited(1)],
      ['exit 3', exited(3)],
      ['exit 255', exited(255)],
      ['exit 256', exited(0)],
      ['exit 137', exited(137)],
      ['exit 143', exited(143)],
      ['exit 130', exited(130)],
      ['(exit 137)', exited(137)],
      ['bash -c "exit 143"', exited(143)],
      ['no-such-program', exited(127)],
      ['/etc/passwd', exited(126)],
      ['kill -9 $$', signaled('KILL')],
      ['kill -TERM $$', signaled('TERM')],
      ['kill -INT $$', signaled('INT')],
      ['kill -HUP $$', signaled('HUP')],
      ['kill -SEGV $$', signaled('SEGV')],
      ['kill -ABRT $$', signaled('ABRT')],
      ['kill -PIPE $$', signaled('PIPE')],
      ['exec sh -c "exit 7"', exited(7)],
      ['exec sh -c "exit 137"', exited(137)],
      ["exec sh -c 'kill -9 $$'", signaled('KILL')],
      ['exec true', exited(0)],
      ['exec no-such-program', exited(127)],
      // A program that a signal ends is for the shell that waited for it like any that failed.
      ["bash -c 'kill -9 $$'", exited(137)],
      ['trap "exit 4" TERM; kill -TERM $$; sleep 10', exited(4)],
      ['trap "" TERM; kill -TERM $$; exit 5', exited(5)],
    ])('reports the exit of %s as bash does', async (command, exit) => {
      expect((await rig.run(command)).exit).toEqual(exit);
    });

    it('reports the signal that ended a program which replaced the shell', async () => {
      const mark = sleepMark();
      const handle = await rig.start(`exec sleep ${mark}`);
      await untilAsleep(rig.sandbox, mark);
      await handle.kill('TERM');
      expect(await handle.exit).toEqual(signaled('TERM'));
    });

    it('reports the exit before all output was read', async () => {
      const handle = await rig.start('head -c 100000 /dev/zero & wait; exit 8');
      expect(await handle.exit).toEqual(exited(8));
      expect((await collect(handle)).bytes.length).toBe(100_000);
    });

    it('delivers everything that was printed before a kill', async () => {
      const mark = sleepMark();
      const handle = await rig.start(`echo partial; echo problem >&2; sleep ${mark}; echo never`);
      await untilAsleep(rig.sandbox, mark);
      await handle.kill('KILL');
      expect(await collect(handle)).toMatchObject({ stdout: 'partial\n', stderr: 'problem\n', exit: signaled('KILL') });
    });

    it('keeps the first exit when the command is killed, written to or resized afterwards', async () => {
      const handle = await rig.start('exit 2');
      expect(await handle.exit).toEqual(exited(2));
      await handle.kill('KILL');
      await handle.kill('TERM');
      await handle.write('nobody reads this');
      await handle.resize({ rows: 10, columns: 20 });
      handle.closeStdin();
      expect(await handle.exit).toEqual(exited(2));
    });
  });

  describe('a sandbox that ends unexpectedly', () => {
    it('reports a running command as lost when its sandbox ends, and never repeats it', async () => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      const handle = await sandbox.exec({ command: 'echo run >>runs; echo started; sleep 300' });
      const output = follow(handle);
      await output.until(/started\n/);
      await engine.endFromOutside(sandbox);
      expect(await handle.exit).toMatchObject({ kind: 'lost', reason: expect.stringMatching(/\w/) });
      expect(await output.rest()).toBe('started\n');
      expect(await sandbox.ended).toMatch(/\w/);
      await sandbox.close();
      const again = await engine.open(spec);
      expect((await again.readFile('runs')).toString()).toBe('run\n');
      expect((await collect(await again.exec({ command: 'echo usable' }))).stdout).toBe('usable\n');
    });

    it('refuses commands and files with a reason after the sandbox has ended', async () => {
      const sandbox = await engine.open(engine.spec());
      await engine.endFromOutside(sandbox);
      await sandbox.ended;
      await expect(sandbox.exec({ command: 'touch ran' })).rejects.toMatchObject({ code: 'sandbox/lost' });
      await expect(sandbox.shell()).rejects.toMatchObject({ code: 'sandbox/lost' });
      await expect(sandbox.readFile('x')).rejects.toMatchObject({ code: 'sandbox/lost' });
      await expect(sandbox.writeFile('x', 'y')).rejects.toMatchObject({ code: 'sandbox/lost' });
      await sandbox.close();
    });

    it('refuses commands after the sandbox was closed', async () => {
      const sandbox = await engine.open(engine.spec());
      await sandbox.close();
      await expect(sandbox.exec({ command: 'touch ran' })).rejects.toMatchObject({ code: 'sandbox/lost' });
    });

    it('ends running commands when the sandbox is closed', async () => {
      const sandbox = await engine.open(engine.spec());
      const handle = await sandbox.exec({ command: 'echo started; sleep 300' });
      const output = follow(handle);
      await output.until(/started\n/);
      await sandbox.close();
      expect((await handle.exit).kind).toMatch(/^(lost|signaled)$/);
      await output.rest();
    });
  });
}
