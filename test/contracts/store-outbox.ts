import { describe, expect, it } from 'vitest';
import type { OutboxEntry, OutboxItem } from '../../src/core/conversation.ts';
import { at, chat, hostileTexts, type StorePlace, storeRig } from './store-rig.ts';

const item = (key: string, more: Partial<OutboxItem> = {}): OutboxItem => ({ key, message: { text: `text of ${key}` }, ...more });

/** Every promise of `OutboxLedger`, for any database. */
export function outboxContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  const add = (...items: OutboxItem[]) => rig.store.outbox.add(chat, items, at(0));
  const head = async () => (await rig.store.outbox.head(chat))?.key;
  async function seqOf(key: string): Promise<number> {
    return ((await rig.store.outbox.find(key)) as OutboxEntry).seq;
  }

  describe('the outbox', () => {
    it('returns outbox entries unchanged after the store is reopened', async () => {
      const message = {
        text: 'é\u0000\ud800',
        buttons: [[{ label: 'Yes', data: 'y' }]],
        replyTo: 'm1',
        file: { name: 'a', data: new Uint8Array([0, 255, 128]) },
      };
      await add({ key: 'k', message, replaces: 'j', isRemoval: true, isDraft: true, dueAt: at(9) }, item('l'));
      const again = (await rig.open()).outbox;
      const common = { place: chat, state: 'waiting', addedAt: at(0), attempts: 0, doubts: 0, failure: undefined, sentId: undefined };
      const { seq } = (await again.find('k')) as OutboxEntry;
      expect(await again.find('k')).toStrictEqual({
        ...common,
        seq,
        key: 'k',
        message,
        replaces: 'j',
        isRemoval: true,
        isDraft: true,
        dueAt: at(9),
      });
      const plain = { ...item('l'), replaces: undefined, isRemoval: false, isDraft: false, dueAt: at(0) };
      expect(await again.find('l')).toStrictEqual({ ...common, ...plain, seq: seq + 1 });
    });

    it('adds an outbox entry once under a key, and several entries all or none', async () => {
      expect(await add(item('a'))).toBe(true);
      expect(await add(item('a', { message: { text: 'other' } }))).toBe(false);
      expect(await rig.store.outbox.add({ ...chat, chat: '43' }, [item('a')], at(0))).toBe(false);
      expect(await add(item('b'), item('a'))).toBe(false);
      expect(await add(item('c'), item('c'))).toBe(false);
      expect(await rig.store.outbox.find('b')).toBeUndefined();
      await rig.store.outbox.sent(await seqOf('a'), 'm1', at(1));
      expect(await add(item('a'))).toBe(false);
      expect(await head()).toBeUndefined();
    });

    it('keeps one entry at the head of each place until it is sent or dropped', async () => {
      const elsewhere = { ...chat, thread: '1' };
      await rig.store.outbox.add(elsewhere, [item('x')], at(0));
      await add(item('a'), item('b'), item('c'));
      expect(await rig.store.outbox.places()).toStrictEqual([elsewhere, chat]);
      const a = await seqOf('a');
      expect(await rig.store.outbox.begin(a)).toBe(true);
      expect(await rig.store.outbox.head(chat)).toMatchObject({ key: 'a', state: 'sending', attempts: 1 });
      await rig.store.outbox.retry(a, at(60), 'busy', false);
      expect(await rig.store.outbox.head(chat)).toMatchObject({ key: 'a', state: 'waiting', dueAt: at(60), failure: 'busy', doubts: 0 });
      await rig.store.outbox.sent(a, 'm1', at(1));
      expect(await head()).toBe('b');
      await rig.store.outbox.drop(await seqOf('b'), 'refused', at(2));
      expect(await head()).toBe('c');
      await rig.store.outbox.sent(await seqOf('c'), 'm2', at(3));
      expect(await rig.store.outbox.places()).toStrictEqual([elsewhere]);
      expect(await rig.store.outbox.find('a')).toMatchObject({ state: 'sent', sentId: 'm1', failure: undefined });
      expect(await rig.store.outbox.find('b')).toMatchObject({ state: 'dropped', failure: 'refused', sentId: undefined });
      expect(await rig.store.outbox.outcome('a')).toStrictEqual({ state: 'sent', failure: undefined });
      expect(await rig.store.outbox.outcome('b')).toStrictEqual({ state: 'dropped', failure: 'refused' });
      expect(await rig.store.outbox.outcome('z')).toBeUndefined();
    });

    it('tells the chat and the conversation of a message together with its drop, once', async () => {
      const parts = ['session', 'of the message'];
      await rig.store.conversations.session(parts, { title: 'Ada', place: chat }, at(0));
      await add({ ...item('a'), session: parts }, item('b'));
      const [a, b] = [await seqOf('a'), await seqOf('b')];
      await rig.store.outbox.drop(a, 'refused', at(1), { notice: { key: 'dropped/a', message: { text: 'a is lost' } } });
      await rig.store.outbox.drop(a, 'refused', at(2), { notice: { key: 'dropped/a again', message: { text: 'a is lost again' } } });
      await rig.store.outbox.drop(b, 'refused', at(2), { notice: { key: 'dropped/b', message: { text: 'b is lost' } } });
      expect(await rig.store.outbox.head(chat)).toMatchObject({ key: 'dropped/a', message: { text: 'a is lost' } });
      await rig.store.outbox.sent(await seqOf('dropped/a'), 'm1', at(3));
      expect(await head()).toBe('dropped/b');
      expect(await rig.store.outbox.find('dropped/a again')).toBeUndefined();
      expect(await rig.store.conversations.find(parts)).toMatchObject({ undelivered: 'a is lost' });
      await rig.store.conversations.toldUndelivered(parts, 'something else');
      expect(await rig.store.conversations.find(parts)).toMatchObject({ undelivered: 'a is lost' });
      await rig.store.conversations.toldUndelivered(parts, 'a is lost');
      expect(await rig.store.conversations.find(parts)).toMatchObject({ undelivered: undefined });
    });

    it('begins a waiting entry once and changes no finished one', async () => {
      await add(item('a'));
      const seq = await seqOf('a');
      expect(await rig.store.outbox.begin(seq)).toBe(true);
      expect(await rig.store.outbox.begin(seq)).toBe(false);
      await rig.store.outbox.sent(seq, 'm1', at(1));
      await rig.store.outbox.retry(seq, at(9), 'late', true);
      await rig.store.outbox.drop(seq, 'late', at(9));
      await rig.store.outbox.sent(seq, 'm2', at(9));
      expect(await rig.store.outbox.begin(seq)).toBe(false);
      expect(await rig.store.outbox.find('a')).toMatchObject({ state: 'sent', sentId: 'm1', failure: undefined, doubts: 0 });
    });

    it('deletes the data of a file once it was sent or dropped', async () => {
      const file = { name: 'a', data: new Uint8Array(1000) };
      await add({ key: 'a', message: { text: 'x', file } }, { key: 'b', message: { text: 'y', file } });
      await rig.store.outbox.sent(await seqOf('a'), 'm1', at(1));
      await rig.store.outbox.drop(await seqOf('b'), 'no', at(1));
      expect((await rig.store.outbox.find('a'))?.message).toStrictEqual({ text: 'x' });
      expect((await rig.store.outbox.find('b'))?.message).toStrictEqual({ text: 'y' });
    });

    it('drops a waiting entry that another replaces, but not one being sent or already sent', async () => {
      await add(item('waits'), item('flies'), item('there'));
      await rig.store.outbox.begin(await seqOf('flies'));
      await rig.store.outbox.sent(await seqOf('there'), 'm1', at(1));
      await add(...['waits', 'flies', 'there', 'nothing'].map((replaces) => item(`new ${replaces}`, { replaces })));
      const states = async (...keys: string[]) => Promise.all(keys.map(async (key) => (await rig.store.outbox.find(key))?.state));
      expect(await states('waits', 'flies', 'there')).toEqual(['dropped', 'sending', 'sent']);
      await rig.store.outbox.withdraw(['new waits', 'flies', 'nothing'], 'enough', at(2));
      expect(await states('new waits', 'flies', 'new flies')).toEqual(['dropped', 'sending', 'waiting']);
    });

    it('marks what a dead process was sending as in doubt, and drops its drafts', async () => {
      await add(
        item('flies'),
        item('waits'),
        item('shown', { isDraft: true }),
        item('unseen', { isDraft: true }),
        item('draft', { isDraft: true }),
      );
      for (const key of ['flies', 'draft']) await rig.store.outbox.begin(await seqOf(key));
      await rig.store.outbox.sent(await seqOf('shown'), 'm1', at(1));
      await rig.store.outbox.recover(at(2));
      const found = async (key: string) => {
        const { state, doubts } = (await rig.store.outbox.find(key)) as OutboxEntry;
        return [state, doubts];
      };
      expect(await found('flies')).toEqual(['waiting', 1]);
      expect(await found('waits')).toEqual(['waiting', 0]);
      expect(await found('shown')).toEqual(['sent', 0]);
      expect([await found('unseen'), await found('draft')]).toEqual([
        ['dropped', 0],
        ['dropped', 1],
      ]);
      await rig.store.outbox.begin(await seqOf('flies'));
      await rig.store.outbox.retry(await seqOf('flies'), at(3), 'no answer', true);
      expect(await found('flies')).toEqual(['waiting', 2]);
    });

    it('prunes only old entries that were sent or dropped', async () => {
      await add(item('a'), item('b'), item('c'), item('d'));
      await rig.store.outbox.sent(await seqOf('a'), 'm1', at(1));
      await rig.store.outbox.drop(await seqOf('b'), 'no', at(1));
      await rig.store.outbox.sent(await seqOf('c'), 'm2', at(5));
      const last = await seqOf('d');
      await rig.store.outbox.prune(at(5));
      const known = await Promise.all(['a', 'b', 'c', 'd'].map((key) => rig.store.outbox.find(key)));
      expect(known.map((entry) => entry?.key)).toEqual([undefined, undefined, 'c', 'd']);
      expect(await add(item('a'))).toBe(true);
      expect(await seqOf('a')).toBeGreaterThan(last);
    });

    it('stores any text as key, place, id and reason of an outbox entry', async () => {
      for (const text of hostileTexts) {
        const place = { platform: text, workspace: text, chat: text, thread: text };
        expect(await rig.store.outbox.add(place, [{ key: text, message: { text }, replaces: text }], at(0))).toBe(true);
        const entry = (await rig.store.outbox.head(place)) as OutboxEntry;
        expect(entry).toMatchObject({ key: text, place, message: { text }, replaces: text });
        await rig.store.outbox.retry(entry.seq, at(1), text, true);
        expect((await rig.store.outbox.find(text))?.failure).toBe(text);
        await rig.store.outbox.sent(entry.seq, text, at(1));
        expect((await rig.store.outbox.find(text))?.sentId).toBe(text);
      }
      expect(await rig.store.outbox.places()).toEqual([]);
    });
  });
}
