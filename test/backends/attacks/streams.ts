import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ExecHandle } from '../../../src/core/sandbox.ts';
import type { TestEngine } from '../../engines.ts';
import { passTime } from './pass-time.ts';
import { command, useAttackRig, worksOrIsLost } from './rig.ts';

const fiftyMegabytes = 50 * 1024 * 1024;

export function streamAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  it.each([
    ['is never read', 'exec sleep 1000'],
    ['is closed', 'exec <&-; sleep 1000'],
    ['is read by nobody any more', 'exit 3'],
    ['is eaten by somebody else in the sandbox', 'cat </dev/null; exec 3</proc/self/fd/0; (exec setsid sleep 1000 <&3) & exit 3'],
  ])('finishes writing fifty megabytes to a standard input that %s once the command ends', async (_, script) => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      const handle = await sandbox.exec({ command: script, stdin: 'open' });
      const written = handle.write(Buffer.alloc(fiftyMegabytes)).then(() => handle.closeStdin());
      await Promise.race([handle.exit, delay(300)]);
      await handle.kill('KILL');
      await Promise.all([handle.exit, written]);
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('reports the exit when output is closed early, held open for ever or printed after the end', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      expect((await command(sandbox, 'exec >&- 2>&-; sleep 0.1; exit 3')).exit).toEqual({ kind: 'exited', code: 3 });
      const holder = await command(
        sandbox,
        `echo now; (trap '' HUP TERM; setsid sleep 1000) & for fd in 3 4 5 6 7 8; do eval "exec $fd>&1"; done`,
      );
      expect([holder.stdout, holder.exit]).toEqual(['now\n', { kind: 'exited', code: 0 }]);
      const printer = await command(
        sandbox,
        '(trap "" PIPE; for ((i = 0; i < 20; i++)); do sleep 0.02; echo late; done; timeout 0.5 yes) & exit 4',
      );
      expect(printer.exit).toEqual({ kind: 'exited', code: 4 });
      await worksOrIsLost(sandbox);
    });
    await sandbox.destroy();
  });

  it('bounds memory while single bytes of output stay unread', async () => {
    const sandbox = await rig.open();
    const before = process.memoryUsage().external + process.memoryUsage().heapUsed;
    await rig.withstand(async () => {
      const handle = await sandbox.exec({ command: 'timeout 1.5 stdbuf -o0 tr "\\\\0" x </dev/zero' });
      await delay(1500);
      expect((process.memoryUsage().external + process.memoryUsage().heapUsed - before) / 1024 / 1024).toBeLessThan(60);
      for await (const _ of handle.output);
    });
    await sandbox.destroy();
  });

  it('resizes a terminal without blocking when the sandbox lies about its device', async () => {
    const sandbox = await rig.open();
    // A pipe keeps what is written only as long as somebody has it open.
    const lies =
      'mkfifo /tmp/fifo; for pipe in /run/hermetic/*/*.end; do exec {fd}<>$pipe; echo "T /tmp/fifo" >&$fd; done; echo lied; sleep 1000';
    await rig.withstand(async () => {
      const liar = await sandbox.exec({ command: lies });
      await liar.output[Symbol.asyncIterator]().next();
      const victim = await sandbox.exec({ command: 'sleep 1000', terminal: { rows: 24, columns: 80 } });
      await passTime(async () => {
        await Promise.all(Array.from({ length: 200 }, (_, index) => victim.resize({ rows: 10 + index, columns: 80 })));
      });
      await killAll(victim, liar);
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });
}

async function killAll(...handles: ExecHandle[]): Promise<void> {
  await Promise.all(handles.map(async (handle) => [await handle.kill('KILL'), await handle.exit]));
}
