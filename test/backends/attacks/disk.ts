import { expect, it } from 'vitest';
import type { DiskUse, OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { DiskLimit, type DiskLimitOptions } from '../../../src/sandboxes/disk-limit.ts';
import { SandboxWrapper } from '../../../src/sandboxes/sandbox-wrapper.ts';
import { sleepers, sleepMark, untilAsleep } from '../../contracts/sandbox/rig.ts';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { command, limits } from './rig.ts';

const megabyte = 1024 * 1024;
const maxBytes = 8 * megabyte;

interface Watched {
  sandbox: OpenSandbox;
  notices: string[];
  measure(): Promise<DiskUse>;
}

/** Ways to write more than allowed that nobody was to notice. `$1` is how long a sleep takes that stays. */
const writers: Record<string, string> = {
  'in the background': `(setsid bash -c 'head -c 12000000 /dev/zero >big; exec sleep "$0"' "$1" </dev/null >/dev/null 2>&1 &)`,
  'under a mark that it broke': `(ulimit -x 5; setsid bash -c 'head -c 12000000 /dev/zero >big; exec sleep "$0"' "$1" </dev/null >/dev/null 2>&1 &)`,
  'in a process of a command of long ago': `mkfifo go; (setsid bash -c 'read -r _ <go; head -c 12000000 /dev/zero >big; exec sleep "$0"' "$1" </dev/null >/dev/null 2>&1 &)`,
};

/** What counts bytes and files where this machine sees the files of a sandbox. */
export function diskAttacks(engine: TestEngine, isShared: boolean): void {
  const watched = async (wishes: Partial<DiskLimitOptions> = {}): Promise<Watched> => {
    const spec: SandboxSpec = engine.spec({ limits });
    const notices: string[] = [];
    const measure = (): Promise<DiskUse> => engine.backend.diskUse(spec);
    const notice = (text: string): void => void notices.push(text);
    const sandbox = new SandboxWrapper(await engine.open(spec));
    sandbox.add(new DiskLimit(sandbox, { maxBytes, maxFiles: 10_000, measure, notice, everyMs: 100, ...wishes }));
    return { sandbox, notices, measure };
  };

  // Very many commands take their time by streams, and what they leave is killed in the same way.
  const tried = Object.entries(writers).filter(([, writer]) => isShared || !writer.includes('mkfifo'));
  it.each(tried)('kills a process that writes too much %s', async (_, writer) => {
    const { sandbox, notices, measure } = await watched();
    const mark = sleepMark();
    await command(sandbox, writer, { args: [mark] });
    if (writer.includes('mkfifo')) {
      for (let i = 0; i < 33; i++) await command(sandbox, 'true', { stateless: true });
      await command(sandbox, 'echo >go');
    }
    await until('somebody notices', () => notices.length > 0);
    expect(notices[0]).toMatch(
      /^The sandbox used \d+ MB of the 8 MB it may have\. Everything that was running in it was ended\. Remove files to go on\.$/,
    );
    expect(await sleepers(sandbox, mark)).toBe(0);
    await command(sandbox, 'rm big');
    expect((await measure()).bytes).toBeLessThan(maxBytes);
    await sandbox.destroy();
  });

  it('counts deleted files that are still open, and frees their space', async () => {
    const { sandbox, notices, measure } = await watched();
    const mark = sleepMark();
    const write = 'exec 7>"$1"; rm "$1"; head -c 12000000 /dev/zero >&7; setsid sleep "$2" &';
    // What lies in memory is not on the disk.
    await command(sandbox, write, { args: ['/dev/shm/gone', mark] });
    expect(await measure()).toMatchObject({ deletedBytes: 0 });
    await command(sandbox, write, { args: ['gone', mark] });
    await until('somebody notices', () => notices.length > 0);
    expect(notices).toEqual([
      expect.stringMatching(
        /^The sandbox used 1?\d MB of the 8 MB it may have, 1?\d MB of that in deleted files that were still open\. Everything that was running in it was ended\. Now it uses [01] MB\.$/,
      ),
    ]);
    expect(await sleepers(sandbox, mark)).toBe(0);
    expect(await measure()).toMatchObject({ deletedBytes: 0 });
    await sandbox.destroy();
  });

  it.runIf(isShared)('counts empty files', async () => {
    const { sandbox, notices } = await watched({ maxFiles: 600 });
    const mark = sleepMark();
    const handle = await sandbox.exec({ command: 'mkdir many; cd many; touch {1..800}; sleep "$1"', args: [mark] });
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    await until('somebody is told', () => notices.length > 0);
    expect(notices[0]).toMatch(/^The sandbox had \d+ files of the 600 it may have\. Everything .* was ended\. Remove files to go on\.$/);
    await sandbox.destroy();
  });

  it.runIf(engine.kind === 'docker')("counts files of the container outside the session's directories", async () => {
    const { sandbox, measure } = await watched();
    const before = await measure();
    await command(sandbox, 'mkdir /opt/many; cd /opt/many; touch {1..500}; head -c 3000000 /dev/urandom >/opt/big');
    const { bytes, files } = await measure();
    expect(bytes - before.bytes).toBeGreaterThan(2_900_000);
    if (isShared) expect(files - before.files).toBeGreaterThan(450);
    await sandbox.destroy();
  });

  it.runIf(isShared)('ends a sandbox that still grows after everything in it was killed', async () => {
    const uses = [20, 20, 22].map((size) => ({ bytes: size * megabyte, deletedBytes: 0, files: 10 }));
    const { sandbox, notices } = await watched({ measure: async () => uses.shift() ?? expect.fail('it was ended') });
    const mark = sleepMark();
    await command(sandbox, `setsid sleep ${mark} &`);
    expect(await sandbox.ended).toEqual(expect.any(String));
    await until('somebody is told', () => notices.length === 2);
    expect(notices[0]).toContain('Everything that was running in it was ended.');
    expect(notices[1]).toBe(
      'The sandbox used 22 MB of the 8 MB it may have. It still grew after everything in it was ended, so it was ended itself; the next command gets a new one. Remove files to go on.',
    );
    await sandbox.destroy();
  });

  it.runIf(isShared)('ends a sandbox whose commands keep writing beyond the limit, and spares one that cleans up', async () => {
    let [size, looks] = [20, 0];
    const measure = async (): Promise<DiskUse> => {
      looks += 1;
      return { bytes: size * megabyte, deletedBytes: 0, files: 10 };
    };
    const { sandbox, notices } = await watched({ measure });
    const mark = sleepMark();
    await command(sandbox, 'true');
    await until('everything is killed', () => notices.length === 1);
    // Room for what cleans up.
    await command(sandbox, `setsid sleep ${mark} &`);
    size = 24;
    const seen = looks;
    await until('it is looked at again', () => looks > seen + 1);
    await untilAsleep(sandbox, mark);
    size = 40;
    expect(await sandbox.ended).toEqual(expect.any(String));
    await sandbox.destroy();
  });
}
