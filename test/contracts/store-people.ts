import { describe, expect, it } from 'vitest';
import { at, chat, hostileTexts, message, type StorePlace, storeRig } from './store-rig.ts';

/** Every promise of `PeopleLedger`, `ChannelNoteLedger` and `CardLedger`, for any database. */
export function peopleContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);

  describe('the ledger of people', () => {
    const group = { platform: 'telegram', workspace: 'w', chat: 'group', thread: 't' };

    it('lists the places where a person wrote, newest first, with the latest name', async () => {
      const ada = { id: '7', name: 'Ada' };
      const say = (id: string, place: typeof chat, seconds: number, name = 'Ada') =>
        rig.store.inbox.accept(['s'], message({ id, place, from: { ...ada, name }, isDirect: place === chat }), at(seconds));
      await say('1', chat, 1);
      await say('2', group, 2);
      await say('3', chat, 3, 'Countess');
      expect(await (await rig.open()).people.placesOf(chat.platform, '7')).toStrictEqual([
        { place: chat, isDirect: true, name: 'Countess', at: at(3) },
        ...(chat.platform === group.platform ? [{ place: group, isDirect: false, name: 'Ada', at: at(2) }] : []),
      ]);
      expect(await rig.store.people.placesOf('web', '7')).toEqual([]);
      expect(await rig.store.people.placesOf(chat.platform, '8')).toEqual([]);
    });

    it('records no place for the press of a button', async () => {
      const press = { kind: 'press', id: '1', place: chat, from: { id: '9', name: '' }, at: at(1), data: 'x', message: 'm' } as const;
      await rig.store.inbox.accept(['s'], press, at(1));
      expect(await rig.store.people.placesOf(chat.platform, '9')).toEqual([]);
    });

    it('stores any text as id and name of a person', async () => {
      for (const [index, text] of hostileTexts.entries()) {
        await rig.store.inbox.accept(['s'], message({ id: `${index}`, from: { id: text, name: text } }), at(1));
        expect(await rig.store.people.placesOf(chat.platform, text)).toMatchObject([{ name: text }]);
      }
    });
  });

  describe('the notes of channels', () => {
    it('keeps the notes of each channel apart, and the last of each key', async () => {
      const { channelNotes } = rig.store;
      expect(await channelNotes.read('discord')).toEqual(new Map());
      await channelNotes.write('discord', { mark: '1', other: 'x' });
      await channelNotes.write('discord', { mark: '2', other: undefined });
      await channelNotes.write('slack', { mark: '9' });
      expect(await (await rig.open()).channelNotes.read('discord')).toEqual(new Map([['mark', '2']]));
    });

    it('stores any text as key and note', async () => {
      for (const text of hostileTexts) {
        await rig.store.channelNotes.write('c', { [text]: text });
        expect((await rig.store.channelNotes.read('c')).get(text)).toBe(text);
      }
    });
  });

  describe('the ledger of cards', () => {
    it('stores a card once until it is forgotten', async () => {
      const cards = ['a', 'b'].map((key) => ({ question: 'q', key, place: { ...chat, chat: key } }));
      for (const card of [...cards, ...cards, { question: 'r', key: 'c', place: chat }]) await rig.store.cards.add(card);
      const again = await rig.open();
      expect(await again.cards.list('q')).toHaveLength(2);
      expect(await again.cards.list('q')).toEqual(expect.arrayContaining(cards));
      expect(await again.cards.list()).toHaveLength(3);
      await again.cards.forget('a');
      await again.cards.forget('a');
      expect(await rig.store.cards.list('q')).toStrictEqual([cards[1]]);
    });
  });
}
