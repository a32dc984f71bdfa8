import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SandboxBeginning, SandboxEntry, Store } from '../../src/core/store.ts';
import { until } from '../until.ts';
import { at, type StorePlace, storeRig } from './store-rig.ts';

const key = { backend: 'docker', name: '4f2a' };

function beginning(changes: Partial<SandboxBeginning> = {}): SandboxBeginning {
  return {
    ...key,
    session: ['cli', changes.name ?? key.name],
    image: 'debian:12',
    specHash: 'first',
    directory: '/home/sandboxes/docker/4f2a',
    persistent: true,
    createdAt: at(0),
    owner: 'one',
    leaseMs: 60_000,
    ...changes,
  };
}

/** What is found of a sandbox that was begun like this. */
function entry(changes: Partial<SandboxBeginning> = {}): Omit<SandboxEntry, 'lastUsedAt' | 'state'> {
  const { leaseMs: _, ...kept } = beginning(changes);
  return { ...kept, leaseUntil: expect.any(Date) };
}

/** Every promise of `src/core/store.ts`, for any database. */
export function storeContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);

  describe('the sandbox ledger', () => {
    it('finds a sandbox that was begun after the store is reopened', async () => {
      const session = ['telegram', 'a"b\u0000\n\ud800', '', '😀'];
      await rig.store.sandboxes.begin(beginning({ session }));
      await rig.store.close();
      const again = await rig.open();
      expect(await again.sandboxes.find(key)).toStrictEqual({ ...entry({ session }), lastUsedAt: at(0), state: 'opening' });
    });

    it('keeps absent fields of a sandbox absent', async () => {
      await rig.store.sandboxes.begin(beginning({ image: undefined, persistent: false }));
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ image: undefined, persistent: false });
    });

    it('keeps creation time, last spec and persistence when an entry is begun again', async () => {
      await rig.store.sandboxes.begin(beginning());
      await rig.store.sandboxes.closed(key, at(10));
      const changes = { image: 'debian:13', specHash: 'second', createdAt: at(20), owner: 'two', persistent: false };
      await rig.store.sandboxes.begin(beginning(changes));
      expect(await rig.store.sandboxes.find(key)).toStrictEqual({
        ...entry(),
        image: 'debian:13',
        owner: 'two',
        lastUsedAt: at(20),
        state: 'opening',
      });
      expect(await rig.store.sandboxes.list()).toHaveLength(1);
    });

    it('ends a lease that is not renewed', async () => {
      await rig.store.sandboxes.begin(beginning({ leaseMs: 50 }));
      await until('the lease is over', async () => (await rig.store.sandboxes.find(key))?.leaseUntil === undefined);
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ state: 'opening', owner: 'one' });
    });

    it('keeps the longer lease when another program begins, opens or renews with a shorter one', async () => {
      await rig.store.sandboxes.begin(beginning());
      const lease = { owner: 'two', leaseMs: 1 };
      await rig.store.sandboxes.begin(beginning(lease));
      await rig.store.sandboxes.opened(key, { specHash: 'second', ...lease });
      await rig.store.sandboxes.renew(key, lease, at(1));
      await sleep(10);
      expect((await rig.store.sandboxes.find(key))?.leaseUntil).toBeInstanceOf(Date);
    });

    it('tells every program that a lease runs, however wrong its clock is', async () => {
      const other = await rig.open();
      await rig.store.sandboxes.begin(beginning());
      const { now } = Date;
      onTestFinished(() => {
        Date.now = now;
      });
      for (const hours of [-24, 24]) {
        Date.now = () => now() + hours * 3_600_000;
        expect((await other.sandboxes.find(key))?.leaseUntil).toBeInstanceOf(Date);
        expect((await other.sandboxes.list())[0]?.leaseUntil).toBeInstanceOf(Date);
        await other.sandboxes.renew(key, { owner: 'one', leaseMs: 60_000 }, at(1));
      }
    });

    it('keeps entries of the same name on two backends apart', async () => {
      await rig.store.sandboxes.begin(beginning());
      await rig.store.sandboxes.begin(beginning({ backend: 'bubblewrap' }));
      await rig.store.sandboxes.forget(key);
      expect((await rig.store.sandboxes.list()).map(({ backend }) => backend)).toEqual(['bubblewrap']);
    });

    it('records the spec, owner and lease of an opened sandbox', async () => {
      await rig.store.sandboxes.begin(beginning());
      await rig.store.sandboxes.opened(key, { specHash: 'second', owner: 'two', leaseMs: 60_000 });
      expect(await rig.store.sandboxes.find(key)).toMatchObject({
        state: 'open',
        specHash: 'second',
        owner: 'two',
        leaseUntil: expect.any(Date),
      });
    });

    it('refuses to open a sandbox that was never begun', async () => {
      const opening = rig.store.sandboxes.opened(key, { specHash: 'first', owner: 'one', leaseMs: 60_000 });
      await expect(opening).rejects.toMatchObject({ code: 'sandbox/not-found' });
      expect(await rig.store.sandboxes.list()).toEqual([]);
    });

    it('moves last use forward and never back', async () => {
      await rig.store.sandboxes.begin(beginning());
      const lease = { owner: 'one', leaseMs: 60_000 };
      await rig.store.sandboxes.renew(key, lease, at(30));
      await rig.store.sandboxes.renew(key, lease, at(20));
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ lastUsedAt: at(30), createdAt: at(0), state: 'opening' });
    });

    it('renews a lease that is over, and says whose the sandbox is', async () => {
      await rig.store.sandboxes.begin(beginning({ leaseMs: 1 }));
      await until('the lease is over', async () => (await rig.store.sandboxes.find(key))?.leaseUntil === undefined);
      expect(await rig.store.sandboxes.renew(key, { owner: 'two', leaseMs: 60_000 }, at(1))).toBe('one');
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ owner: 'one', leaseUntil: expect.any(Date) });
    });

    it('gives a sandbox that one program closed to another one that renews its lease', async () => {
      await rig.store.sandboxes.begin(beginning());
      await rig.store.sandboxes.closed(key, at(1), 'one');
      expect(await rig.store.sandboxes.renew(key, { owner: 'two', leaseMs: 60_000 }, at(2))).toBe('two');
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ state: 'open', owner: 'two', leaseUntil: expect.any(Date) });
    });

    it('releases owner and lease of a closed sandbox and keeps its entry', async () => {
      await rig.store.sandboxes.begin(beginning());
      await rig.store.sandboxes.opened(key, { specHash: 'first', owner: 'one', leaseMs: 60_000 });
      await rig.store.sandboxes.closed(key, at(40));
      const closed = { state: 'closed', owner: undefined, leaseUntil: undefined, lastUsedAt: at(40) };
      expect(await rig.store.sandboxes.find(key)).toMatchObject(closed);
    });

    it('keeps a sandbox open that another process has taken over', async () => {
      await rig.store.sandboxes.begin(beginning());
      await rig.store.sandboxes.opened(key, { specHash: 'first', owner: 'two', leaseMs: 60_000 });
      await rig.store.sandboxes.closed(key, at(40), 'one');
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ state: 'open', owner: 'two', leaseUntil: expect.any(Date) });
      await rig.store.sandboxes.closed(key, at(40), 'two');
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ state: 'closed' });
    });

    it('tells a program that renews the lease of a forgotten sandbox', async () => {
      await rig.store.sandboxes.begin(beginning());
      await (await rig.open()).sandboxes.forget(key);
      expect(await rig.store.sandboxes.renew(key, { owner: 'one', leaseMs: 60_000 }, at(1))).toBeUndefined();
      expect(await rig.store.sandboxes.list()).toEqual([]);
    });

    it('ignores close and forget of an unknown sandbox', async () => {
      await rig.store.sandboxes.closed(key, at(1));
      await rig.store.sandboxes.forget(key);
      expect(await rig.store.sandboxes.find(key)).toBeUndefined();
      expect(await rig.store.sandboxes.list()).toEqual([]);
    });

    it('refuses a second sandbox of a session on the same backend', async () => {
      await rig.store.sandboxes.begin(beginning());
      const second = beginning({ name: 'second', session: beginning().session });
      await expect(rig.store.sandboxes.begin(second)).rejects.toMatchObject({ code: 'sandbox/in-use' });
      await rig.store.sandboxes.begin({ ...second, backend: 'bubblewrap' });
      expect((await rig.store.sandboxes.list()).map(({ backend }) => backend)).toEqual(['bubblewrap', 'docker']);
    });

    it('gives an open spare to one session, which then finds it', async () => {
      await rig.store.sandboxes.begin(beginning({ session: [] }));
      await rig.store.sandboxes.begin(beginning({ name: 'another', session: [] }));
      expect(await rig.store.sandboxes.claim(key, ['a'])).toBe(false);
      await rig.store.sandboxes.opened(key, { specHash: 'first', owner: 'one', leaseMs: 60_000 });
      expect(await rig.store.sandboxes.claim(key, ['a'])).toBe(true);
      expect(await rig.store.sandboxes.claim(key, ['b'])).toBe(false);
      const found = await (await rig.open()).sandboxes.list({ session: ['a'] });
      expect(found).toStrictEqual([{ ...entry({ session: ['a'] }), lastUsedAt: at(0), state: 'open' }]);
      expect(await rig.store.sandboxes.list({ session: ['b'] })).toEqual([]);
    });

    it('refuses a spare to a session that already has a sandbox', async () => {
      for (const name of ['spare', 'other']) {
        await rig.store.sandboxes.begin(beginning({ name, session: [] }));
        await rig.store.sandboxes.opened({ ...key, name }, { specHash: 'first', owner: 'one', leaseMs: 60_000 });
      }
      await rig.store.sandboxes.begin(beginning({ backend: 'bubblewrap', session: ['a'] }));
      expect(await rig.store.sandboxes.claim({ ...key, name: 'spare' }, ['a'])).toBe(false);
      expect(await rig.store.sandboxes.claim({ ...key, name: 'spare' }, ['b'])).toBe(true);
      expect(await rig.store.sandboxes.claim({ ...key, name: 'other' }, ['b'])).toBe(false);
      await expect(rig.store.sandboxes.begin(beginning({ session: ['b'] }))).rejects.toMatchObject({ code: 'sandbox/in-use' });
    });

    it('lists sandboxes by age and by filter', async () => {
      await rig.store.sandboxes.begin(beginning({ name: 'c', createdAt: at(3) }));
      await rig.store.sandboxes.begin(beginning({ name: 'a', createdAt: at(2) }));
      await rig.store.sandboxes.begin(beginning({ name: 'b', createdAt: at(1), backend: 'bubblewrap' }));
      await rig.store.sandboxes.closed({ ...key, name: 'a' }, at(9));
      const names = async (...filter: Parameters<Store['sandboxes']['list']>) =>
        (await rig.store.sandboxes.list(...filter)).map(({ name }) => name);
      expect(await names()).toEqual(['b', 'a', 'c']);
      expect(await names({ backend: 'docker' })).toEqual(['a', 'c']);
      expect(await names({ state: 'closed' })).toEqual(['a']);
      expect(await names({ usedBefore: at(9) })).toEqual(['b', 'c']);
      expect(await names({ usedBefore: at(3), backend: 'docker' })).toEqual([]);
    });
  });

  describe('the proof ledger', () => {
    const proof = { backend: 'docker', specHash: 'first', provenAt: at(0), held: true, lines: [{ tried: 'read /etc/shadow', held: true }] };

    it('returns the latest proof of a spec in any order of recording', async () => {
      await rig.store.proofs.record({ ...proof, provenAt: at(5), held: false });
      await rig.store.proofs.record(proof);
      await rig.store.proofs.record({ ...proof, provenAt: at(9), specHash: 'second' });
      await rig.store.proofs.record({ ...proof, provenAt: at(9), backend: 'bubblewrap' });
      expect(await rig.store.proofs.latest('docker', 'first')).toStrictEqual({ ...proof, provenAt: at(5), held: false });
      expect(await rig.store.proofs.latest('docker', 'third')).toBeUndefined();
    });

    it('stores any JSON as the lines of a proof', async () => {
      for (const [second, lines] of [null, 'text', { nested: [1, { deep: true }] }].entries()) {
        await rig.store.proofs.record({ ...proof, provenAt: at(second), lines });
        expect((await rig.store.proofs.latest('docker', 'first'))?.lines).toEqual(lines);
      }
    });

    it('replaces a proof of the same moment', async () => {
      await rig.store.proofs.record(proof);
      await rig.store.proofs.record({ ...proof, held: false, lines: [] });
      expect(await rig.store.proofs.list()).toEqual([{ ...proof, held: false, lines: [] }]);
    });

    it('keeps ten proofs of each spec and lists the newest first', async () => {
      await rig.store.proofs.record({ ...proof, specHash: 'second', provenAt: at(100) });
      for (let second = 0; second < 13; second++) await rig.store.proofs.record({ ...proof, provenAt: at(second) });
      const times = (await rig.store.proofs.list()).map(({ provenAt }) => (provenAt.getTime() - at(0).getTime()) / 1000);
      expect(times).toEqual([100, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    });
  });

  describe('concurrent access', () => {
    it('gives one of two simultaneous claims the spare', async () => {
      const stores = [rig.store, await rig.open()];
      const names = ['s1', 's2'];
      for (const name of names) {
        await rig.store.sandboxes.begin(beginning({ name, session: [] }));
        await rig.store.sandboxes.opened({ ...key, name }, { specHash: 'first', owner: 'one', leaseMs: 60_000 });
      }
      const forOne = await Promise.all(stores.map((one, index) => one.sandboxes.claim({ ...key, name: names[index] ?? '' }, ['a'])));
      expect(forOne.sort()).toEqual([false, true]);
      const [left] = await rig.store.sandboxes.list({ session: [] });
      const ofOne = await Promise.all(stores.map((one, index) => one.sandboxes.claim(left ?? key, [`b${index}`])));
      expect(ofOne.sort()).toEqual([false, true]);
    });

    it('loses no simultaneous write of one process', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `sandbox-${index}`);
      const proof = { backend: 'docker', specHash: 'first', held: true, lines: [] };
      await Promise.all(
        names.flatMap((name, index) => [
          rig.store.sandboxes.begin(beginning({ name })),
          rig.store.sandboxes.renew({ ...key, name }, { owner: 'one', leaseMs: 60_000 }, at(99)),
          rig.store.proofs.record({ ...proof, specHash: name, provenAt: at(index) }),
        ]),
      );
      expect(await rig.store.sandboxes.list()).toHaveLength(names.length);
      expect(await rig.store.sandboxes.list({ usedBefore: at(99) })).toEqual([]);
      expect(await rig.store.proofs.list()).toHaveLength(names.length);
    });

    it('shows a resolved write to another process at once', async () => {
      const other = await rig.open();
      await rig.store.sandboxes.begin(beginning());
      expect(await other.sandboxes.find(key)).toMatchObject({ state: 'opening' });
      await other.sandboxes.closed(key, at(5));
      expect(await rig.store.sandboxes.find(key)).toMatchObject({ state: 'closed' });
    });
  });

  it('finishes pending writes before it closes, and refuses later calls', async () => {
    const writing = rig.store.sandboxes.begin(beginning());
    await rig.store.close();
    await writing;
    await expect(rig.store.sandboxes.list()).rejects.toThrow(/closed/);
    await rig.store.close();
    expect(await (await rig.open()).sandboxes.list()).toHaveLength(1);
  });
}
