import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { until } from '../until.ts';
import { say, untilSaid } from './chat.ts';
import { describeInChromium, type WebRig } from './chromium.ts';

const count = 230;

/** Chats of long ago, the one with the highest number as the latest. */
async function addChats({ home }: WebRig): Promise<void> {
  const store = await openStore(join(home, 'state.db'));
  try {
    for (let index = 0; index < count; index++) {
      const at = new Date(Date.UTC(2020, 0, 1, 0, index));
      const chat = { id: `chat-${index}`, person: 'owner', title: `Look at ${index}`, startedAt: at, lastActiveAt: at };
      await store.webLog.createChat(chat);
      const content = {
        id: `message-${index}`,
        author: 'us',
        text: `found in ${index}`,
        buttons: [],
        replyTo: undefined,
        files: [],
      } as const;
      await store.webLog.append(chat.id, content, at);
    }
  } finally {
    await store.close();
  }
}

const title = (page: Page, index: number) => page.locator('.session-title', { hasText: new RegExp(`^Look at ${index}$`) });
const listed = (page: Page) => page.locator('.session-title').allTextContents();

describeInChromium('the list of sessions', (rig) => {
  beforeAll(() => addChats(rig));

  it('reaches every session page by page, and keeps the older ones when a new one comes', async () => {
    const page = await rig.signedIn();
    const older = page.getByRole('button', { name: 'Show older sessions' });
    await until('the first page is there', async () => (await listed(page)).length === 100);
    await older.click();
    await until('two pages are there', async () => (await listed(page)).length === 200);
    await older.click();
    await older.waitFor({ state: 'detached' });
    const expected = Array.from({ length: count }, (_, index) => `Look at ${count - 1 - index}`);
    expect(await listed(page)).toEqual(expected);
    await title(page, 0).click();
    await untilSaid(page, ['found in 0']);
    await say(page, 'hello');
    await until('it is the first of all', async () => (await listed(page))[0] === 'Look at 0');
    expect(await listed(page)).toEqual(['Look at 0', ...expected.slice(0, -1)]);
  });

  it('finds a session by words of its title, opens it, and shows its title also where it is not listed', async () => {
    const page = await rig.signedIn();
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('17 LOOK');
    await until(
      'it is found',
      async () =>
        JSON.stringify(await listed(page)) ===
        JSON.stringify(['Look at 217', ...[...Array(10).keys()].map((index) => `Look at ${179 - index}`), 'Look at 117', 'Look at 17']),
    );
    await title(page, 17).click();
    await untilSaid(page, ['found in 17']);
    await page.reload();
    await page.getByRole('heading', { name: 'Look at 17', exact: true }).waitFor();
    await until('the list is there', async () => (await listed(page)).length === 100);
    expect(await listed(page)).not.toContain('Look at 17');
  });
});
