import type { ChildProcess } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { finish } from '../stores/processes.ts';
import { until } from '../until.ts';
import { at, chat, message, type SharedStorePlace, storeRig } from './store-rig.ts';

const processes = [0, 1, 2, 3];
const incoming = JSON.stringify(message());
const place = JSON.stringify(chat);

/** What several processes do at once, and what is left of one that is killed, for any database. */
export function processContract(newPlace: () => SharedStorePlace): void {
  const rig = storeRig(newPlace);
  /** Runs the body in all processes at once, when the last of them has come up. Resolves with what each has said. */
  function together(body: string, more: object = {}): Promise<unknown[][]> {
    const meeting = `
      await store.proofs.record({ backend: 'meeting', specHash: String(args.index), provenAt: new Date(), held: true, lines: [] });
      while ((await store.proofs.list()).length < ${processes.length}) await new Promise((resolve) => setTimeout(resolve, 5));`;
    return Promise.all(processes.map((index) => finish(rig.place.start(meeting + body, { index, ...more }))));
  }
  const seqs = async () => (await rig.store.inbox.list('waiting')).map(({ seq }) => seq);

  describe('several processes', () => {
    it('stores each message once, numbered in order, when several processes accept it', async () => {
      const said = await together(`
        for (let id = 0; id < 40; id++) {
          const seq = await store.inbox.accept(['s'], { ...${incoming}, at: new Date(), id: String(id) }, new Date());
          if (seq !== undefined) say([id, seq]);
        }`);
      const stored = said.flat() as [number, number][];
      expect(stored.map(([id]) => id).sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, id) => id));
      expect((await seqs()).length).toBe(40);
      expect(stored.map(([, seq]) => seq).sort((a, b) => a - b)).toEqual(await seqs());
    });

    it('gives each message to one of several processes', async () => {
      for (let id = 0; id < 60; id++) await rig.store.inbox.accept(['s'], message({ id: String(id) }), at(0));
      const waiting = await seqs();
      const said = await together(
        'for (const seq of args.waiting) for (const taken of await store.inbox.begin([seq], String(args.index))) say(taken);',
        {
          waiting,
        },
      );
      expect((said.flat() as number[]).sort((a, b) => a - b)).toEqual(waiting);
      const owners = (await rig.store.inbox.list('running')).map(({ seq, turn }) => said[Number(turn)]?.includes(seq));
      expect(owners).toEqual(waiting.map(() => true));
    });

    it('adds and begins each outgoing message once among several processes', async () => {
      const said = await together(`
        for (let i = 0; i < 30; i++) {
          const items = [{ key: i + 'a', message: { text: 'a' } }, { key: i + 'b', message: { text: 'b' } }];
          if (await store.outbox.add(${place}, items, new Date())) say('added');
          const entry = await store.outbox.find(i + 'b');
          if (await store.outbox.begin(entry.seq)) say(entry.seq);
        }`);
      expect(said.flat().filter((word) => word === 'added')).toHaveLength(30);
      const begun = said.flat().filter((word) => typeof word === 'number');
      expect(begun).toHaveLength(30);
      expect(new Set(begun).size).toBe(30);
    });

    it('loses no message, usage or choice when several processes write to one conversation', async () => {
      await rig.store.conversations.session(['s'], { title: '', place: chat }, at(0));
      await together(`
        for (let i = 0; i < 25; i++) {
          await store.conversations.append(['s'], String(args.index), [i, i], new Date());
          await store.conversations.addUsage(['s'], { inputTokens: 1, outputTokens: 2, cachedTokens: 3, writtenTokens: 4, cost: 0.5 });
          await store.conversations.choose(['s'], args.index + '-' + i, i);
        }`);
      const entries = await rig.store.conversations.read(['s']);
      for (const index of processes) {
        const own = entries.filter(({ turn }) => turn === String(index)).map(({ message: number }) => number);
        expect(own).toEqual(Array.from({ length: 50 }, (_, step) => Math.floor(step / 2)));
      }
      const found = await rig.store.conversations.find(['s']);
      expect(found?.usage).toEqual({ inputTokens: 100, outputTokens: 200, cachedTokens: 300, writtenTokens: 400, cost: 50 });
      expect(Object.keys(found?.choices ?? {})).toHaveLength(100);
    });

    it('grants several processes together five guesses of a pairing code', async () => {
      const said = await together(`
        const outcomes = await Promise.all([0, 1, 2, 3].map((i) => store.pairing.approve('GUESS' + args.index + i, 'eve', 'admin', new Date())));
        for (const { kind } of outcomes) say(kind);`);
      expect(said.flat().filter((kind) => kind === 'wrong')).toHaveLength(5);
      expect(said.flat().filter((kind) => kind === 'locked')).toHaveLength(11);
    });

    it('pairs once when several processes approve the same code', async () => {
      const code = 'ABCDEFGH';
      const now = new Date();
      const expiresAt = new Date(now.getTime() + 60_000);
      await rig.store.pairing.request({ platform: 'p', person: 'ada', name: '', requestedAt: now, expiresAt }, code);
      const said = await together("say((await store.pairing.approve(args.code, String(args.index), 'user', new Date())).kind);", { code });
      expect(said.flat().sort()).toEqual(['paired', 'wrong', 'wrong', 'wrong']);
    });
  });

  describe('a killed process', () => {
    /** Everything it said before it was killed, which happens after so many lines. */
    async function killed(child: ChildProcess, afterLines: number): Promise<unknown[]> {
      let said = '';
      child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
        if (said.split('\n').length > afterLines) child.kill('SIGKILL');
      });
      await until('it is dead', () => child.signalCode === 'SIGKILL' && child.stdout?.closed);
      return said
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    }

    it('keeps resolved writes of a killed process, and of unresolved ones all or nothing', async () => {
      await rig.store.conversations.session(['s'], { title: '', place: chat }, at(0));
      for (let round = 0; round < 3; round++) {
        const child = rig.place.start(
          `for (let i = 0; ; i++) {
            const key = args.round + '-' + i;
            await store.inbox.accept(['s'], { ...${incoming}, at: new Date(), id: key }, new Date());
            await store.outbox.add(${place}, [1, 2, 3].map((part) => ({ key: key + '/' + part, message: { text: key } })), new Date());
            await store.conversations.append(['s'], key, [1, 2, 3], new Date());
            say(key);
          }`,
          { round },
        );
        const said = await killed(child, 15 + round * 3);
        const again = await rig.open();
        const stored = (await again.inbox.list('waiting')).map(({ incoming: { id } }) => id);
        expect(stored).toEqual(expect.arrayContaining(said));
        const turns = Map.groupBy(await again.conversations.read(['s']), ({ turn }) => turn);
        expect([...turns.keys()]).toEqual(expect.arrayContaining(said));
        expect([...turns.values()].every((entries) => entries.length === 3)).toBe(true);
        for (const key of stored) {
          const parts = await Promise.all([1, 2, 3].map((part) => again.outbox.find(`${key}/${part}`)));
          expect(new Set(parts.map((part) => part !== undefined)).size).toBe(1);
          if (said.includes(key)) expect(parts[0]).toMatchObject({ state: 'waiting' });
        }
      }
    });

    it('lists the entries that a killed process had begun', async () => {
      for (let id = 0; id < 5; id++) await rig.store.inbox.accept(['s'], message({ id: String(id) }), at(0));
      const waiting = await seqs();
      const child = rig.place.start(
        "say(await store.inbox.begin(args.waiting.slice(0, 2), 't')); setInterval(() => {}, 1000); await new Promise(() => {});",
        {
          waiting,
        },
      );
      await killed(child, 1);
      const running = await rig.store.inbox.list('running');
      expect(running.map(({ seq, turn }) => [seq, turn])).toEqual(waiting.slice(0, 2).map((seq) => [seq, 't']));
      await rig.store.inbox.release('t');
      expect(await seqs()).toEqual(waiting);
    });
  });
}
