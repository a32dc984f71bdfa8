import { describe, expect, it } from 'vitest';
import type { SignIn } from '../../src/core/sign-ins.ts';
import { at, hostileTexts, type StorePlace, storeRig } from './store-rig.ts';

const day = 24 * 60 * 60;
const visitor = { browser: 'Firefox 140 on Linux', network: '192.0.2.1' };
const keys = (cookie: string, token = 'one') => ({ digest: cookie, token });

/** Every promise of `SignInLedger`, for any database. */
export function signInContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  const begin = (cookie: string, second = 0, token = 'one'): Promise<SignIn> =>
    rig.store.signIns.begin({ ...visitor, by: 'link' }, keys(cookie, token), at(second));
  const records = async (): Promise<unknown[]> =>
    (await rig.store.audit.list({ kind: 'page' }, 1000)).map(({ actor, what, outcome }) => [
      actor,
      outcome,
      what.signIn ?? what.why ?? null,
    ]);

  describe('the ledger of sign-ins', () => {
    it('finds a sign-in by its cookie under its token, and ends it once, for every program', async () => {
      const ada = await begin('a');
      expect(ada).toStrictEqual({ ...visitor, by: 'link', id: expect.stringMatching(/^[0-9a-f]{10}$/), at: at(0), seenAt: at(0) });
      expect(await (await rig.open()).signIns.find(keys('a'), at(1))).toStrictEqual(ada);
      for (const wrong of [keys('b'), keys('a', 'two'), keys('')]) expect(await rig.store.signIns.find(wrong, at(1))).toBeUndefined();
      expect(await rig.store.signIns.end('none', 'root', at(2))).toBeUndefined();
      const other = (await rig.open()).signIns;
      const ends = await Promise.all([other, rig.store.signIns].map((ledger) => ledger.end(ada.id, 'root', at(3))));
      expect(ends.filter(Boolean)).toStrictEqual([ada]);
      expect(await rig.store.signIns.find(keys('a'), at(4))).toBeUndefined();
      expect(await records()).toEqual([
        ['web:owner', 'signed in', ada.id],
        ['root', 'signed out', ada.id],
      ]);
    });

    it('ends a sign-in after 30 days without use, or 90 days after it began', async () => {
      const { id } = await begin('a');
      const isIn = async (second: number): Promise<boolean> => (await rig.store.signIns.find(keys('a'), at(second))) !== undefined;
      expect([await isIn(30 * day - 1), await isIn(30 * day)]).toEqual([true, false]);
      for (const days of [29, 58, 87]) await rig.store.signIns.seen(id, at(days * day));
      expect([await isIn(90 * day - 1), await isIn(90 * day)]).toEqual([true, false]);
      expect(await rig.store.signIns.list(at(90 * day))).toEqual([]);
      expect(await rig.store.signIns.end(id, 'root', at(90 * day))).toBeUndefined();
      await begin('b', 90 * day);
      expect(await records()).toEqual([
        ['web:owner', 'signed in', id],
        ['hermetic', 'signed out', id],
        ['web:owner', 'signed in', expect.any(String)],
      ]);
    });

    it('lists the last used first, and keeps a hundred', async () => {
      const first = await begin('0');
      const others: SignIn[] = [];
      for (let second = 1; second < 100; second++) others.push(await begin(String(second), second));
      await rig.store.signIns.seen(first.id, at(200));
      expect((await rig.store.signIns.list(at(201)))[0]).toStrictEqual({ ...first, seenAt: at(200) });
      await begin('100', 300);
      const left = await rig.store.signIns.list(at(301));
      expect(left).toHaveLength(100);
      expect(left.map(({ id }) => id)).not.toContain(others[0]?.id);
      expect(left.map(({ id }) => id)).toContain(first.id);
      expect(await rig.store.signIns.find(keys('1'), at(301))).toBeUndefined();
    });

    it('ends those of another token, with a record', async () => {
      const one = await begin('a', 0, 'one');
      await begin('b', 1, 'two');
      await rig.store.signIns.keep('two', at(2));
      expect((await rig.store.signIns.list(at(3))).map(({ at: begun }) => begun)).toEqual([at(1)]);
      expect((await records()).at(-1)).toEqual(['hermetic', 'signed out', one.id]);
    });

    it('records who was not let in, and links', async () => {
      await rig.store.signIns.refused(visitor, 'a wrong token', 7, at(1));
      await rig.store.signIns.linked('web:owner', at(2));
      expect(await rig.store.audit.list({}, 10)).toMatchObject([
        { actor: 'unknown', kind: 'page', outcome: 'refused', what: { ...visitor, why: 'a wrong token', others: 7 } },
        { actor: 'web:owner', kind: 'page', outcome: 'link made' },
      ]);
    });

    it('stores any text that a browser calls itself', async () => {
      for (const [index, text] of hostileTexts.entries()) {
        await rig.store.signIns.begin({ browser: text, network: text, by: 'token' }, keys(`h${index}`), at(index));
        expect(await rig.store.signIns.find(keys(`h${index}`), at(index))).toMatchObject({ browser: text, network: text });
      }
    });
  });
}
