import { describe, expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { collect, follow, fullProcessCount, processCount, sleepers, sleepMark, untilAsleep, useRig } from './rig.ts';

const ignore = `trap '' TERM INT HUP`;

/** Ways to get away. Each starts one `sleep` and leaves the command running. */
const escapes: Record<string, (mark: string) => string> = {
  'a child': (mark) => `sleep ${mark} & wait`,
  'a grandchild': (mark) => `bash -c 'bash -c "sleep ${mark}; :"; :'`,
  'a pipeline': (mark) => `sleep ${mark} | cat | cat`,
  'a session of its own': (mark) => `setsid sleep ${mark} & wait`,
  'a double fork': (mark) => `(setsid bash -c 'sleep ${mark} &' &); sleep 1000`,
  'an empty environment': (mark) => `(env -i setsid sleep ${mark} &); sleep 1000`,
  nohup: (mark) => `nohup setsid sleep ${mark} >/dev/null 2>&1 & sleep 1000`,
  'closed streams': (mark) => `(setsid sleep ${mark} <&- >&- 2>&- &); sleep 1000`,
  'ignored signals': (mark) => `${ignore}; setsid sleep ${mark} & sleep 1000`,
  'a stopped process': (mark) => `(setsid bash -c 'kill -STOP $$; :' &); sleep ${mark}`,
  'another name': (mark) => `(exec -a sleep setsid -w bash -c 'exec sleep ${mark}' &); sleep 1000`,
  'an exec': (mark) => `exec setsid -w sleep ${mark}`,
  'a soft limit of its own': (mark) => `ulimit -S -x 5; setsid sleep ${mark} & sleep 1000`,
  'a user namespace of its own, where allowed': (mark) => `(unshare -U sleep ${mark} || sleep ${mark}) 2>/dev/null`,
};

export function killContract(engine: TestEngine): void {
  const rig = useRig(engine);

  it.each(Object.entries(escapes))('kills every process of a command, even one that hides behind %s', async (_, commandWith) => {
    const mark = sleepMark();
    const handle = await rig.start(commandWith(mark));
    await untilAsleep(rig.sandbox, mark);
    await handle.kill('KILL');
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
    expect((await handle.exit).kind).toBe('signaled');
  });

  it('kills a process of another user', async ({ skip }) => {
    const become = 'setpriv --reuid 65534 --regid 65534 --clear-groups';
    if (!(await rig.succeeds(`${become} true`))) skip('a command cannot become another user here');
    const mark = sleepMark();
    const handle = await rig.start(`${become} bash -c "${ignore}; setsid sleep ${mark} & sleep ${mark}"`);
    await untilAsleep(rig.sandbox, mark, 2);
    await handle.kill('KILL');
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
  });

  it('spares the processes of other commands when one command is killed', async () => {
    const [kept, killed] = [sleepMark(), sleepMark()];
    const earlier = await rig.start(`setsid sleep ${kept} &`);
    await earlier.exit;
    const beside = await rig.start(`sleep ${kept}`);
    const handle = await rig.start(`setsid sleep ${killed} & sleep ${killed}`);
    await untilAsleep(rig.sandbox, killed, 2);
    await untilAsleep(rig.sandbox, kept, 2);
    await handle.kill('KILL');
    expect([await sleepers(rig.sandbox, killed), await sleepers(rig.sandbox, kept)]).toEqual([0, 2]);
    await Promise.all([earlier.kill('KILL'), beside.kill('KILL')]);
    expect(await sleepers(rig.sandbox, kept)).toBe(0);
  });

  it('kills the processes of all commands in one sandbox and none outside it', async () => {
    const mark = sleepMark();
    const sandbox = await engine.open(engine.spec());
    const beside = await rig.start(`sleep ${mark}`);
    await untilAsleep(rig.sandbox, mark);
    for (let round = 0; round < 3; round++) await (await sandbox.exec({ command: `setsid sleep ${mark}0 &` })).exit;
    const running = await sandbox.exec({ command: `sleep ${mark}0` });
    await untilAsleep(sandbox, `${mark}0`, 4);
    await sandbox.killAll();
    expect(await running.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    expect([await sleepers(sandbox, `${mark}0`), await sleepers(rig.sandbox, mark)]).toEqual([0, 1]);
    await beside.kill('KILL');
    await sandbox.destroy();
  });

  // Where processes of others are seen, one without a mark may be anybody's.
  describe.runIf(engine.backend.traits.disposable)('killing a process without its mark', () => {
    it.each([
      ['the number', 'ulimit -x 5'],
      ['the sum', 'ulimit -m 5'],
      ['both', 'ulimit -x 5; ulimit -m 5'],
      // A hard limit never rises again.
      ['what it may not have', 'ulimit -x 5; ulimit -x unlimited 2>/dev/null || ulimit -m unlimited 2>/dev/null || unshare -Ur true'],
    ])('kills a process that broke its mark (%s), and spares the processes of a finished command', async (_, breaking) => {
      const [kept, broken] = [sleepMark(), sleepMark()];
      const earlier = await rig.start(`setsid sleep ${kept} &`);
      await earlier.exit;
      const handle = await rig.start(`${breaking}; (setsid sleep ${broken} &); sleep ${broken}`);
      await untilAsleep(rig.sandbox, broken, 2);
      await untilAsleep(rig.sandbox, kept);
      await handle.kill('KILL');
      expect([await sleepers(rig.sandbox, broken), await sleepers(rig.sandbox, kept)]).toEqual([0, 1]);
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
      await earlier.kill('KILL');
      expect(await sleepers(rig.sandbox, kept)).toBe(0);
    });

    it('kills a process without a mark together with the next command that is killed', async () => {
      const mark = sleepMark();
      await (await rig.start(`(ulimit -x 5; setsid sleep ${mark} &)`)).exit;
      await untilAsleep(rig.sandbox, mark);
      const other = await rig.start('sleep 1000');
      await other.kill('KILL');
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
    });
  });

  it('lets a program clean up after TERM', async () => {
    const handle = await rig.start(`trap 'echo cleaned up; exit 9' TERM; echo ready; while :; do sleep 0.1; done`);
    const output = follow(handle);
    await output.until(/ready/);
    await handle.kill('TERM');
    expect(await output.rest()).toContain('cleaned up\n');
    expect(await handle.exit).toEqual({ kind: 'exited', code: 9 });
  });

  it('ends a program and its command with INT', async () => {
    const mark = sleepMark();
    const handle = await rig.start(`sleep ${mark}; echo never`);
    await untilAsleep(rig.sandbox, mark);
    await handle.kill('INT');
    expect(await collect(handle)).toMatchObject({ stdout: '', exit: { kind: 'signaled', signal: 'INT' } });
  });

  it('kills a command that ignores TERM with KILL', async () => {
    const mark = sleepMark();
    const handle = await rig.start(`${ignore}; sleep ${mark}; echo never`);
    await untilAsleep(rig.sandbox, mark);
    await handle.kill('TERM');
    expect(await sleepers(rig.sandbox, mark)).toBe(1);
    await handle.kill('KILL');
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
  });

  it('kills a command that waits for input or for a reader of its output', async () => {
    const reading = await rig.start('cat', { stdin: 'open' });
    await reading.kill('KILL');
    expect(await reading.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    const printing = await rig.start('cat /dev/zero');
    await printing.kill('KILL');
    expect(await printing.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    await collect(printing);
  });

  it('reports KILL as the signal when the kill follows the start at once', async () => {
    for (let round = 0; round < 20; round++) {
      const handle = await rig.start('cat', { stdin: 'open' });
      await handle.kill('KILL');
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    }
  });

  it('kills a command that has just been started', async () => {
    for (const signal of ['KILL', 'TERM', 'INT'] as const) {
      const mark = sleepMark();
      const handle = await rig.start(`sleep ${mark}`);
      await handle.kill(signal);
      if (signal !== 'KILL') await handle.kill('KILL');
      expect((await handle.exit).kind).toBe('signaled');
      expect(await sleepers(rig.sandbox, mark)).toBe(0);
    }
  });

  it('kills several commands that are each killed several times at once', async () => {
    const mark = sleepMark();
    const handles = await Promise.all(Array.from({ length: 5 }, () => rig.start(`sleep ${mark} & sleep ${mark}`)));
    await untilAsleep(rig.sandbox, mark, 10);
    await Promise.all(handles.flatMap((handle) => [handle.kill('TERM'), handle.kill('KILL'), handle.kill('KILL')]));
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
  });

  // Where other processes come and go, nothing can be counted.
  it.runIf(engine.backend.traits.disposable)('leaves nothing of ours behind commands that are killed as soon as they begin', async () => {
    const most = (await fullProcessCount(rig.sandbox)) + engine.spareProcesses;
    for (let round = 0; round < 10; round++) {
      const handle = await rig.start('cat', { stdin: 'open' });
      await handle.kill('KILL');
      await handle.exit;
    }
    await until('no more processes run than before', async () => (await processCount(rig.sandbox)) <= most, { everyMs: 200 });
  });

  // Never where it would be the host that has to bear it.
  // Where streams are folded, nothing can be told to a sandbox that has no room for a process: it is ended as a whole.
  describe.runIf(engine.backend.traits.disposable && !engine.isFolded)('killing a fork bomb', () => {
    const narrow = useRig(engine, { limits: { cpus: 1, memoryMb: 512, diskMb: 0, pids: 64 } });

    it('kills a fork bomb and keeps the sandbox usable', async () => {
      await narrow.output('export BEFORE=kept; sleep 1000 &');
      const bomb = await narrow.start('f() { f | f & }; f; exec sleep 1000');
      // However full it is, a command beside it ends in some way.
      const beside = await (await narrow.start('echo beside')).exit;
      expect(['exited', 'lost', 'signaled']).toContain(beside.kind);
      await bomb.kill('KILL');
      expect(await bomb.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
      expect(await narrow.output('echo "$BEFORE"; ls /proc | grep -c "^[0-9]"')).toMatch(/^kept\n\d\d?\n$/);
    });

    it('kills a fork bomb that ignores signals and leaves its session', async () => {
      const bomb = await narrow.start(
        `${ignore}; f() { setsid bash -c "$1" bash "$1" & setsid bash -c "$1" bash "$1" & wait; }; f 'trap "" TERM; bash -c "$1" bash "$1" & bash -c "$1" bash "$1"'`,
      );
      await (await narrow.start('echo beside')).exit;
      await bomb.kill('KILL');
      expect(await narrow.output('echo usable')).toBe('usable\n');
    });
  });

  // Security: a backend that is not disposable may be this machine itself, and `kill -9 -1` would end everything on it.
  describe.runIf(engine.backend.traits.disposable)('a command that kills processes around it', () => {
    it.each([
      ['the one that waits for it', 'kill -9 $PPID'],
      ['all it can reach', 'kill -9 -1'],
      ['the one that starts shells', 'read -r _ _ _ parent _ </proc/$PPID/stat; kill -9 "$parent"; sleep 5'],
    ])('confines the damage to its own sandbox when a command kills %s', async (_, command) => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      const kept = await sandbox.exec({ command: 'export KEPT=1; echo kept >file' });
      await kept.exit;
      const handle = await sandbox.exec({ command: `echo before; ${command}` });
      const { stdout } = await collect(handle);
      const { kind } = await handle.exit;
      expect(kind).toMatch(/^(lost|signaled|exited)$/);
      // What relays output may be among what was killed; then the end is lost, too.
      if (!engine.isFolded || kind !== 'lost') expect(stdout).toBe('before\n');
      await sandbox.close();
      const again = await engine.open(spec);
      expect((await collect(await again.exec({ command: 'cat file; echo $KEPT' }))).stdout).toBe('kept\n1\n');
      await again.destroy();
    });
  });
}
