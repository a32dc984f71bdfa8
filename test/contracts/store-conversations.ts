import { describe, expect, it } from 'vitest';
import { at, chat, hostileTexts, type StorePlace, storeRig } from './store-rig.ts';

const parts = ['telegram', '42', '7'];
const usage = { inputTokens: 10, outputTokens: 2, cachedTokens: 1, writtenTokens: 0, cost: 0.25 };

/** Every promise of `ConversationLedger`, for any database. */
export function conversationContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);
  const begin = (session: readonly string[] = parts, second = 0) =>
    rig.store.conversations.session(session, { title: 'Ada', place: chat }, at(second));
  const messages = async () => {
    const all = (await rig.store.conversations.read(parts)).map(({ message }) => message);
    expect((await rig.store.conversations.present(parts)).messages).toStrictEqual(all);
    return all;
  };

  describe('conversations', () => {
    it('begins a conversation once and finds it after the store is reopened', async () => {
      const entry = {
        ...{
          parts,
          title: 'Ada',
          place: chat,
          epoch: 1,
          startedAt: at(0),
          lastActiveAt: at(0),
          choices: {},
          facts: undefined,
          undelivered: undefined,
        },
        usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, writtenTokens: 0, cost: undefined },
      };
      expect(await rig.store.conversations.find(parts)).toBeUndefined();
      expect(await begin()).toStrictEqual(entry);
      const other = { title: 'Other', place: { ...chat, thread: '1' } };
      expect(await rig.store.conversations.session(parts, other, at(9))).toStrictEqual(entry);
      expect(await (await rig.open()).conversations.find(parts)).toStrictEqual(entry);
    });

    it('lists conversations by last activity, which never moves back', async () => {
      for (const [second, name] of ['a', 'b', 'c'].entries()) await begin([name], second);
      await rig.store.conversations.active(['a'], at(10));
      await rig.store.conversations.active(['a'], at(5));
      const listed = await rig.store.conversations.list(2);
      expect(listed.map((entry) => [entry.parts[0], entry.lastActiveAt])).toEqual([
        ['a', at(10)],
        ['c', at(2)],
      ]);
    });

    it('returns every message in order, with its keys in order', async () => {
      await begin();
      const said = [{ role: 'user', content: 'é\u0000\ud800', b: 1, a: [null, { __proto__x: 1 }] }, 'text', 1, null];
      await rig.store.conversations.append(parts, 't1', said.slice(0, 2), at(1));
      await rig.store.conversations.append(parts, 't2', [], at(2));
      await rig.store.conversations.append(parts, 't2', said.slice(2), at(2));
      const read = await (await rig.open()).conversations.read(parts);
      expect(read.map(({ message }) => JSON.stringify(message))).toEqual(said.map((message) => JSON.stringify(message)));
      expect(read.map(({ turn, at: time }) => [turn, time])).toEqual([
        ['t1', at(1)],
        ['t1', at(1)],
        ['t2', at(2)],
        ['t2', at(2)],
      ]);
      expect(read.map(({ seq }) => seq)).toEqual(read.map(({ seq }) => seq).sort((a, b) => a - b));
    });

    it('reads messages, summaries and resets that another process wrote', async () => {
      await begin();
      const other = await rig.open();
      expect(await messages()).toEqual([]);
      for (const number of [1, 2, 3]) {
        await rig.store.conversations.append(parts, 't1', [`${number}`], at(1));
        await other.conversations.append(parts, 't2', [{ number }, number], at(1));
        expect(await messages()).toHaveLength(3 * number);
      }
      const seqs = (await rig.store.conversations.read(parts)).map(({ seq }) => seq);
      await other.conversations.summarise(parts, seqs[4] ?? 0, 'the beginning', at(2));
      expect(await messages()).toEqual(['the beginning', 2, '3', { number: 3 }, 3]);
      await other.conversations.append(parts, 't3', ['more'], at(3));
      expect((await messages()).at(-1)).toBe('more');
      await other.conversations.reset(parts, at(4));
      expect(await messages()).toEqual([]);
    });

    it('keeps what a model was told of its surroundings until a reset', async () => {
      await begin();
      const { conversations } = rig.store;
      const told = async () => (await conversations.find(parts))?.facts;
      expect(await told()).toBeUndefined();
      await conversations.keepFacts(parts, 1, { day: 'Monday' });
      expect(await told()).toEqual({ day: 'Monday' });
      await conversations.reset(parts, at(5));
      expect(await told()).toBeUndefined();
      await conversations.keepFacts(parts, 1, { day: 'Tuesday' });
      expect(await told()).toBeUndefined();
    });

    it('empties a conversation and its choices at a reset, and keeps its usage', async () => {
      await begin();
      await rig.store.conversations.append(parts, 't1', ['before'], at(1));
      await rig.store.conversations.choose(parts, 'model', 'big');
      await rig.store.conversations.addUsage(parts, usage);
      await rig.store.conversations.reset(parts, at(5));
      expect(await rig.store.conversations.find(parts)).toMatchObject({ epoch: 2, startedAt: at(5), choices: {}, usage });
      expect(await messages()).toEqual([]);
      await rig.store.conversations.append(parts, 't2', ['after'], at(6));
      expect(await messages()).toEqual(['after']);
    });

    it('hides a late message of a turn from before the reset', async () => {
      await begin();
      await rig.store.conversations.append(parts, 'old', ['question'], at(1));
      await rig.store.conversations.reset(parts, at(2));
      await rig.store.conversations.append(parts, 'new', ['new question'], at(3));
      await rig.store.conversations.append(parts, 'old', ['late answer'], at(4));
      expect(await messages()).toEqual(['new question']);
    });

    it('reads a conversation from its summary on', async () => {
      await begin();
      await rig.store.conversations.append(parts, 't1', ['a', 'b', 'c'], at(1));
      const [a, b, c] = (await rig.store.conversations.read(parts)).map(({ seq }) => seq) as [number, number, number];
      expect(await rig.store.conversations.summarise(parts, b, { summary: 'a, b' }, at(2))).toBe(true);
      expect((await rig.store.conversations.present(parts)).messages).toStrictEqual(await messages());
      expect(await rig.store.conversations.read(parts)).toStrictEqual([
        { seq: b, turn: 't1', at: at(2), message: { summary: 'a, b' } },
        { seq: c, turn: 't1', at: at(1), message: 'c' },
      ]);
      expect(await rig.store.conversations.summarise(parts, a, 'older', at(3))).toBe(false);
      expect(await rig.store.conversations.summarise(parts, c + 1000, 'of nothing', at(3))).toBe(false);
      expect(await rig.store.conversations.summarise(parts, c, 'all', at(3))).toBe(true);
      await rig.store.conversations.append(parts, 't2', ['d'], at(4));
      expect(await messages()).toEqual(['all', 'd']);
      await rig.store.conversations.reset(parts, at(5));
      expect(await rig.store.conversations.summarise(parts, c, 'of before the reset', at(6))).toBe(false);
      expect(await messages()).toEqual([]);
    });

    it('returns all messages of a turn, even summarised ones, and none from before a reset', async () => {
      const turn = (id: string) => rig.store.conversations.readTurn(parts, id);
      expect(await turn('t1')).toEqual([]);
      await begin();
      await rig.store.conversations.append(parts, 't1', ['a', 'b'], at(1));
      await rig.store.conversations.append(parts, 't2', ['c'], at(1));
      await rig.store.conversations.append(parts, 't1', ['d'], at(1));
      const last = (await rig.store.conversations.read(parts)).at(-1)?.seq ?? 0;
      await rig.store.conversations.summarise(parts, last, 'all', at(2));
      expect(await messages()).toEqual(['all']);
      expect([await turn('t1'), await turn('t2'), await turn('t3')]).toEqual([['a', 'b', 'd'], ['c'], []]);
      await rig.store.conversations.reset(parts, at(3));
      expect(await turn('t1')).toEqual([]);
    });

    it('keeps conversations with similar names apart', async () => {
      for (const session of [['a', 'b'], ['a,b'], ['["a","b"]'], ['a', 'b', '']]) {
        await begin(session);
        await rig.store.conversations.append(session, 't', [session], at(1));
      }
      expect((await rig.store.conversations.read(['a', 'b'])).map(({ message }) => message)).toEqual([['a', 'b']]);
    });

    it('remembers the choices of a conversation until they are removed', async () => {
      await begin();
      await rig.store.conversations.choose(parts, 'model', { provider: 'p', name: 'n' });
      await rig.store.conversations.choose(parts, 'mode', null);
      await rig.store.conversations.choose(parts, 'model', 'small');
      expect((await rig.store.conversations.find(parts))?.choices).toStrictEqual({ model: 'small', mode: null });
      await rig.store.conversations.choose(parts, 'model', undefined);
      expect((await rig.store.conversations.find(parts))?.choices).toStrictEqual({ mode: null });
    });

    it('adds up the usage of a conversation, even without a known price', async () => {
      await begin();
      await rig.store.conversations.addUsage(parts, { ...usage, cost: undefined });
      expect((await rig.store.conversations.find(parts))?.usage).toStrictEqual({ ...usage, cost: undefined });
      await rig.store.conversations.addUsage(parts, usage);
      await rig.store.conversations.addUsage(parts, { ...usage, cost: undefined });
      const sum = { inputTokens: 30, outputTokens: 6, cachedTokens: 3, writtenTokens: 0, cost: 0.25 };
      expect((await rig.store.conversations.find(parts))?.usage).toStrictEqual(sum);
    });

    it('refuses to change a conversation that was never begun', async () => {
      const { conversations } = rig.store;
      const changes = [
        () => conversations.active(parts, at(0)),
        () => conversations.choose(parts, 'a', 1),
        () => conversations.reset(parts, at(0)),
        () => conversations.addUsage(parts, usage),
        () => conversations.append(parts, 't', ['a'], at(0)),
        () => conversations.summarise(parts, 1, 'a', at(0)),
      ];
      for (const change of changes) await expect(change()).rejects.toThrow('There is no conversation');
    });

    it('stores any text in the parts, titles, turns and choices of a conversation', async () => {
      for (const text of hostileTexts) {
        const session = [text, text];
        await rig.store.conversations.session(session, { title: text, place: { ...chat, chat: text } }, at(0));
        await rig.store.conversations.choose(session, text, text);
        await rig.store.conversations.append(session, text, [{ text }], at(1));
        const found = await rig.store.conversations.find(session);
        expect(found).toMatchObject({ parts: session, title: text, place: { ...chat, chat: text } });
        expect(Object.entries(found?.choices ?? {})).toEqual([[text, text]]);
        expect(await rig.store.conversations.read(session)).toMatchObject([{ turn: text, message: { text } }]);
      }
      expect(await rig.store.conversations.list(100)).toHaveLength(hostileTexts.length);
    });
  });
}
