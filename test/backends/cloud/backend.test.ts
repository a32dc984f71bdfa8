import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { CloudBackend } from '../../../src/backends/cloud/backend.ts';
import { giveUp } from '../../../src/backends/cloud/record.ts';
import type { OpenListener, OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { contextIn } from '../../backends.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import { FakeProvider } from '../../fakes/cloud/provider.ts';
import { describeNeeding } from '../../needs.ts';
import { specWith } from '../../sandbox-spec.ts';

const directory = await mkdtemp(join(tmpdir(), 'hermetic-cloud-'));
const unlimited = { enforced: true, how: 'by the provider' };
const notices: string[] = [];
const listener: OpenListener = { notice: (text) => notices.push(text), progress: () => undefined };

function backendOf(provider: FakeProvider, settings: readonly string[] = []): CloudBackend {
  return new CloudBackend(contextIn(directory), {
    kind: 'fake',
    product: 'The provider',
    image: 'any',
    settings,
    provider,
    enforcement: { cpus: unlimited, memoryMb: unlimited, diskMb: unlimited, pids: { enforced: false, how: 'there is no such limit' } },
    installing: '',
    honours: { image: true, 'network-none': true },
  });
}

function specOf(wishes: Partial<SandboxSpec> = {}): SandboxSpec {
  const name = `test-${randomBytes(6).toString('hex')}`;
  return specWith({ name, directory: join(directory, 'fake', name), image: 'any', ...wishes });
}

async function output(sandbox: OpenSandbox, command: string): Promise<string> {
  return (await collect(await sandbox.exec({ command }))).stdout;
}

function onlyReference(provider: FakeProvider): string {
  const [reference = ''] = provider.entries.keys();
  expect(provider.entries.size).toBe(1);
  return reference;
}

afterEach(() => {
  notices.length = 0;
});
afterAll(() => rm(directory, { recursive: true }));

describeNeeding(['machines'], 'sandboxes of a provider', () => {
  describe.each([
    ['a provider that keeps the files of a stopped sandbox', false],
    ['a provider whose sandboxes take their files with them', true],
  ])('%s', (_, saves) => {
    const provider = new FakeProvider({ saves });
    const backend = backendOf(provider);
    afterAll(() => provider.close());

    it('brings files and state back after a stop, and leaves nothing after a destroy', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      expect(first.cwd).toBe('/workspace');
      await output(first, 'echo kept >file; export RETURNS=yes; cd /tmp');
      await first.stop();
      expect((await backend.list()).map(({ name, state }) => [name, state])).toEqual([[spec.name, 'stopped']]);
      const second = await backend.open(spec, listener);
      expect(await output(second, 'cat /workspace/file; echo $RETURNS; pwd')).toBe('kept\nyes\n/tmp\n');
      await second.destroy();
      expect([provider.entries.size, provider.disks.size, existsSync(spec.directory)]).toEqual([0, 0, false]);
    });

    it('finds a sandbox again that still runs, with its background processes', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'sleep 100000 & echo $! >pid');
      await first.close();
      const reference = onlyReference(provider);
      const second = await backendOf(provider).open(spec, listener);
      expect(await output(second, 'kill -0 "$(<pid)" && echo alive')).toBe('alive\n');
      expect(onlyReference(provider)).toBe(reference);
      expect(provider.renewals).toBeGreaterThan(1);
      await second.destroy();
    });

    it('loses the running command with the reason when the provider ends a sandbox, and brings it back', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'echo kept >file');
      await first.close();
      const second = await backend.open(spec, listener);
      const handle = await second.exec({ command: 'sleep 100000' });
      await provider.end(onlyReference(provider));
      expect(await handle.exit).toMatchObject({ kind: 'lost' });
      expect(await second.ended).toBe(`The provider has ${saves ? 'ended' : 'stopped'} it`);
      await expect(second.exec({ command: 'true' })).rejects.toThrow(/The provider has (ended|stopped) it/);
      await second.close().catch(() => undefined);
      const third = await backend.open(spec, listener);
      expect(await output(third, 'cat file')).toBe('kept\n');
      expect(notices.filter((text) => text.includes('Its files are as they were at'))).toHaveLength(saves ? 1 : 0);
      await third.destroy();
    });

    it('replaces a sandbox whose settings have changed, with its files, running or stopped', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'mkdir deep; echo kept >deep/file; ln -s deep/file link; chmod 700 deep/file; echo mine >~/.mine');
      await first.close();
      const changed = backendOf(provider, ['other']);
      const second = await changed.open(spec, listener);
      expect(await output(second, 'cat link ~/.mine; stat -c %a deep/file')).toBe('kept\nmine\n700\n');
      expect(notices.at(-1)).toContain('it is replaced');
      await second.stop();
      const third = await changed.open({ ...spec, limits: { ...spec.limits, memoryMb: 512 } }, listener);
      expect(await output(third, 'cat link')).toBe('kept\n');
      expect([provider.entries.size, provider.disks.size]).toEqual([1, 0]);
      await third.destroy();
    });

    it('does not replace a sandbox that another program has open', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await expect(backendOf(provider, ['other']).open(spec, listener)).rejects.toMatchObject({ code: 'sandbox/in-use' });
      expect(await output(first, 'echo still here')).toBe('still here\n');
      await first.destroy();
    });

    it('says whose a sandbox is when the credentials are those of another, and gives nothing up', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'echo kept >file; export RETURNS=yes');
      await first.close();
      provider.user = 'another';
      await expect(backendOf(provider).open(spec, listener)).rejects.toMatchObject({
        code: 'backend/not-permitted',
        message: expect.stringContaining('belongs to the fake provider as a test, and the credentials to the fake provider as another'),
      });
      provider.user = 'a test';
      const second = await backend.open(spec, listener);
      expect(await output(second, 'cat file; echo $RETURNS')).toBe('kept\nyes\n');
      await second.destroy();
    });

    it('destroys a sandbox that cannot be saved, and lets go of one that cannot be ended', async () => {
      const destroyed = await backend.open(specOf(), listener);
      const spec = specOf();
      const ended = await backend.open(spec, listener);
      provider.isBroken = true;
      await expect(ended.end('it is not wanted')).rejects.toThrow('The fake provider');
      expect(await ended.ended).toBe('it was ended');
      provider.isBroken = false;
      provider.isFull = true;
      await destroyed.destroy();
      provider.isFull = false;
      const again = await backend.open(spec, listener);
      expect(await output(again, 'echo here')).toBe('here\n');
      await again.destroy();
      expect([provider.entries.size, provider.disks.size]).toEqual([0, 0]);
    });

    it('keeps the files of the session when a changed sandbox cannot be made', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'echo kept >file');
      await first.stop();
      provider.isFull = true;
      await expect(backendOf(provider, ['other']).open(spec, listener)).rejects.toMatchObject({ code: 'sandbox/no-room' });
      provider.isFull = false;
      const second = await backend.open(spec, listener);
      expect(await output(second, 'cat file')).toBe('kept\n');
      await second.destroy();
    });
  });

  describe('a cloud backend', () => {
    const provider = new FakeProvider({ saves: false });
    const backend = backendOf(provider);
    afterAll(() => provider.close());

    /** As by a program that died when its provider had made a sandbox. Returns the record that it would have written. */
    async function crashedOpening(spec: SandboxSpec): Promise<string> {
      const sandbox = await backend.open(spec, listener);
      await sandbox.close();
      const record = join(spec.directory, 'cloud.json');
      const text = readFileSync(record, 'utf8');
      await rm(record);
      const mark = provider.entries.get(onlyReference(provider))?.labels['hermetic-attempt'] ?? expect.fail('it has no mark');
      giveUp(spec.directory, mark);
      return text;
    }

    it('says that files are gone with a sandbox that the provider has removed, and begins anew', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'export RETURNS=yes; cd /tmp');
      await first.close();
      await provider.remove(onlyReference(provider));
      const second = await backend.open(spec, listener);
      expect(notices).toContain('The provider has ended the sandbox of this session, and its files are gone.');
      expect(await output(second, 'echo "$RETURNS"; pwd')).toBe('\n/workspace\n');
      await second.destroy();
    });

    it('refuses a damaged record, and removes such a sandbox on request', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await first.close();
      const path = join(spec.directory, 'cloud.json');
      writeFileSync(path, readFileSync(path, 'utf8').slice(0, 10));
      await expect(backend.open(spec, listener)).rejects.toThrow('does not say which sandbox belongs to this session');
      const [listed, ...others] = await backend.list();
      expect([listed?.hasFiles, others]).toEqual([true, []]);
      await listed?.destroy();
      expect([provider.entries.size, existsSync(spec.directory)]).toEqual([0, false]);
    });

    it('lists a sandbox that was made and never recorded as left behind, and removes it', async () => {
      const spec = specOf();
      await crashedOpening(spec);
      const [listed, orphan, ...others] = await backend.list();
      expect([orphan?.name, orphan?.hasFiles, orphan?.state, others]).toEqual([spec.name, false, 'running', []]);
      await orphan?.stop(false);
      expect(provider.entries.size).toBe(0);
      await listed?.destroy();
    });

    it('lists a sandbox that another one has replaced and that could not be removed as left behind', async () => {
      const spec = specOf();
      await (await backend.open(spec, listener)).close();
      const remove = vi.spyOn(provider, 'remove').mockRejectedValue(new Error('not now'));
      const second = await backend.open({ ...spec, limits: { ...spec.limits, memoryMb: 512 } }, listener);
      remove.mockRestore();
      expect((await backend.list()).map(({ directory, hasFiles }) => [directory, hasFiles])).toEqual([
        [spec.directory, true],
        ['', false],
      ]);
      await second.destroy();
      expect(provider.entries.size).toBe(0);
    });

    it('keeps a sandbox whose record was lost, however young it is, and removes it on request', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await first.close();
      await rm(join(spec.directory, 'cloud.json'));
      const [listed, orphan] = await backend.list();
      expect([orphan?.name, orphan?.hasFiles]).toEqual([spec.name, true]);
      await orphan?.stop(true);
      expect(provider.entries.size).toBe(1);
      await listed?.destroy();
      expect(provider.entries.size).toBe(0);
    });

    it('lists a sandbox whose directory is missing as one with files, keeps them when it stops it, and removes it on request', async () => {
      const spec = specOf();
      const first = await backend.open(spec, listener);
      await output(first, 'sleep 100000 &');
      await first.close();
      await rm(spec.directory, { recursive: true });
      const [orphan, ...others] = await backend.list();
      expect([orphan?.name, orphan?.hasFiles, orphan?.state, others]).toEqual([spec.name, true, 'running', []]);
      expect(await orphan?.stop(false)).toBe(false);
      expect(await orphan?.stop(true)).toBe(true);
      expect((await backend.list()).map(({ state }) => state)).toEqual(['stopped']);
      await orphan?.destroy();
      expect(provider.entries.size).toBe(0);
    });

    it('lists the sandbox with files that a session had before its directory was lost beside the one it has now', async () => {
      const spec = specOf();
      await (await backend.open(spec, listener)).close();
      await rm(spec.directory, { recursive: true });
      const [entry] = provider.entries.values();
      if (entry) entry.createdAt = new Date(Date.now() - 60_000);
      const sandbox = await backend.open(spec, listener);
      expect((await backend.list()).map(({ directory, hasFiles }) => [directory, hasFiles])).toEqual([
        [spec.directory, true],
        ['', true],
      ]);
      await sandbox.destroy();
      expect(provider.entries.size).toBe(0);
    });

    it('does not remove as left behind what has become the sandbox of a session', async () => {
      const spec = specOf();
      const text = await crashedOpening(spec);
      const left = (await backend.list()).find(({ hasFiles }) => !hasFiles) ?? expect.fail('it is not listed');
      writeFileSync(join(spec.directory, 'cloud.json'), text);
      expect(await left.stop(true)).toBe(false);
      await left.destroy();
      const again = await backend.open(spec, listener);
      expect(await output(again, 'echo still here')).toBe('still here\n');
      await again.destroy();
    });

    it('lists what it has records of when the provider does not answer', async () => {
      const spec = specOf();
      const sandbox = await backend.open(spec, listener);
      provider.isBroken = true;
      expect((await backend.list()).map(({ name, hasFiles }) => [name, hasFiles])).toEqual([[spec.name, true]]);
      provider.isBroken = false;
      await sandbox.destroy();
    });

    it('does not touch sandboxes of another installation', async () => {
      const labels = { 'hermetic-installation': 'another', 'hermetic-name': 'theirs' };
      const reference = await provider.create({ spec: specOf(), labels });
      expect(await backend.list()).toEqual([]);
      expect(await provider.state(reference)).toBe('running');
      await provider.remove(reference);
    });

    it('removes an ephemeral sandbox on close, and one whose opening is aborted', async () => {
      const sandbox = await backend.open(specOf({ persistent: false }), listener);
      await sandbox.close();
      expect(provider.entries.size).toBe(0);
      const controller = new AbortController();
      const spec = specOf();
      const opening = backend.open(spec, { ...listener, progress: () => undefined }, controller.signal);
      controller.abort();
      await expect(opening).rejects.toThrow();
      expect([provider.entries.size, existsSync(spec.directory)]).toEqual([0, false]);
    });

    it('gives commands the variables of the spec and nothing of this program', async () => {
      const sandbox = await backend.open(specOf({ env: { MINE: 'a "quoted" $value' } }), listener);
      expect(await output(sandbox, 'echo "$MINE"; echo "$HOME"; env | grep -c VITEST')).toBe('a "quoted" $value\n/root\n0\n');
      await sandbox.destroy();
    });

    it('checks with a sandbox that is gone afterwards, and refuses a restricted network with the reason', async () => {
      expect(await backend.check()).toMatchObject({ usable: true, summary: 'the fake provider as a test, image any' });
      expect(provider.entries.size).toBe(0);
      const spec = specOf({ network: 'restricted' });
      await expect(backend.open(spec, listener)).rejects.toMatchObject({ code: 'backend/cannot-restrict' });
      expect(existsSync(spec.directory)).toBe(false);
    });
  });
});
