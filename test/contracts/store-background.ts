import { describe, expect, it } from 'vitest';
import type { WatchedProcess } from '../../src/core/background.ts';
import { at, chat, hostileTexts, type StorePlace, storeRig } from './store-rig.ts';

const watched = (process: string, more: Partial<WatchedProcess> = {}): WatchedProcess => ({
  session: ['session', 'fake'],
  process,
  command: 'make',
  patterns: ['done'],
  place: chat,
  isDirect: true,
  from: { id: '1', name: 'Ada' },
  role: 'user',
  survives: false,
  startedAt: at(0),
  ...more,
});

/** Every promise of `BackgroundLedger`, for any database. */
export function backgroundContract(newPlace: () => StorePlace): void {
  const rig = storeRig(newPlace);

  describe('the background ledger', () => {
    it('lists background processes by age after the store is reopened', async () => {
      await rig.store.background.add(watched('b', { startedAt: at(2) }));
      await rig.store.background.add(watched('a', { startedAt: at(1), role: 'admin', survives: true }));
      const again = (await rig.open()).background;
      expect(await again.list()).toStrictEqual([
        watched('a', { startedAt: at(1), role: 'admin', survives: true }),
        watched('b', { startedAt: at(2) }),
      ]);
    });

    it('keeps one entry for each session and name, and removes only that one', async () => {
      await rig.store.background.add(watched('a'));
      await rig.store.background.add(watched('a', { command: 'test' }));
      await rig.store.background.add(watched('a', { session: ['session', 'other'] }));
      await rig.store.background.remove(['session', 'other'], 'a');
      await rig.store.background.remove(['session', 'fake'], 'nothing');
      expect(await rig.store.background.list()).toStrictEqual([watched('a', { command: 'test' })]);
    });

    it('stores any text in an entry for a background process', async () => {
      for (const text of hostileTexts) {
        await rig.store.background.add(watched(text, { session: [text], command: text, from: { id: text, name: text } }));
        expect(await rig.store.background.list()).toMatchObject([{ process: text, session: [text], command: text }]);
        await rig.store.background.remove([text], text);
      }
    });
  });
}
