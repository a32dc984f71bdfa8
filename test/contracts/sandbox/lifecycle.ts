import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ListedSandbox, OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { sweep } from '../../../src/sandboxes/sweep.ts';
import { openStore } from '../../../src/stores/index.ts';
import { processesWith, type TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { collect, fullProcessCount, processCount, sleepers, sleepMark, untilAsleep, useRig } from './rig.ts';

export function lifecycleContract(engine: TestEngine): void {
  const { durable } = engine.backend.traits;
  const output = async (sandbox: OpenSandbox, command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;
  const remainsOf = async ({ name }: SandboxSpec): Promise<ListedSandbox | undefined> =>
    (await engine.backend.list()).find((remains) => remains.name === name);

  describe('a persistent sandbox', () => {
    it('restores state and files of a persistent sandbox after a close', async () => {
      const spec = engine.spec();
      const first = await engine.open(spec);
      const workdir = first.cwd;
      await output(
        first,
        `mkdir below; cd below; export RETURNS=yes; back() { echo "back $1"; }; alias hi='echo alias'; umask 027; unset HOME`,
      );
      await first.writeFile('file', 'kept');
      await first.close();
      const second = await engine.open(spec);
      expect(second.cwd).toBe(`${workdir}/below`);
      expect(await output(second, 'cat file; echo " $RETURNS"; back again; umask; echo "${HOME-unset}"\nhi')).toBe(
        'kept yes\nback again\n0027\nunset\nalias\n',
      );
      await second.destroy();
    });

    it('ends the processes of a stopped sandbox and restores its state and files later', async () => {
      const spec = engine.spec();
      const first = await engine.open(spec);
      const mark = sleepMark();
      await output(first, `setsid sleep ${mark} & export RETURNS=yes; echo kept >file`);
      await untilAsleep(first, mark);
      await first.stop();
      expect(processesWith(mark)).toEqual([]);
      expect((await remainsOf(spec))?.state).toBe('stopped');
      const second = await engine.open(spec);
      expect(await output(second, 'cat file; echo $RETURNS')).toBe('kept\nyes\n');
      await second.destroy();
      await second.stop();
    });

    it('keeps a sandbox running when one program stops it while another has it open', async () => {
      const spec = engine.spec();
      const [first, second] = [await engine.open(spec), await engine.open(spec)];
      await first.stop();
      expect(await output(second, 'echo still here')).toBe('still here\n');
      const remains = await remainsOf(spec);
      expect(await remains?.stop(true)).toBe(false);
      expect(await output(second, 'echo still here')).toBe('still here\n');
      await second.destroy();
    });

    it('keeps the directory of a sandbox private to its owner', async () => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      await output(sandbox, 'export SECRET=hunter2');
      expect(statSync(spec.directory).mode & 0o777).toBe(0o700);
      const open = readdirSync(spec.directory, { withFileTypes: true }).filter(
        (entry) => entry.isFile() && statSync(`${spec.directory}/${entry.name}`).mode & 0o077,
      );
      expect(open).toEqual([]);
      await sandbox.destroy();
    });

    it('removes the processes and files of a destroyed sandbox, even unreadable ones', async () => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      const mark = sleepMark();
      await output(sandbox, `setsid sleep ${mark} & mkdir -p closed/deep; touch closed/deep/file; chmod 000 closed/deep closed`);
      await untilAsleep(sandbox, mark);
      await sandbox.destroy();
      expect(existsSync(spec.directory)).toBe(false);
      expect(processesWith(mark)).toEqual([]);
      expect(await remainsOf(spec)).toBeUndefined();
      await sandbox.destroy();
      await sandbox.close();
    });
  });

  describe('an ephemeral sandbox', () => {
    it('leaves nothing of an ephemeral sandbox after a close', async () => {
      const spec = engine.spec({ persistent: false });
      const sandbox = await engine.open(spec);
      const mark = sleepMark();
      await sandbox.writeFile('file', 'brief');
      await output(sandbox, `export BRIEF=1; sleep ${mark} &`);
      await untilAsleep(sandbox, mark);
      await sandbox.close();
      expect(existsSync(spec.directory)).toBe(false);
      expect(processesWith(mark)).toEqual([]);
      expect(await remainsOf(spec)).toBeUndefined();
      const again = await engine.open(spec);
      expect(await output(again, 'cat file 2>/dev/null; echo "${BRIEF-unset}"')).toBe('unset\n');
      await again.close();
    });
  });

  describe('opening a sandbox', () => {
    it.each([-1, 0, 1, 5, 10, 20, 40, 80])('leaves nothing when opening is aborted after %d ms', async (afterMs) => {
      for (const persistent of [true, false]) {
        const spec = engine.spec({ persistent });
        const giveUp = new AbortController();
        if (afterMs < 0) giveUp.abort();
        else setTimeout(() => giveUp.abort(), afterMs);
        const opened = await engine.open(spec, giveUp.signal).catch((error: unknown) => error);
        if (!(opened instanceof Error)) continue;
        expect(giveUp.signal.aborted).toBe(true);
        expect(existsSync(spec.directory)).toBe(false);
        expect(await remainsOf(spec)).toBeUndefined();
        expect(processesWith(spec.name)).toEqual([]);
      }
    });

    it('keeps the files of an existing sandbox when opening it is aborted', async () => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      await sandbox.writeFile('file', 'kept');
      await sandbox.close();
      await expect(engine.open(spec, AbortSignal.abort())).rejects.toThrow();
      const again = await engine.open(spec);
      expect((await again.readFile('file')).toString()).toBe('kept');
      await again.destroy();
    });

    it('shares files and state between two openings of one sandbox, and keeps it until both are closed', async () => {
      const spec = engine.spec();
      const [one, two] = await Promise.all([engine.open(spec), engine.open(spec)]);
      await output(one, 'export FROM_ONE=1; echo shared >file');
      await output(two, 'export FROM_TWO=2');
      expect(await output(two, 'cat file; echo "$FROM_ONE $FROM_TWO"')).toBe('shared\n1 2\n');
      await one.close();
      expect(await output(two, 'echo "$FROM_ONE $FROM_TWO still"; sleep 0.1; echo here')).toBe('1 2 still\nhere\n');
      expect((await remainsOf(spec))?.state).toBe('running');
      await two.destroy();
      expect(existsSync(spec.directory)).toBe(false);
    });
  });

  it("shows two programs in one sandbox each other's files and exports", async () => {
    const spec = engine.spec();
    const sandbox = await engine.open(spec);
    await output(sandbox, 'export MINE=1');
    const client = await engine.startClient({
      spec,
      action: 'start',
      commands: ['export THEIRS=$MINE; echo written >file; echo done', 'cat file'],
    });
    expect(client.answer).toEqual(['done\n', 'written\n']);
    await until('its export is known here', async () => (await output(sandbox, 'cat file; echo "$MINE $THEIRS"')) === 'written\n1 1\n');
    await client.kill();
    expect(await output(sandbox, 'echo still here')).toBe('still here\n');
    await sandbox.destroy();
  });

  describe('listed sandboxes', () => {
    it('lists a sandbox with its session, directory and state', async () => {
      const spec = engine.spec({ session: 'chat "42"\nwith $lines' });
      const sandbox = await engine.open(spec);
      expect(await remainsOf(spec)).toMatchObject({ name: spec.name, session: spec.session, directory: spec.directory, state: 'running' });
      expect((await remainsOf(spec))?.createdAt.getTime()).toBeGreaterThan(Date.now() - 60_000);
      await sandbox.close();
      expect((await remainsOf(spec))?.state).toBe(durable ? 'running' : 'stopped');
      await sandbox.destroy();
    });

    it('has the files of a session when its directory is back, whatever was swept while it was away', async () => {
      const spec = engine.spec();
      const first = await engine.open(spec);
      await first.writeFile('file', 'precious');
      await first.stop();
      const place = mkdtempSync(join(tmpdir(), 'hermetic-away-'));
      const store = await openStore(join(place, 'state.db'));
      onTestFinished(async () => {
        await store.close();
        rmSync(place, { recursive: true });
      });
      renameSync(spec.directory, join(place, 'away'));
      await sweep({ backends: [engine.backend], ledger: store.sandboxes, unusedSince: new Date(Date.now() + 60_000) });
      renameSync(join(place, 'away'), spec.directory);
      const second = await engine.open(spec);
      expect(await second.readFile('file')).toEqual(Buffer.from('precious'));
      await second.destroy();
    });

    it('destroys a listed sandbox with its processes while it runs', async () => {
      const spec = engine.spec();
      const sandbox = await engine.open(spec);
      const mark = sleepMark();
      await output(sandbox, `sleep ${mark} &`);
      await untilAsleep(sandbox, mark);
      const remains = await remainsOf(spec);
      await remains?.destroy();
      expect(processesWith(mark)).toEqual([]);
      expect(existsSync(spec.directory)).toBe(false);
      expect(await sandbox.ended).toMatch(/\w/);
      await remains?.destroy();
      await sandbox.close();
      expect(existsSync(spec.directory)).toBe(false);
    });
  });

  describe.runIf(durable)('a program that closes the sandbox right after a command', () => {
    it('keeps background processes when the sandbox is closed right after the command', async () => {
      const spec = engine.spec();
      const marks = Array.from({ length: 8 }, sleepMark);
      for (const mark of marks) {
        const sandbox = await engine.open(spec);
        await output(sandbox, `sleep ${mark} &`);
        await sandbox.close();
      }
      const sandbox = await engine.open(spec);
      // What was just forked is a bash until it has become a sleep.
      for (const mark of marks) await untilAsleep(sandbox, mark);
      await sandbox.destroy();
    });

    it.runIf(engine.backend.traits.disposable)('leaves nothing of ours in it', async () => {
      const spec = engine.spec();
      const first = await engine.open(spec);
      const most = (await fullProcessCount(first)) + engine.spareProcesses;
      await first.close();
      for (let round = 0; round < 8; round++) {
        const sandbox = await engine.open(spec);
        await output(sandbox, 'true');
        await sandbox.close();
      }
      const sandbox = await engine.open(spec);
      await until('no more processes run than at first', async () => (await processCount(sandbox)) <= most, { everyMs: 200 });
      await sandbox.destroy();
    });
  });

  describe('a program that dies', () => {
    it(`ends the running command when the program dies, and ${durable ? 'keeps' : 'ends'} background processes`, async () => {
      const spec = engine.spec();
      const [running, background] = [sleepMark(), sleepMark()];
      const commands = [
        `setsid sleep ${background} & echo started`,
        `export UNFINISHED=1; (env -i setsid sleep ${running} &); echo started; sleep ${running}`,
      ];
      const client = await engine.startClient({ spec, action: 'start', commands });
      await until('everything runs', () => processesWith(running).length === 2 && processesWith(background).length === 1);
      await client.kill();
      await until('the command is dead', () => processesWith(running).length === 0);
      if (!durable) await until('all is dead', () => processesWith(background).length === 0);
      const sandbox = await engine.open(spec);
      expect(await output(sandbox, 'echo "${UNFINISHED-unset}"')).toBe('unset\n');
      expect(await sleepers(sandbox, background)).toBe(durable ? 1 : 0);
      await sandbox.destroy();
      expect(processesWith(background)).toEqual([]);
    });
  });

  describe('a sandbox in long use', () => {
    const rig = useRig(engine);

    it('leaks no descriptors, files or processes over 120 commands', async () => {
      const count = async (): Promise<number[]> => [
        readdirSync('/proc/self/fd').length,
        Number(await rig.output('ls -A /tmp | wc -l')),
        await processCount(rig.sandbox),
      ];
      await rig.output('true');
      const before = await count();
      for (let round = 0; round < 120; round += 1) await rig.run(round % 3 ? 'echo some output' : 'sleep 0 & exit 3');
      // On a machine that is not the sandbox's own others come and go as well: only the descriptors of this process are ours.
      const ours = engine.backend.traits.disposable ? before.length : 1;
      const isCalm = async (): Promise<boolean> => {
        const now = await count();
        return before.slice(0, ours).every((number, index) => (now[index] ?? 0) <= number + (index === 2 ? engine.spareProcesses : 3));
      };
      // With a pause before each look: right after a command its shell and the next one are both there.
      await until('it is as calm as before', isCalm, { everyMs: 200 });
    });
  });

  it('runs no command from the moment the sandbox is being ended', async () => {
    const sandbox = await engine.open(engine.spec());
    const ending = sandbox.end('it is not wanted any more');
    await expect(sandbox.exec({ command: 'true' })).rejects.toThrow('it is not wanted any more');
    await expect(sandbox.exec({ command: 'true', plain: true })).rejects.toThrow('it is not wanted any more');
    await ending;
    await sandbox.destroy();
  });

  it('leaves no sandbox behind after a check of the backend', async () => {
    const before = (await engine.backend.list()).length;
    expect(await engine.backend.check()).toMatchObject({ usable: true, limits: { pids: { how: expect.stringMatching(/\w/) } } });
    expect((await engine.backend.list()).length).toBe(before);
  });
}
