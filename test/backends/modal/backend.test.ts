import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { giveUp } from '../../../src/backends/cloud/record.ts';
import { makeSandboxDirectory } from '../../../src/backends/sandbox-directory.ts';
import type { OpenListener, OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { backendOf, contextIn } from '../../backends.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import { endings } from '../../fakes/modal/sandbox.ts';
import { describeNeeding } from '../../needs.ts';
import { quietly, startModal, wishFor } from './rig.ts';

describeNeeding(['machines'], 'sandboxes at Modal', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hermetic-modal-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const { fake, provider } = await startModal();
  const context = { ...contextIn(directory), environment: fake.environment };
  const backend = backendOf('modal', context);
  const notices: string[] = [];
  const listener: OpenListener = { notice: (text) => notices.push(text), progress: () => undefined };

  function specOf(): SandboxSpec {
    const name = `test-${randomBytes(6).toString('hex')}`;
    return { ...wishFor().spec, name, directory: join(directory, 'modal', name) };
  }

  async function output(sandbox: OpenSandbox, command: string): Promise<string> {
    return (await collect(await sandbox.exec({ command }))).stdout;
  }

  function snapshots(): number {
    return [...fake.images.values()].filter(({ disk }) => disk !== undefined).length;
  }

  it('a command is lost with the reason when Modal ends its sandbox, and the files come back as they were saved', async () => {
    const spec = specOf();
    const first = await backend.open(spec, listener);
    await output(first, 'echo saved >note');
    await first.close();
    const second = await backend.open(spec, listener);
    await output(second, 'echo lost >note');
    const handle = await second.exec({ command: 'echo begun; sleep 1000' });
    for await (const _ of handle.output) break;
    for (const one of fake.running) one.end(endings.timeout);
    const exit = await handle.exit;
    expect(exit).toMatchObject({ kind: 'lost' });
    expect(await second.ended).toBe('Modal has ended it');
    await expect(second.exec({ command: 'true' })).rejects.toThrow('Modal has ended it');
    await second.close();
    const third = await backend.open(spec, listener);
    expect(await output(third, 'cat note')).toBe('saved\n');
    expect(notices.at(-1)).toMatch(/^Modal has ended the sandbox of this session\. Its files are as they were at /);
    await third.destroy();
    expect([fake.running.length, snapshots()]).toEqual([0, 0]);
  });

  it('snapshots of a session do not pile up', async () => {
    const spec = specOf();
    for (let round = 0; round < 3; round++) {
      const sandbox = await backend.open(spec, listener);
      await output(sandbox, `echo ${round} >>rounds`);
      await (round === 1 ? sandbox.stop() : sandbox.close());
      expect(snapshots()).toBe(1);
    }
    const sandbox = await backend.open(spec, listener);
    expect(await output(sandbox, 'cat rounds')).toBe('0\n1\n2\n');
    await sandbox.destroy();
    expect([fake.running.length, snapshots()]).toEqual([0, 0]);
  });

  it('a sandbox whose maker died before it wrote it down is listed as left behind, and can be removed', async () => {
    const labels = { 'hermetic-installation': context.installation, 'hermetic-name': 'lost', 'hermetic-attempt': 'a1' };
    const directory = join(context.sandboxesDirectory, 'modal', 'lost');
    await makeSandboxDirectory({ ...specOf(), name: 'lost', directory });
    giveUp(directory, 'a1');
    await provider.create(wishFor({ idleSeconds: 600 }, labels), quietly);
    const left = (await backend.list()).filter(({ hasFiles }) => !hasFiles);
    expect(left).toMatchObject([{ name: 'lost', state: 'running' }]);
    await left[0]?.destroy();
    expect(fake.running).toEqual([]);
  });

  it('killing one command leaves the others and what runs in the background', async () => {
    const sandbox = await backend.open(specOf(), listener);
    const background = await output(sandbox, 'sleep 1000 >/dev/null 2>&1 & echo $!');
    const other = await sandbox.exec({ command: 'read -r line; echo "heard $line"', stdin: 'open' });
    const killed = await sandbox.exec({ command: 'sleep 1000' });
    await killed.kill('KILL');
    expect(await killed.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    await other.write('you\n');
    expect((await collect(other)).stdout).toBe('heard you\n');
    expect(await output(sandbox, `kill -0 ${background.trim()} && echo alive`)).toBe('alive\n');
    await sandbox.destroy();
  });

  it('the check says who is asked, and what is wrong with a token', async () => {
    expect(await backend.check('test:image')).toMatchObject({
      usable: true,
      summary: 'workspace test-workspace at Modal, app hermetic, image test:image',
    });
    expect(fake.running).toEqual([]);
    const environment = { ...fake.environment, MODAL_TOKEN_SECRET: 'wrong' };
    expect(await backendOf('modal', { ...context, environment }).check()).toMatchObject({ usable: false, code: 'backend/not-permitted' });
  });
});
