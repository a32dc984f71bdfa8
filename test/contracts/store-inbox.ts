import { describe, expect, it } from 'vitest';
import type { Incoming } from '../../src/core/channel.ts';
import { at, chat, hostileTexts, message, type StorePlace, storeRig } from './store-rig.ts';

/** Every promise of `InboxLedger`, for any database. */
export function inboxContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  const accept = async (id: string, session = ['s']): Promise<number> =>
    (await rig.store.inbox.accept(session, message({ id }), at(1))) as number;
  const ids = async (...filter: Parameters<typeof rig.store.inbox.list>) =>
    (await rig.store.inbox.list(...filter)).map(({ incoming }) => incoming.id);

  describe('the inbox', () => {
    it('returns messages and presses unchanged after the store is reopened', async () => {
      const whole = message({
        text: 'é\u0000\ud800',
        place: { platform: 'slack', workspace: 'w', chat: 'c', thread: 't' },
        quoted: { from: 'Bob', text: 'what?' },
        files: [{ id: 'f', name: '../a', mimeType: undefined, bytes: undefined }],
      });
      const press: Incoming = { kind: 'press', id: '2', place: chat, from: { id: '7', name: '' }, at: at(3), data: 'x', message: 'm1' };
      const bare = message({ id: '3' });
      for (const incoming of [whole, press, bare]) await rig.store.inbox.accept(['telegram', '42', ''], incoming, at(5));
      const entries = await (await rig.open()).inbox.list('waiting');
      expect(entries.map(({ incoming }) => incoming)).toStrictEqual([whole, press, bare]);
      const first = {
        seq: entries[0]?.seq,
        session: ['telegram', '42', ''],
        incoming: whole,
        state: 'waiting',
        receivedAt: at(5),
        turn: undefined,
        role: undefined,
        tries: 0,
      };
      expect(entries[0]).toStrictEqual(first);
    });

    it('stores a message once, even when it is delivered again after it is done', async () => {
      const seq = await accept('1');
      expect(await rig.store.inbox.accept(['other'], message({ text: 'changed' }), at(9))).toBeUndefined();
      await rig.store.inbox.begin([seq], 't');
      expect(await rig.store.inbox.accept(['s'], message(), at(9))).toBeUndefined();
      await rig.store.inbox.done([seq]);
      expect(await rig.store.inbox.accept(['s'], message(), at(9))).toBeUndefined();
      expect(await rig.store.inbox.list('done')).toMatchObject([{ session: ['s'], incoming: { text: 'Hello' } }]);
    });

    it('keeps equal ids of different places apart', async () => {
      const places = [chat, { ...chat, thread: '1' }, { ...chat, workspace: '1' }, { ...chat, chat: '43' }, { ...chat, platform: 'web' }];
      for (const place of places) expect(await rig.store.inbox.accept(['s'], message({ place }), at(1))).toBeDefined();
      expect((await rig.store.inbox.list('waiting')).map(({ incoming }) => incoming.place)).toStrictEqual(places);
    });

    it('keeps the order of arrival, overall and within each session', async () => {
      for (const id of ['c', 'a', 'b', 'd']) await accept(id, id === 'a' ? ['x', 'y'] : ['x']);
      expect(await ids('waiting')).toEqual(['c', 'a', 'b', 'd']);
      expect(await ids('waiting', ['x'])).toEqual(['c', 'b', 'd']);
      expect(await ids('waiting', ['x', 'y'])).toEqual(['a']);
      expect(await ids('waiting', ['x,y'])).toEqual([]);
    });

    it('gives each inbox entry to one turn, and returns it to its old place on release', async () => {
      const seqs = [await accept('1'), await accept('2'), await accept('3')];
      const [one = 0, two = 0, three = 0] = seqs;
      expect(await rig.store.inbox.begin([three, one], 'first')).toEqual([one, three]);
      expect(await rig.store.inbox.begin(seqs, 'second')).toEqual([two]);
      expect(await rig.store.inbox.list('running')).toMatchObject([{ turn: 'first' }, { turn: 'second' }, { turn: 'first' }]);
      await rig.store.inbox.release('first');
      expect(await ids('waiting')).toEqual(['1', '3']);
      expect((await rig.store.inbox.list('waiting'))[0]?.turn).toBeUndefined();
      expect(await rig.store.inbox.begin([], 'third')).toEqual([]);
    });

    it('keeps the role of a turn, even of one that was released', async () => {
      const [one, two] = [await accept('1'), await accept('2')];
      await rig.store.inbox.begin([one], 'first', 'user');
      await rig.store.inbox.begin([two], 'second', 'admin');
      await rig.store.inbox.release('first');
      const again = (await rig.open()).inbox;
      expect(await again.list('waiting')).toMatchObject([{ turn: undefined, role: 'user' }]);
      expect(await again.list('running')).toMatchObject([{ turn: 'second', role: 'admin' }]);
    });

    it('keeps finished entries finished', async () => {
      const [one, two] = [await accept('1'), await accept('2')];
      await rig.store.inbox.begin([one], 't');
      await rig.store.inbox.done([one, two, 999]);
      await rig.store.inbox.release('t');
      expect(await rig.store.inbox.begin([one, two], 'again')).toEqual([]);
      expect((await rig.store.inbox.list('done')).map(({ turn }) => turn)).toEqual(['t', undefined]);
    });

    it('begins and finishes more than a thousand entries at once', async () => {
      for (let id = 0; id < 1200; id++) await accept(String(id));
      const seqs = (await rig.store.inbox.list('waiting')).map(({ seq }) => seq);
      expect(await rig.store.inbox.begin([...seqs].reverse(), 't')).toEqual(seqs);
      await rig.store.inbox.done(seqs);
      expect(await rig.store.inbox.list('done')).toHaveLength(1200);
    });

    it('prunes only old finished entries and reuses no number', async () => {
      const old = await accept('old');
      await accept('waiting');
      const running = await accept('running');
      await rig.store.inbox.begin([running], 't');
      const recent = (await rig.store.inbox.accept(['s'], message({ id: 'recent' }), at(100))) as number;
      await rig.store.inbox.done([old, recent]);
      await rig.store.inbox.prune(at(100));
      expect([await ids('waiting'), await ids('running'), await ids('done')]).toEqual([['waiting'], ['running'], ['recent']]);
      await rig.store.inbox.prune(at(101));
      expect(await accept('old')).toBeGreaterThan(recent);
    });

    it('counts the tries of an entry until it is done or excused', async () => {
      const { inbox } = rig.store;
      const tries = async () => (await inbox.list('waiting')).map((entry) => entry.tries);
      const seqs = [await accept('1'), await accept('2'), await accept('3')];
      const [one = 0, two = 0, three = 0] = seqs;
      for (const turn of ['first', 'second']) {
        await inbox.begin([one, two], turn);
        await inbox.release(turn);
      }
      await inbox.trying(three);
      expect(await (await rig.open()).inbox.list('waiting')).toMatchObject([{ tries: 2 }, { tries: 2 }, { tries: 1 }]);
      await inbox.excuse([two, three]);
      expect(await tries()).toEqual([2, 0, 0]);
      await inbox.done([one]);
      expect((await inbox.list('done')).map((entry) => entry.tries)).toEqual([0]);
    });

    it('excludes an entry that was set aside from the line for good', async () => {
      const { inbox, setAside } = rig.store;
      const seqs = [await accept('1'), await accept('2')];
      const [one = 0, two = 0] = seqs;
      await inbox.trying(one);
      const entry = { source: 'inbox', id: String(one), session: ['s'], reason: 'é\u0000\ud800', content: '{', tries: 5, at: at(9) };
      await setAside.add(entry);
      await setAside.add({ ...entry, reason: 'again' });
      const reopened = await rig.open();
      expect(await reopened.setAside.list()).toStrictEqual([entry]);
      expect(await ids('waiting')).toEqual(['2']);
      expect(await inbox.begin(seqs, 't')).toEqual([two]);
      expect(await inbox.accept(['s'], message({ id: '1' }), at(2))).toBeUndefined();
      await setAside.prune(at(10));
      expect(await setAside.list()).toEqual([]);
    });

    it('counts deliveries from a platform before they are handled, and skips those set aside', async () => {
      const { setAside } = rig.store;
      const tries = async (given: string[], open: string[] = []) => Object.fromEntries(await setAside.trying('p', given, open));
      expect(await tries(['1', '2'])).toEqual({ 1: 0, 2: 0 });
      expect(await tries(['2'], ['1'])).toEqual({ 2: 1 });
      expect(Object.fromEntries(await setAside.trying('other', ['2'], []))).toEqual({ 2: 0 });
      expect(await tries(['1', '2'])).toEqual({ 1: 1, 2: 2 });
      expect(await tries([], ['1'])).toEqual({});
      expect(await tries(['1', '2'])).toEqual({ 1: 2, 2: 0 });
      await setAside.add({ source: 'p', id: '2', session: [], reason: 'x', content: 'y', tries: 5, at: at(1) });
      expect(await tries(['1', '2'])).toEqual({ 1: 3, 2: undefined });
    });

    it('stores any text as id, name, session and turn of an inbox entry', async () => {
      for (const text of hostileTexts) {
        const place = { platform: text, workspace: text, chat: text, thread: text };
        const incoming = message({ id: text, text, place, from: { id: text, name: text } });
        const seq = (await rig.store.inbox.accept([text, text], incoming, at(1))) as number;
        expect(await rig.store.inbox.accept([text, text], incoming, at(1))).toBeUndefined();
        expect(await rig.store.inbox.begin([seq], text)).toEqual([seq]);
        const [entry] = await rig.store.inbox.list('running', [text, text]);
        expect(entry).toStrictEqual({
          seq,
          session: [text, text],
          incoming,
          state: 'running',
          receivedAt: at(1),
          turn: text,
          role: undefined,
          tries: 1,
        });
        await rig.store.inbox.done([seq]);
      }
      expect(await rig.store.inbox.list('done')).toHaveLength(hostileTexts.length);
    });
  });
}
