import { afterEach, describe, expect, it } from 'vitest';
import type { AttachedCommand } from '../../../src/shell/streams/attached-command.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { printedBy, quietly, startVercel } from './rig.ts';

describeNeeding(['machines'], 'sandboxes that Vercel makes', async () => {
  const { fake, provider, providerWith, wishFor } = await startVercel();

  afterEach(() => void fake.faults.splice(0));

  const run = (name: string, script: string): Promise<AttachedCommand> => provider.attach(name)(['bash', '-c', script]);

  async function output(name: string, script: string): Promise<string> {
    const command = await run(name, script);
    command.stdin.end();
    return (await printedBy(command)).stdout.toString();
  }

  describe('a sandbox at Vercel', () => {
    it('is asked for with its labels, its size, its network, a clock and one snapshot that does not expire', async () => {
      const wish = wishFor({ limits: { cpus: 1, memoryMb: 5120, diskMb: 0, pids: 0 }, idleSeconds: 7200 });
      const name = await provider.create(wish, quietly);
      expect(fake.sandboxes.get(name)?.wishes).toMatchObject({
        tags: wish.labels,
        resources: { vcpus: 4 },
        networkPolicy: { mode: 'deny-all' },
        // No plan of Vercel refuses half an hour.
        timeout: 1_800_000,
        persistent: true,
        snapshotExpiration: 0,
        keepLastSnapshots: { count: 1, deleteEvicted: true },
        image: 'vercel/sandbox/universal:latest',
        region: 'iad1',
      });
      await provider.remove(name);
      expect(fake.sandboxes.has(name)).toBe(false);
      await provider.remove(name);
    });

    it('keeps its files and loses its processes when it is stopped, and looking at it starts nothing', async () => {
      const wish = wishFor();
      const name = await provider.create(wish, quietly);
      expect(await output(name, `echo kept >${provider.workspace}/file; echo home >~/file; pwd`)).toContain('/');
      const former = fake.sandboxes.get(name)?.session;
      expect(await provider.stop(name)).toBe(name);
      expect(await provider.state(name)).toBe('stopped');
      expect((await provider.list(wish.labels)).map(({ state }) => state)).toEqual(['stopped']);
      await provider.stop(name);
      await expect(provider.renewal.renew(name)).rejects.toThrow('does not run any more');
      await expect(run(name, 'true')).rejects.toThrow('does not run any more');
      expect(fake.sandboxes.get(name)?.session).toBe(former);
      expect(await provider.resume(name, wish, quietly)).toBe(name);
      expect(await output(name, `cat ${provider.workspace}/file`)).toBe('kept\n');
      await provider.remove(name);
    });

    it('runs nothing in a machine that took the place of its own meanwhile, until it is asked again', async () => {
      const name = await provider.create(wishFor(), quietly);
      const before = await run(name, 'read -r line; echo "$line" >>/vercel/sandbox/lines');
      await fake.sandboxes.get(name)?.session.stop();
      await fake.sandboxes.get(name)?.resume();
      before.stdin.write('never again\n');
      await expect(printedBy(before)).rejects.toThrow('cut');
      await expect(run(name, 'true')).rejects.toThrow('The sandbox has stopped');
      expect(await output(name, 'cat /vercel/sandbox/lines 2>/dev/null || echo none')).toBe('none\n');
      await provider.remove(name);
    });

    it('says that nothing is left of an ephemeral one that has ended, and of one whose snapshot has expired', async () => {
      const ephemeral = await provider.create(wishFor({ persistent: false }), quietly);
      await fake.sandboxes.get(ephemeral)?.session.stop();
      expect(await provider.state(ephemeral)).toBe('gone');
      const wish = wishFor();
      const persistent = await provider.create(wish, quietly);
      await provider.stop(persistent);
      fake.sandboxes.get(persistent)?.dropSnapshot();
      await expect(provider.resume(persistent, wish, quietly)).rejects.toMatchObject({ code: 'sandbox/not-found' });
      expect(await provider.state('hermetic-never')).toBe('gone');
      for (const name of [ephemeral, persistent]) await provider.remove(name);
    });

    it('ends by the clock of Vercel when no program moves it', async () => {
      const name = await provider.create(wishFor({ idleSeconds: 60 }), quietly);
      fake.sandboxes.get(name)?.session.extend(-59_500);
      await until('its clock has run out', async () => (await provider.state(name)) === 'stopped');
      await provider.remove(name);
    });

    it('has its end moved away only when a part of its time is over, and says when the plan allows no more', async () => {
      const name = await provider.create(wishFor({ idleSeconds: 60 }), quietly);
      const session = fake.sandboxes.get(name)?.session;
      const extended = (): number => fake.requests.filter((what) => what.endsWith('/extend-timeout')).length;
      const before = extended();
      await provider.renewal.renew(name);
      expect(extended()).toBe(before);
      session?.extend(-30_000);
      await provider.renewal.renew(name);
      expect(extended()).toBe(before + 1);
      expect(session?.endsInMs).toBeGreaterThan(50_000);
      expect(session?.endsInMs).toBeLessThan(70_000);
      session?.extend(-30_000);
      fake.faults.push({
        matches: /extend-timeout$/,
        answer: (response) =>
          void response
            .writeHead(400)
            .end(JSON.stringify({ error: { code: 'bad_request', message: 'Maximum timeout of your plan exceeded.' } })),
      });
      await expect(provider.renewal.renew(name)).rejects.toMatchObject({
        code: 'backend/cannot-honour',
        message: 'Vercel refused: Maximum timeout of your plan exceeded.',
        hint: expect.stringContaining('plan'),
      });
      await provider.remove(name);
    });

    it('is removed when the answer to its making is lost, and asked for once', async () => {
      const before = fake.requests.length;
      fake.faults.push({ matches: /^POST \/v3\/sandboxes$/, when: 'after', times: 1, answer: (response) => void response.destroy() });
      const wish = wishFor();
      await expect(provider.create(wish, quietly)).rejects.toMatchObject({ code: 'backend/not-running' });
      expect(fake.requests.slice(before).filter((what) => what.startsWith('POST')).length).toBe(1);
      expect(await provider.list(wish.labels)).toEqual([]);
    });

    it('is made to its end and removed when the program gives up meanwhile', async () => {
      const giveUp = new AbortController();
      const wish = wishFor();
      const making = provider.create(wish, { ...quietly, signal: giveUp.signal });
      await until('it is being made', () => fake.requests.at(-1)?.startsWith('POST /v3/'));
      giveUp.abort(new Error('enough'));
      await expect(making).rejects.toThrow('enough');
      expect(await provider.list(wish.labels)).toEqual([]);
    });

    it('is removed and refused when Vercel does not confirm that it has no network', async () => {
      const wish = wishFor();
      const made = provider.create(wish, quietly);
      await until('it is being made', () => fake.requests.at(-1)?.startsWith('POST /v3/'));
      fake.forgetsPolicies = true;
      await expect(made).rejects.toMatchObject({ code: 'backend/cannot-honour' });
      fake.forgetsPolicies = false;
      expect(await provider.list(wish.labels)).toEqual([]);
    });

    it('is found among all pages of a list by all of its labels', async () => {
      const wishes = Array.from({ length: 3 }, () => wishFor({ persistent: false }));
      const names = await Promise.all(wishes.map((wish) => provider.create(wish, quietly)));
      const listed = await provider.list({ 'hermetic-installation': 'test' });
      for (const name of names) expect(listed.map(({ reference }) => reference)).toContain(name);
      const [first = wishFor()] = wishes;
      expect(await provider.list(first.labels)).toMatchObject([{ reference: names[0], labels: first.labels, state: 'running' }]);
      expect(await provider.list({ ...first.labels, 'hermetic-installation': 'another' })).toEqual([]);
      for (const name of names) await providerWith().remove(name);
    });

    it('is refused when no machine of Vercel is large enough', async () => {
      const limits = { cpus: 64, memoryMb: 0, diskMb: 0, pids: 0 };
      await expect(provider.create(wishFor({ limits }), quietly)).rejects.toMatchObject({ code: 'backend/cannot-honour' });
    });
  });
});
