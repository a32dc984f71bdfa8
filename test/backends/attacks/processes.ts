import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { OpenSandbox } from '../../../src/core/sandbox.ts';
import { sleepMark } from '../../contracts/sandbox/rig.ts';
import { processesWith, type TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { passTime } from './pass-time.ts';
import { command, limits, useAttackRig, worksOrIsLost } from './rig.ts';

/** Signals processes of the sandbox by what is on their command line, this shell last. */
const signalAll = `
victims=()
for file in /proc/[0-9]*/cmdline; do
  words=()
  { mapfile -d '' -t words <"$file"; } 2>/dev/null
  pid=\${file//[!0-9]/}
  [[ \${words[*]} != *"$2"* || $pid == $$ ]] || victims+=("$pid")
done
kill -s "$1" "\${victims[@]}"`;

export function processAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  /** The sandbox is gone, everybody is told, and the session's next sandbox is as good as new. */
  const expectLost = async (sandbox: OpenSandbox, reopen: () => Promise<OpenSandbox>): Promise<void> => {
    expect(await sandbox.ended).toEqual(expect.any(String));
    await expect(sandbox.exec({ command: 'true' })).rejects.toMatchObject({ code: 'sandbox/lost' });
    await expect(sandbox.readFile('/etc/passwd')).rejects.toMatchObject({ code: 'sandbox/lost' });
    await sandbox.close();
    const again = await reopen();
    expect((await command(again, 'cat kept')).stdout).toBe('kept\n');
    await again.destroy();
  };

  it.each([
    ['everything', 'kill -9 -1'],
    ['the forker', `${signalAll}`],
  ])('confines the damage to the sandbox when a command kills %s', async (_, script) => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    const mark = sleepMark();
    await rig.withstand(async () => {
      await command(sandbox, `echo kept >kept; setsid sleep ${mark} &`);
      const waiting = await sandbox.exec({ command: 'sleep 1000' });
      const killer = await sandbox.exec({ command: `${script}; sleep 1000`, args: ['KILL', '/run/hermetic/forker.bash'] });
      const kinds = [(await waiting.exit).kind, (await killer.exit).kind];
      for (const kind of kinds) expect(['lost', 'signaled']).toContain(kind);
      await expectLost(sandbox, () => engine.open(spec));
    });
    expect(existsSync(spec.directory)).toBe(false);
    expect(processesWith(mark)).toEqual([]);
  });

  it('replaces the waiting shell when a command kills it', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      for (let round = 0; round < 3; round++) {
        await command(sandbox, signalAll, { args: ['KILL', '__HERMETIC_SHELL'] });
        await worksOrIsLost(sandbox);
      }
    });
    await sandbox.destroy();
  });

  it('kills a command that stops its own shell or its whole process group', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      for (const script of ['kill -STOP $$', 'sleep 1000 & kill -STOP $! $$', `trap '' TERM INT HUP QUIT; kill -STOP -- -$$; sleep 1000`]) {
        const handle = await sandbox.exec({ command: `echo ready; ${script}` });
        await handle.output[Symbol.asyncIterator]().next();
        await handle.kill('KILL');
        expect((await handle.exit).kind).toMatch(/signaled|lost/);
      }
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('kills a command that tries to take the mark of another one', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      // Commands are found by these limits. The number of an earlier command is lower than its own.
      const handle = await sandbox.exec({
        command: `mark=$(ulimit -H -x) memory=$(ulimit -H -m); ulimit -m "$((memory + 1))" 2>/dev/null && echo raised
          ulimit -x "$((mark - 1))"; ulimit -m "$((memory + 1))" 2>/dev/null && echo raised; echo hidden; exec sleep 1000`,
      });
      const { value } = await handle.output[Symbol.asyncIterator]().next();
      expect(String(value?.data)).toBe('hidden\n');
      await handle.kill('KILL');
      expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('kills a command that breaks the marks of all processes, or loses the sandbox', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      const lower = `for limits in /proc/[0-9]*/limits; do prlimit --pid "\${limits//[!0-9]/}" --rss=5:5 --locks=5:5; done 2>/dev/null`;
      const handle = await sandbox.exec({ command: `${lower}; echo lowered; exec sleep 1000` });
      await handle.output[Symbol.asyncIterator]().next();
      await passTime(() => handle.kill('KILL'));
      expect((await handle.exit).kind).toMatch(/signaled|lost/);
      await worksOrIsLost(sandbox);
    });
    await sandbox.destroy();
  });

  it.each([
    ['no mark', 'unlimited'],
    ['a mark that is code', 'a[$(touch$IFS/tmp/ran)]'],
  ])('starts no shell with %s', async (_, mark) => {
    const sandbox = await rig.open();
    // On pipes that are made soon and that none of the commands below will have.
    await command(
      sandbox,
      `for attachment in /run/hermetic/*-*/; do :; done; attachment=\${attachment:14:-1}
        i=20; until [[ -p /run/hermetic/$attachment/$i.ack ]]; do sleep 0.02; done
        exec 9<>/run/hermetic/$attachment/$i.in; echo "exec sleep $2" >&9; setsid sleep 1000 &
        echo "spawn $attachment $i $1 lines 1 1" >/run/hermetic/control`,
      { args: [mark, sleepMark()] },
    );
    // Their shells were asked for later than that one, which would sleep by now.
    for (let i = 0; i < 3; i++) await command(sandbox, 'true');
    const { stdout } = await command(sandbox, `cat /tmp/ran 2>&1; grep -lz '^9' /proc/[0-9]*/cmdline`);
    expect(stdout).toMatch(/^cat: \S+ No such file or directory\n$/);
    await sandbox.destroy();
  });

  it('kills a swarm that forks faster than it dies, or loses the sandbox', async () => {
    const sandbox = await rig.open();
    const mark = sleepMark();
    await rig.withstand(async () => {
      const swarm = `trap '' TERM; spread() { while :; do (setsid bash -c "$body" bash "$body" & sleep ${mark}) & done; }
        body="trap '' TERM; while :; do (bash -c \\"\\$1\\" bash \\"\\$1\\" &); done"; spread 2>/dev/null`;
      const handle = await sandbox.exec({ command: swarm });
      await delay(500);
      await handle.kill('KILL');
      expect((await handle.exit).kind).toMatch(/signaled|lost/);
      await until('the swarm is dead', () => processesWith(mark).length === 0);
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('reports a sandbox with a stopped forker as lost instead of waiting for it', async () => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await command(sandbox, `echo kept >kept; ${signalAll}`, { args: ['STOP', '/run/hermetic/forker.bash'] });
    await rig.withstand(async () => {
      const handle = await sandbox.exec({ command: 'sleep 1000' });
      await passTime(async () => {
        await Promise.all([handle.kill('KILL'), handle.exit]);
      });
      await expectLost(sandbox, () => engine.open(spec));
    });
  });

  it('reopens a sandbox whose forker was stopped while it was closed', async () => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await command(sandbox, `echo kept >kept; ${signalAll}`, { args: ['STOP', '/run/hermetic/forker.bash'] });
    await passTime(() => sandbox.close());
    const again = await passTime(() => engine.open(spec).catch(() => engine.open(spec)));
    expect((await command(again, 'cat kept')).stdout).toBe('kept\n');
    await again.destroy();
  });

  it.runIf(engine.kind === 'docker')('replaces a container that can never start again', async () => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await command(sandbox, 'echo kept >kept; rm -f /bin/bash /usr/bin/bash; kill -9 -1');
    await expectLost(sandbox, () => engine.open(spec));
  });
}
