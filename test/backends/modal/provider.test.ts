import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { endings } from '../../fakes/modal/sandbox.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { quietly, run, startModal, wishFor } from './rig.ts';

describeNeeding(['machines'], 'sandboxes that Modal makes', async () => {
  const { fake, provider } = await startModal();

  describe('commands in a sandbox of Modal', () => {
    it('get and give bytes of all values', async () => {
      const reference = await provider.create(wishFor(), quietly);
      const input = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, value) => value)), randomBytes(700_000)]);
      const { stdout, stderr, code } = await run(provider.attach(reference), 'cat; echo oops >&2; exit 3', input);
      expect(stdout.equals(input)).toBe(true);
      expect({ stderr: stderr.toString(), code }).toEqual({ stderr: 'oops\n', code: 3 });
      await provider.remove(reference);
      expect(await provider.state(reference)).toBe('gone');
      expect(fake.running).toEqual([]);
    });

    it('go on when their input has ended, and have their exit code', async () => {
      const reference = await provider.create(wishFor(), quietly);
      const { stdout, code } = await run(provider.attach(reference), 'cat >/dev/null; echo after the end; kill -9 $$', 'input');
      expect({ stdout: stdout.toString(), code }).toEqual({ stdout: 'after the end\n', code: 137 });
      await provider.remove(reference);
    });

    it('end when they are detached, because their input ends', async () => {
      const reference = await provider.create(wishFor(), quietly);
      const command = await provider.attach(reference)(['bash', '-c', 'echo ready; read -r _; echo done']);
      await new Promise((resolve) => command.stdout.once('data', resolve));
      command.destroy();
      const execs = [...(fake.sandboxes.get(reference)?.execs.values() ?? [])];
      await Promise.all(execs.map(({ process }) => process.exited));
      await provider.remove(reference);
    });
  });

  describe('a new sandbox of Modal', () => {
    it('has both clocks of the provider, its labels, its limits and no network', async () => {
      const labels = { 'hermetic-installation': 'one', 'hermetic-name': 'first' };
      const limits = { cpus: 1.5, memoryMb: 100, diskMb: 0, pids: 0 };
      const reference = await provider.create(wishFor({ limits, network: 'none', idleSeconds: 1800 }, labels), quietly);
      const made = fake.sandboxes.get(reference);
      expect(made?.definition).toMatchObject({
        timeoutSecs: 86_400,
        idleTimeoutSecs: 1800,
        networkAccess: { networkAccessType: 2 },
        resources: { milliCpu: 125, milliCpuMax: 1500, memoryMb: 128, memoryMbMax: 128 },
        includeOidcIdentityToken: false,
        secretIds: [],
        openPorts: { ports: [] },
      });
      const tags = Object.fromEntries((made?.tags ?? []).map(({ tagName, tagValue }) => [tagName, tagValue]));
      expect(tags).toMatchObject(labels);
      await provider.remove(reference);
    });

    it('has the network when that was asked for, and time to be attached to', async () => {
      const reference = await provider.create(wishFor({ network: 'open', idleSeconds: 5 }), quietly);
      expect(fake.sandboxes.get(reference)?.definition).toMatchObject({ networkAccess: { networkAccessType: 1 }, idleTimeoutSecs: 60 });
      await provider.remove(reference);
    });

    it('is not left behind when the answer of Modal is lost', async () => {
      fake.control.fail('SandboxCreateV2', 'cut', 1);
      await expect(provider.create(wishFor(), quietly)).rejects.toMatchObject({ code: 'backend/not-running' });
      expect(fake.running).toEqual([]);
      expect([...fake.sandboxes.values()].at(-1)?.result?.status).toBe(endings.terminated);
    });

    it('is not left behind when it takes no command', async () => {
      fake.worker.fail('TaskExecStart', { status: 9, message: 'the container has crashed' });
      await expect(provider.create(wishFor(), quietly)).rejects.toMatchObject({ code: 'sandbox/lost' });
      fake.worker.heal();
      expect(fake.running).toEqual([]);
    });

    it('is not left behind when its maker gives up', async () => {
      const giveUp = new AbortController();
      fake.worker.fail('TaskExecStart', 'silence', 1);
      const before = fake.worker.calls.length;
      const creating = provider.create(wishFor(), { progress: () => undefined, signal: giveUp.signal });
      await until('its first command is asked for', () => fake.worker.calls.slice(before).some(({ name }) => name === 'TaskExecStart'));
      giveUp.abort(new Error('enough'));
      await expect(creating).rejects.toThrow('enough');
      expect(fake.running).toEqual([]);
    });

    it('is of no image whose name is another line of a Dockerfile', async () => {
      const image = 'alpine\nRUN curl evil';
      await expect(provider.create(wishFor({ image }), quietly)).rejects.toMatchObject({ code: 'sandbox/no-image' });
    });
  });

  describe('files of a sandbox of Modal', () => {
    it('come back after a stop, in another sandbox of the image that was made of them', async () => {
      const first = await provider.create(wishFor(), quietly);
      await run(provider.attach(first), 'echo kept >/workspace/note; echo home >~/note');
      const saved = await provider.stop(first);
      expect(saved).toMatch(/^im-/);
      expect(fake.images.get(saved)?.ttlSeconds).toBe(30 * 24 * 3600);
      expect([await provider.state(first), await provider.state(saved)]).toEqual(['gone', 'stopped']);
      const second = await provider.resume(saved, wishFor({ network: 'none' }), quietly);
      expect(fake.sandboxes.get(second)?.definition.networkAccess?.networkAccessType).toBe(2);
      const { stdout } = await run(provider.attach(second), 'cat /workspace/note ~/note');
      expect(stdout.toString()).toBe('kept\nhome\n');
      await provider.remove(second);
      await provider.remove(saved);
      expect(await provider.state(saved)).toBe('gone');
      await provider.remove(saved);
    });

    it('are saved while it runs, and it runs on', async () => {
      const reference = await provider.create(wishFor(), quietly);
      await run(provider.attach(reference), 'echo early >/workspace/note');
      const saved = await provider.checkpoints.save(reference);
      await run(provider.attach(reference), 'echo late >/workspace/note');
      expect(await provider.state(reference)).toBe('running');
      const again = await provider.resume(saved, wishFor(), quietly);
      expect((await run(provider.attach(again), 'cat /workspace/note')).stdout.toString()).toBe('early\n');
      await provider.checkpoints.remove(saved);
      for (const one of [reference, again]) await provider.remove(one);
    });

    it('stay where they are when they cannot be saved', async () => {
      const reference = await provider.create(wishFor(), quietly);
      fake.worker.fail('TaskSnapshotFilesystem', { status: 8, message: 'too many snapshots' });
      await expect(provider.stop(reference)).rejects.toMatchObject({
        code: 'sandbox/no-room',
        message: 'Modal refused: too many snapshots',
      });
      fake.worker.heal();
      expect(await provider.state(reference)).toBe('running');
      await provider.remove(reference);
    });
  });

  describe('the list of sandboxes at Modal', () => {
    it('has those of our labels, over as many answers as it takes', async () => {
      const installation = randomUUID();
      const ours = { 'hermetic-installation': installation, 'hermetic-name': 'one' };
      const others = { 'hermetic-installation': randomUUID(), 'hermetic-name': 'one' };
      const mine = await provider.create(wishFor({}, ours), quietly);
      const foreign = await provider.create(wishFor({}, others), quietly);
      const listed = await provider.list({ 'hermetic-installation': installation });
      expect(listed).toMatchObject([{ reference: mine, labels: ours, state: 'running' }]);
      expect(Math.abs(Date.now() - (listed[0]?.createdAt.getTime() ?? 0))).toBeLessThan(600_000);
      fake.ignoresTags = true;
      expect((await provider.list({ 'hermetic-installation': installation })).map(({ reference }) => reference)).toEqual([mine]);
      fake.ignoresTags = false;
      for (const one of [mine, foreign]) await provider.remove(one);
      expect(await provider.list({ 'hermetic-installation': installation })).toEqual([]);
    });
  });
});
