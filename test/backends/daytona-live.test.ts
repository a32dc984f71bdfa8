import { describe, expect, it } from 'vitest';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend, type TestEngine } from '../engines.ts';

/** A few cases at the real service, which cost money there. What they make is removed, by Daytona's own clocks at the latest. */
function live(engine: TestEngine): void {
  const output = async (sandbox: Awaited<ReturnType<TestEngine['open']>>, command: string): Promise<string> =>
    (await collect(await sandbox.exec({ command }))).stdout;

  it('runs commands, keeps the state between them, and kills one without the others', async () => {
    const sandbox = await engine.open(engine.spec({ persistent: false }));
    expect(await output(sandbox, 'export KEPT=1; cd /tmp; id -u')).toBe('0\n');
    const beside = await sandbox.exec({ command: 'sleep 1000' });
    const killed = await sandbox.exec({ command: 'sleep 1000' });
    await killed.kill('KILL');
    expect(await killed.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    expect(await output(sandbox, 'echo "$KEPT $PWD"; grep -la "^sleep.1000" /proc/[0-9]*/cmdline | wc -l')).toBe('1 /tmp\n1\n');
    await beside.kill('KILL');
    await sandbox.destroy();
  });

  it('keeps files while it is stopped', async () => {
    const spec = engine.spec();
    const first = await engine.open(spec);
    await output(first, 'echo kept >file');
    await first.stop();
    const second = await engine.open(spec);
    expect(await output(second, 'cat file')).toBe('kept\n');
    await second.destroy();
    expect((await engine.backend.list()).map(({ name }) => name)).not.toContain(spec.name);
  });
}

if (process.env.DAYTONA_API_KEY) {
  const image = process.env.HERMETIC_TEST_DAYTONA_IMAGE ?? 'debian:12';
  await describeBackend('daytona', live, { title: 'daytona, at the real service', options: { daytona_image: image }, image });
} else {
  describe('daytona, at the real service', () => it.skip('works: DAYTONA_API_KEY is not in the environment', () => undefined));
}
