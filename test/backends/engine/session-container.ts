import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { collect, sleepers, sleepMark, untilAsleep } from '../../contracts/sandbox/rig.ts';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';

/** How the container of a session comes, stays and goes, whichever way its shells are reached. */
export function containerTests(engine: TestEngine): void {
  const output = async (sandbox: OpenSandbox, command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;
  const container = ({ name }: SandboxSpec) => engine.withEngine((found) => found.inspect(`hermetic-${name}`));

  it('keeps the container and its processes when the program closes the sandbox', async () => {
    const spec = engine.spec();
    const first = await engine.open(spec);
    const mark = sleepMark();
    await output(first, `sleep ${mark} & touch /tmp/in-the-container; mkfifo line; { cat line; echo answered >answer; } &`);
    await untilAsleep(first, mark);
    const before = await container(spec);
    await first.close();
    const second = await engine.open(spec);
    expect((await container(spec))?.id).toBe(before?.id);
    expect(await sleepers(second, mark)).toBe(1);
    await output(second, 'echo hello >line');
    await until('the old process has answered', async () =>
      (await output(second, 'cat answer; ls /tmp')).includes('answered\nin-the-container'),
    );
    await second.destroy();
    expect(await container(spec)).toBeUndefined();
  });

  it('stops the container after its idle time without an attached program, and not before', async () => {
    const spec = engine.spec({ idleSeconds: 2 });
    const sandbox = await engine.open(spec);
    expect(await output(sandbox, 'export KEPT=1; echo kept >file; sleep 3; echo alive')).toBe('alive\n');
    await sandbox.close();
    await until('the container has stopped', async () => (await container(spec))?.running === false);
    const again = await engine.open(spec);
    expect(await output(again, 'cat file; echo $KEPT')).toBe('kept\n1\n');
    await again.destroy();
  });

  it('keeps the container running for a background process, up to the background limit', async () => {
    const specs = [engine.spec({ idleSeconds: 2 }), engine.spec({ idleSeconds: 2 }), engine.spec({ idleSeconds: 2, backgroundSeconds: 4 })];
    const [clock, held, capped] = specs as [SandboxSpec, SandboxSpec, SandboxSpec];
    const mark = sleepMark();
    for (const spec of [held, capped, clock]) {
      const sandbox = await engine.open(spec);
      // Long enough for a keeper, which looks once a second, to see that a program is attached.
      await output(sandbox, `${spec === clock ? '' : `setsid sleep ${mark} &`} sleep 2`);
      await sandbox.close();
    }
    const stopped = async (spec: SandboxSpec) => (await container(spec))?.running === false;
    await until('the one without a process has stopped', () => stopped(clock), { withinMs: 60_000 });
    await until('the one whose time was over has stopped', () => stopped(capped), { withinMs: 60_000 });
    expect(await stopped(held)).toBe(false);
    const again = await engine.open(held);
    expect(await sleepers(again, mark)).toBe(1);
    expect(await again.hasLiveProcesses()).toBe(true);
    await output(again, 'pkill sleep');
    await again.close();
    await until('it has stopped', () => stopped(held), { withinMs: 60_000 });
  }, 120_000);

  it('stops an unused container from outside, and reuses it afterwards', async () => {
    const spec = engine.spec();
    const first = await engine.open(spec);
    const mark = sleepMark();
    await output(first, `setsid sleep ${mark} & echo installed >/usr/local/installed`);
    await untilAsleep(first, mark);
    await first.close();
    const before = await container(spec);
    const remains = (await engine.backend.list()).find(({ name }) => name === spec.name);
    expect(await remains?.stop(false)).toBe(false);
    expect((await container(spec))?.running).toBe(true);
    expect(await remains?.stop(true)).toBe(true);
    expect(await container(spec)).toMatchObject({ id: before?.id, running: false });
    expect(await remains?.stop(false)).toBe(true);
    const second = await engine.open(spec);
    expect(await output(second, 'cat /usr/local/installed')).toBe('installed\n');
    await second.close();
    expect(await remains?.stop(false)).toBe(true);
    expect((await container(spec))?.running).toBe(false);
  });

  it('replaces the container with a notice when its settings change, and keeps files and state', async () => {
    const spec = engine.spec({ env: { SETTING: 'old' } });
    const first = await engine.open(spec);
    await output(first, 'echo kept >file; export KEPT=1; touch /tmp/gone');
    const before = await container(spec);
    await first.close();
    const told = engine.notices.length;
    const second = await engine.open({ ...spec, env: { SETTING: 'new' } });
    expect(engine.notices.slice(told).join()).toMatch(/replaced/);
    expect((await container(spec))?.id).not.toBe(before?.id);
    expect(await output(second, 'cat file; echo "$KEPT $SETTING"; ls /tmp')).toBe('kept\n1 new\n');
    await second.destroy();
  });

  it('reuses the container when only the name or the workdir of the session changes', async () => {
    const spec = engine.spec();
    const first = await engine.open(spec);
    const before = await container(spec);
    await first.close();
    const second = await engine.open({ ...spec, workdir: '/usr', session: 'renamed' });
    expect((await container(spec))?.id).toBe(before?.id);
    await second.destroy();
  });

  it('refuses to replace a container that is in use', async () => {
    const spec = engine.spec();
    const user = await engine.open(spec);
    await expect(engine.open({ ...spec, env: { OTHER: '1' } })).rejects.toMatchObject({ code: 'sandbox/in-use' });
    expect(await output(user, 'echo undisturbed')).toBe('undisturbed\n');
    await user.destroy();
  });

  it('makes a removed container again with its files', async () => {
    const spec = engine.spec();
    const first = await engine.open(spec);
    await output(first, 'echo kept >file; export KEPT=1');
    await engine.withEngine((found) => found.remove(`hermetic-${spec.name}`));
    expect(await first.ended).toMatch(/\w/);
    await first.close();
    const second = await engine.open(spec);
    expect(await output(second, 'cat file; echo $KEPT')).toBe('kept\n1\n');
    await second.destroy();
  });

  it('leaves no container behind when opening fails', async () => {
    const spec = engine.spec({ mounts: [{ source: '/nonexistent/source', target: '/data', readOnly: true }] });
    await expect(engine.open(spec)).rejects.toMatchObject({ code: expect.stringMatching(/\w+\/\w+/) });
    expect(await container(spec)).toBeUndefined();
    expect(existsSync(spec.directory)).toBe(false);
  });

  it('starts a stopped container instead of making a new one', async () => {
    const spec = engine.spec();
    const first = await engine.open(spec);
    await output(first, 'touch /installed-in-the-container');
    const before = await container(spec);
    await first.close();
    await engine.withEngine((found) => found.kill(`hermetic-${spec.name}`));
    const second = await engine.open(spec);
    expect((await container(spec))?.id).toBe(before?.id);
    expect(await output(second, 'ls /installed-in-the-container')).toBe('/installed-in-the-container\n');
    await second.destroy();
  });

  it('ignores the entrypoint of the image and runs under a process that takes in orphans', async () => {
    const sandbox = await engine.open(engine.spec());
    expect(await output(sandbox, "tr '\\0' ' ' </proc/1/cmdline")).toMatch(/init|hermetic/);
    await output(sandbox, '(setsid sleep 0.1 & echo $! >orphan)');
    await until('it is gone', async () => (await output(sandbox, 'kill -0 "$(<orphan)" 2>/dev/null || echo gone')) === 'gone\n');
    await sandbox.destroy();
  });
}
