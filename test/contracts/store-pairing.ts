import { describe, expect, it } from 'vitest';
import type { PairingRequest } from '../../src/core/conversation.ts';
import { at, hostileTexts, type StorePlace, storeRig } from './store-rig.ts';

const minute = 60;
const hour = 60 * minute;

function asking(person: string, second: number, changes: Partial<PairingRequest> = {}): PairingRequest {
  return { platform: 'telegram', person, name: `name of ${person}`, requestedAt: at(second), expiresAt: at(second + hour), ...changes };
}

/** Every promise of `PairingLedger`, for any database. */
export function pairingContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  const request = (person: string, code: string, second = 0) => rig.store.pairing.request(asking(person, second), code);
  const approve = (code: string, second: number, by = 'admin') => rig.store.pairing.approve(code, by, 'user', at(second));
  const wrongly = async (times: number, second: number, by = 'admin') => {
    for (let time = 0; time < times; time++) await approve('WRONGWRO', second, by);
  };

  describe('pairing', () => {
    it('pairs a person with the code once, after the store is reopened', async () => {
      expect(await request('ada', 'ABCDEFGH')).toStrictEqual(asking('ada', 0));
      expect(await rig.store.pairing.find('telegram', 'ada')).toBeUndefined();
      const { pairing } = await rig.open();
      const person = { platform: 'telegram', person: 'ada', name: 'name of ada', role: 'admin', by: 'root', at: at(5) };
      expect(await pairing.approve('ABCDEFGH', 'root', 'admin', at(5))).toStrictEqual({ kind: 'paired', person });
      expect(await rig.store.pairing.find('telegram', 'ada')).toStrictEqual(person);
      expect(await rig.store.pairing.paired()).toStrictEqual([person]);
      expect(await rig.store.pairing.open(at(6))).toEqual([]);
      expect(await approve('ABCDEFGH', 6)).toMatchObject({ kind: 'wrong' });
    });

    it('keeps people of two platforms apart', async () => {
      await request('ada', 'ABCDEFGH');
      await rig.store.pairing.request(asking('ada', 0, { platform: 'slack' }), 'JKMNPQRS');
      await approve('JKMNPQRS', 1);
      expect(await rig.store.pairing.find('telegram', 'ada')).toBeUndefined();
      expect(await rig.store.pairing.find('slack', 'ada')).toMatchObject({ platform: 'slack' });
    });

    it('expires a code after one hour, even when a longer time was asked for', async () => {
      const asked = asking('ada', 0, { expiresAt: at(10 * hour) });
      expect(await rig.store.pairing.request(asked, 'ABCDEFGH')).toStrictEqual({ ...asked, expiresAt: at(hour) });
      await rig.store.pairing.request(asking('bob', 0, { expiresAt: at(minute) }), 'JKMNPQRS');
      expect((await rig.store.pairing.open(at(minute))).map(({ person }) => person)).toEqual(['ada']);
      expect(await approve('JKMNPQRS', minute)).toMatchObject({ kind: 'wrong' });
      expect(await approve('ABCDEFGH', hour)).toMatchObject({ kind: 'wrong' });
      expect(await rig.store.pairing.open(at(hour))).toEqual([]);
    });

    it('gives a person one code in ten minutes and revokes the older one', async () => {
      await request('ada', 'FIRSTFIR');
      expect(await request('ada', 'SECONDSE', 10 * minute - 1)).toBeUndefined();
      expect(await request('ada', 'THIRDTHI', 10 * minute)).toBeDefined();
      expect(await rig.store.pairing.open(at(10 * minute))).toHaveLength(1);
      expect(await approve('FIRSTFIR', 11 * minute)).toMatchObject({ kind: 'wrong' });
      expect(await approve('SECONDSE', 11 * minute)).toMatchObject({ kind: 'wrong' });
      expect(await approve('THIRDTHI', 11 * minute)).toMatchObject({ kind: 'paired' });
    });

    it('locks one approver after five wrong codes until an hour after the first', async () => {
      await request('ada', 'ABCDEFGH', 30 * minute);
      const left = [];
      for (let time = 0; time < 5; time++) left.push(await approve('WRONGWRO', time * minute));
      expect(left).toEqual([4, 3, 2, 1, 0].map((count) => ({ kind: 'wrong', left: count })));
      expect(await approve('ABCDEFGH', 31 * minute)).toStrictEqual({ kind: 'locked', until: at(hour) });
      expect(await rig.store.pairing.find('telegram', 'ada')).toBeUndefined();
      expect(await request('eve', 'JKMNPQRS', 31 * minute)).toBeDefined();
      expect(await approve('JKMNPQRS', 32 * minute, 'another')).toMatchObject({ kind: 'paired' });
      expect(await approve('ABCDEFGH', hour)).toMatchObject({ kind: 'paired' });
    });

    it('counts no wrong codes of the owner', async () => {
      await request('ada', 'ABCDEFGH');
      const own = (code: string) => rig.store.pairing.approve(code, 'admin', 'user', at(minute), true);
      for (let time = 0; time < 6; time++) expect(await own('WRONGWRO')).toStrictEqual({ kind: 'wrong', left: undefined });
      expect(await approve('WRONGWRO', minute)).toStrictEqual({ kind: 'wrong', left: 4 });
      expect(await own('ABCDEFGH')).toMatchObject({ kind: 'paired' });
    });

    it('keeps the end of a lock when more wrong codes follow', async () => {
      await wrongly(5, 0);
      await wrongly(20, 30 * minute);
      expect(await approve('WRONGWRO', hour)).toStrictEqual({ kind: 'wrong', left: 4 });
    });

    it('gives codes to thirty people who ask at the same time', async () => {
      const names = Array.from({ length: 30 }, (_, index) => `p${index}`);
      const granted = await Promise.all(names.map((name, second) => rig.store.pairing.request(asking(name, second), `CODE-${name}`)));
      expect(granted.every(Boolean)).toBe(true);
      expect((await rig.store.pairing.open(at(minute))).map(({ person }) => person)).toEqual(names);
      expect(await approve('CODE-p17', minute)).toMatchObject({ kind: 'paired', person: { person: 'p17' } });
    });

    it('revokes a pairing at once, with its open code', async () => {
      await request('ada', 'ABCDEFGH');
      await approve('ABCDEFGH', 1);
      await request('ada', 'JKMNPQRS', 2);
      expect(await rig.store.pairing.revoke('telegram', 'bob', 'root', at(1))).toBe(false);
      expect(await rig.store.pairing.revoke('telegram', 'ada', 'root', at(2))).toBe(true);
      expect(await (await rig.open()).pairing.find('telegram', 'ada')).toBeUndefined();
      expect(await approve('JKMNPQRS', 3)).toMatchObject({ kind: 'wrong' });
      expect(await rig.store.pairing.revoke('telegram', 'ada', 'root', at(2))).toBe(false);
    });

    it('records who asked, who let them in or guessed, and who took that back', async () => {
      const { pairing, audit } = rig.store;
      await request('ada', 'ABCDEFGH');
      await request('ada', 'JKMNPQRS', 1);
      await approve('WRONGWRO', 2);
      await approve('ABCDEFGH', 3);
      await pairing.revoke('telegram', 'nobody', 'shell:root', at(4));
      await pairing.revoke('telegram', 'ada', 'shell:root', at(5));
      await request('eve', 'ABCDEFGH', 6);
      await pairing.revoke('telegram', 'eve', 'shell:root', at(7));
      const found = await audit.list({ kind: 'access' }, 100);
      expect(found.map(({ actor, outcome, what }) => [actor, outcome, what.person ?? null, what.role ?? null])).toEqual([
        ['telegram:ada', 'asked', 'ada', null],
        ['admin', 'wrong code', null, null],
        ['admin', 'paired', 'ada', 'user'],
        ['shell:root', 'revoked', 'ada', 'user'],
        ['telegram:eve', 'asked', 'eve', null],
        ['shell:root', 'request removed', 'eve', null],
      ]);
      expect(JSON.stringify(found)).not.toMatch(/ABCDEFGH|WRONGWRO/);
    });

    it('keeps the role of the newer approval, and refuses a code that two people share', async () => {
      await request('ada', 'ABCDEFGH');
      await approve('ABCDEFGH', 1);
      await request('ada', 'JKMNPQRS', 2);
      await rig.store.pairing.approve('JKMNPQRS', 'admin', 'admin', at(3));
      expect(await rig.store.pairing.paired()).toMatchObject([{ person: 'ada', role: 'admin' }]);
      await request('bob', 'SAMESAME', 4);
      await request('eve', 'SAMESAME', 4);
      expect(await approve('SAMESAME', 5)).toMatchObject({ kind: 'wrong' });
    });

    it('stores any text as person, name, platform and code', async () => {
      for (const [index, text] of hostileTexts.entries()) {
        const second = index * 2 * hour;
        const asked = asking(text, second, { platform: text, name: text });
        expect(await rig.store.pairing.request(asked, text)).toStrictEqual(asked);
        expect(await rig.store.pairing.open(at(second + 1))).toStrictEqual([asked]);
        const person = { platform: text, person: text, name: text, role: 'user', by: text, at: at(second + 1) };
        expect(await approve(text, second + 1, text)).toStrictEqual({ kind: 'paired', person });
        expect(await rig.store.pairing.find(text, text)).toStrictEqual(person);
      }
      expect(await rig.store.pairing.paired()).toHaveLength(hostileTexts.length);
    });
  });
}
