import { expect, it } from 'vitest';
import { sleepers, sleepMark, untilAsleep } from '../contracts/sandbox/rig.ts';
import type { TestEngine } from '../engines.ts';
import { itNeeding, shownBy } from '../needs.ts';
import { withEnoughTime } from '../until.ts';
import { useCode } from './code-rig.ts';

export function endTests(engine: TestEngine): void {
  const code = useCode(engine);
  const python = shownBy(engine.backend, 'python3');
  const narrow = useCode(engine, { limits: { cpus: 0, memoryMb: 128, diskMb: 0, pids: 64 } });

  itNeeding(python, 'ends a script and its processes at its timeout, and keeps its output', async () => {
    const mark = sleepMark();
    const script = `
import subprocess, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("begun", end="")
subprocess.Popen(["setsid", "sleep", "${mark}"])
open("begun", "w").close()
time.sleep(1000)`;
    const result = await withEnoughTime(
      async (timeout) => ({ ...(await code.run('python', script, { timeout })), timeout }),
      () => code.rig.succeeds('rm begun'),
    );
    const error = expect.stringContaining(`after ${result.timeout} s`);
    expect(result).toMatchObject({ status: 'timeout', exit_code: 124, output: 'begun', error });
    expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
  });

  it('ends a script and its processes when it is interrupted', async () => {
    const mark = sleepMark();
    const interrupt = new AbortController();
    const running = code.run('bash', `echo begun; sleep ${mark} & setsid sleep ${mark}`, { signal: interrupt.signal });
    await untilAsleep(code.rig.sandbox, mark, 2);
    interrupt.abort();
    expect(await running).toMatchObject({ status: 'interrupted', exit_code: 130, output: 'begun\n' });
    expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
  });

  it('does not start a script that was interrupted before', async () => {
    const result = await code.call('bash', 'touch started', { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ ok: false, failure: 'interrupted' });
    expect(await code.rig.succeeds('[[ -e started ]]')).toBe(false);
  });

  it('ends a script that is interrupted right after its start', async () => {
    for (const delay of [0, 1, 5, 20]) {
      const mark = sleepMark();
      const result = await code.run('bash', `sleep ${mark}`, { signal: AbortSignal.timeout(delay) }).catch(() => undefined);
      if (result) expect(result.status).toBe('interrupted');
      expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
    }
  });

  itNeeding(python, 'ends the tools of a script at its timeout', async () => {
    const mark = sleepMark();
    const result = await withEnoughTime(
      (timeout) => code.run('python', `command("touch begun; sleep ${mark}")`, { timeout }),
      () => code.rig.succeeds('rm begun'),
    );
    expect(result).toMatchObject({ status: 'timeout', tool_calls: 1 });
    expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
  });

  itNeeding(python, 'ends the tools of a script when it is interrupted', async () => {
    const mark = sleepMark();
    const interrupt = new AbortController();
    const running = code.run('python', `command("sleep ${mark}")`, { signal: interrupt.signal });
    await untilAsleep(code.rig.sandbox, mark);
    interrupt.abort();
    expect(await running).toMatchObject({ status: 'interrupted' });
    expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
  });

  itNeeding(python, 'ends the tools of a script that exits without waiting for them', async () => {
    const mark = sleepMark();
    const script = `
import threading, time, os
for n in range(12): threading.Thread(target=lambda: command("sleep ${mark}"), daemon=True).start()
time.sleep(0.5)
os._exit(0)`;
    const result = await code.run('python', script);
    expect(result).toMatchObject({ status: 'success', tool_calls: 12 });
    expect(result.duration_ms).toBeLessThan(50_000);
    expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
  });

  it.each([
    ['a child', (mark: string) => `sleep ${mark} & echo done`],
    ['a session of its own', (mark: string) => `(setsid sleep ${mark} </dev/null >/dev/null 2>&1 &); echo done`],
    [
      'an empty environment and closed descriptors',
      (mark: string) => `(env -i setsid bash -c 'exec 237>&- 238>&- 239>&- >&- 2>&-; exec sleep ${mark}' &); echo done`,
    ],
    ['ignored signals', (mark: string) => `trap '' TERM INT HUP; setsid sleep ${mark} & echo done`],
  ])('kills a process of a script that hides behind %s', async (_, scriptWith) => {
    const mark = sleepMark();
    const result = await code.run('bash', scriptWith(mark));
    expect(result).toMatchObject({ status: 'success', output: 'done\n' });
    expect(result.duration_ms).toBeLessThan(50_000);
    expect(await sleepers(code.rig.sandbox, mark)).toBe(0);
  });

  it('spares processes that the session started before the script', async () => {
    const mark = sleepMark();
    const earlier = await code.rig.start(`setsid sleep ${mark} &`);
    await untilAsleep(code.rig.sandbox, mark);
    await code.output('bash', 'sleep 1000 & echo done');
    expect(await sleepers(code.rig.sandbox, mark)).toBe(1);
    await earlier.kill('KILL');
  });

  itNeeding(python, 'reports the signal that ended a script', async () => {
    const result = await code.run('python', 'import os, signal; print("x"); os.kill(os.getpid(), signal.SIGKILL)');
    expect(result).toMatchObject({ status: 'error', exit_code: 137, output: 'x\n' });
  });

  itNeeding(python, 'explains that a script ran out of memory', async ({ skip }) => {
    const check = await engine.backend.check();
    if (!check.usable || !check.limits.memoryMb.enforced) skip('its memory is not limited here');
    const { status, error } = await narrow.run('python', 'data = [b"x" * 1_000_000 for _ in range(1000)]');
    expect(status).toBe('error');
    expect(error).toContain('The sandbox ran out of memory');
  });
}
