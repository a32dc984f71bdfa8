import { expect, it } from 'vitest';
import type { OpenSandbox } from '../../../src/core/sandbox.ts';
import { readFileIn } from '../../../src/shell/files.ts';
import type { TestEngine } from '../../engines.ts';
import { command, useAttackRig, worksOrIsLost } from './rig.ts';

const maxBytes = 64 * 1024 * 1024;

/** Runs our own commands with the session's functions, which stand for programs that were replaced in an image. */
const withSessionFunctions = (sandbox: OpenSandbox): Pick<OpenSandbox, 'exec'> => ({
  exec: (request) => sandbox.exec({ ...request, plain: false, stateless: true }),
});

export function readingAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  /** Reads and writes while something in the sandbox spoils it; what comes back is a file within the limit or a failure that says so. */
  const attempts = async (sandbox: OpenSandbox, path: string): Promise<void> => {
    for (let round = 0; round < 4; round++) {
      const read = await readFileIn(sandbox, path, 500).catch((error: unknown) => error);
      if (Buffer.isBuffer(read)) expect(read.length).toBeLessThanOrEqual(maxBytes);
      else expect(read).toMatchObject({ code: expect.stringMatching(/^(file|sandbox)\//) });
      const written = await sandbox.writeFile(path, `round ${round}`).catch((error: unknown) => error);
      if (written !== undefined) expect(written).toMatchObject({ code: expect.stringMatching(/^(file|sandbox)\//) });
    }
  };

  it('reads devices, pipes and link loops without hanging', async () => {
    const sandbox = await rig.open();
    await command(sandbox, 'mkfifo /tmp/fifo; ln -s loop /tmp/loop');
    await rig.withstand(async () => {
      for (const path of [
        '/dev/zero',
        '/proc/kmsg',
        '/dev/stdin',
        '/proc/self/fd/0',
        '/proc/self/mem',
        '/dev/tty',
        '/tmp/fifo',
        '/tmp/loop',
      ]) {
        const outcome = await sandbox.readFile(path).catch((error: unknown) => error);
        if (!Buffer.isBuffer(outcome)) expect(outcome, path).toMatchObject({ code: expect.stringMatching(/^file\//) });
      }
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it.each([
    ['grows and shrinks', 'truncate -s 10G $1; truncate -s 1 $1'],
    ['is a pipe every other moment', 'mkfifo $1.x; mv -T $1.x $1; touch $1.y; mv -T $1.y $1'],
    ['is a directory every other moment', 'rm -f $1; mkdir $1; rmdir $1; touch $1'],
    ['is a link that flips between two places', 'ln -s /dev/zero $1.x; mv -T $1.x $1; ln -s /etc/passwd $1.y; mv -T $1.y $1'],
  ])('reads and writes a file that %s within limits, or refuses it', async (_, step) => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      const flipper = await sandbox.exec({ command: `touch $1; while :; do ${step}; done 2>/dev/null`, args: ['/tmp/file'] });
      await attempts(sandbox, '/tmp/file');
      await flipper.kill('KILL');
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it.each([
    ['prints without end', 'cat() { command cat /dev/zero; }; find() { :; }'],
    ['prints single bytes without end', 'cat() { dd if=/dev/zero bs=1 status=none; }; find() { :; }'],
    ['never returns', 'cat() { sleep 1000; }; find() { :; }'],
    ['complains without end', 'cat() { command cat /dev/zero >&2; }; find() { :; }'],
  ])('ends a read when the program inside %s', async (_, functions) => {
    const sandbox = await rig.open();
    await command(sandbox, `echo content >/tmp/file; ${functions}`);
    await rig.withstand(async () => {
      const reading = readFileIn(withSessionFunctions(sandbox), '/tmp/file', 1_000);
      await expect(reading).rejects.toMatchObject({ code: 'file/failed' });
      expect((await sandbox.readFile('/tmp/file')).toString()).toBe('content\n');
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('strips control characters from the complaint of a sandbox', async () => {
    const sandbox = await rig.open();
    await command(sandbox, String.raw`echo content >/tmp/file; cat() { printf '\e]0;title\a\e[2J\x9b1m\u202e evil\r\n' >&2; return 5; }`);
    const reading = readFileIn(withSessionFunctions(sandbox), '/tmp/file');
    await expect(reading).rejects.toThrow(/^[^\p{Cc}\p{Cf}]*evil[^\p{Cc}\p{Cf}]*$/u);
    await sandbox.destroy();
  });
}
