import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { until } from '../until.ts';
import { barriers } from './axe.ts';
import { messages, say } from './chat.ts';
import { describeInChromium, type WebRig } from './chromium.ts';
import { addSecret, openSecrets, secretsPanel } from './secrets-panel.ts';

const phone: BrowserContextOptions = { viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true };
const looks: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['light on a phone', { ...phone, colorScheme: 'light' }],
  ['dark on a phone', { ...phone, colorScheme: 'dark' }],
];

const menu = (page: Page) => page.getByRole('button', { name: 'Sessions', exact: true });

/** The state of the page, and how to get there from the one before. */
const states: readonly (readonly [string, (page: Page, rig: WebRig) => Promise<unknown>])[] = [
  ['a new session', async (page) => await page.getByText('What shall we do?').waitFor()],
  [
    'an answer with headings, a table and code',
    async (page) => {
      await say(page, 'stream something');
      await page.getByText('is harmless.').waitFor();
      await page.getByRole('button', { name: 'Send' }).waitFor();
    },
  ],
  ['a message under the pointer', async (page) => await messages(page).last().hover()],
  ['the conversation with the focus', async (page) => await page.locator('.scroller').focus()],
  [
    'a running tool',
    async (page) => {
      await say(page, 'tool and wait');
      await page.getByText('waiting for a free sandbox').waitFor();
    },
  ],
  [
    'a tool that is done, and opened',
    async (page) => {
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('group', { name: 'terminal: done' }).getByRole('button').click();
    },
  ],
  [
    'a second tool',
    async (page) => {
      await say(page, 'tool please');
      await until('two are done', async () => (await page.getByRole('group', { name: 'terminal: done' }).count()) === 2);
    },
  ],
  [
    'a tool that failed',
    async (page) => {
      await say(page, 'tool that fails');
      await page.getByRole('group', { name: 'terminal: failed, exit code 56' }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    },
  ],
  [
    'a file',
    async (page) => {
      await say(page, 'file please');
      await page.getByRole('link', { name: 'report.csv' }).waitFor();
    },
  ],
  [
    'a file that is to be sent',
    async (page) => {
      await page.locator('input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
      await page.getByText('5 B').waitFor();
    },
  ],
  [
    'a question',
    async (page) => {
      await say(page, 'ask me');
      await page.getByRole('button', { name: 'Allow once' }).waitFor();
    },
  ],
  [
    'a long question',
    async (page) => {
      await say(page, 'ask me at length');
      await page.getByText('echo step 300').last().waitFor();
    },
  ],
  [
    'the list of sessions',
    async (page) => {
      if (await menu(page).isVisible()) await menu(page).click();
      await page.getByRole('navigation').getByRole('button', { name: 'stream something' }).first().hover();
    },
  ],
  [
    'a search that finds nothing',
    async (page) => {
      await page.getByRole('searchbox', { name: 'Search sessions' }).fill('nothing has this title');
      await page.getByText('No session has these words in its title.').waitFor();
    },
  ],
  [
    'the status',
    async (page) => {
      await page.getByRole('searchbox', { name: 'Search sessions' }).fill('');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'bubblewrap · proven' }).click();
      await page.getByRole('dialog').getByText('held, 2 minutes ago').waitFor();
    },
  ],
  [
    'the secrets',
    async (page) => {
      await page.keyboard.press('Escape');
      await openSecrets(page);
    },
  ],
  [
    'a secret that was refused',
    async (page) => {
      await addSecret(page, { name: 'MY-TOKEN', hosts: 'a.example', value: 'a-value-of-16-signs' });
      await secretsPanel(page).getByRole('alert').waitFor();
    },
  ],
  [
    'a secret',
    async (page) => {
      await secretsPanel(page).getByLabel('Name', { exact: true }).fill(`TOKEN_${Date.now()}`);
      await secretsPanel(page).getByLabel('Value', { exact: true }).fill('a-value-of-16-signs');
      await secretsPanel(page).getByRole('button', { name: 'Save' }).click();
      await secretsPanel(page).getByText('Sessions use it from the next command on.').waitFor();
    },
  ],
  [
    'a panel while the gateway is gone',
    async (page, rig) => {
      await rig.killGateway();
      await page.getByRole('dialog').getByText('The gateway does not answer.').waitFor();
    },
  ],
  [
    'a session while the gateway is gone',
    async (page) => {
      await page.keyboard.press('Escape');
      await say(page, 'meanwhile');
      await page.getByText('Sending…').waitFor();
    },
  ],
  [
    'an unknown session',
    async (page, rig) => {
      await rig.startGateway();
      await page.getByText('Connected').waitFor({ state: 'attached' });
      await page.goto(`${rig.url}#/chats/unknown`);
      await page.getByText('This session does not exist any more.').waitFor();
    },
  ],
  [
    'the page for the token',
    async (page) => {
      if (await menu(page).isVisible()) await menu(page).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('Token').waitFor();
    },
  ],
  [
    'a wrong token',
    async (page) => {
      await page.getByLabel('Token').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('This is not the token.').waitFor();
    },
  ],
];

describeInChromium('the page for all people', (rig) => {
  afterEach(async () => {
    await rig.killGateway();
    await rig.startGateway();
  });

  it.each(looks)('has no serious and no moderate barrier in any state: %s', async (_, look) => {
    const page = await rig.signedIn(look);
    const found: string[] = [];
    for (const [state, reach] of states) {
      await reach(page, rig);
      found.push(...(await barriers(page)).map((barrier) => `${state}: ${barrier}`));
    }
    expect(found).toEqual([]);
  });

  it('headings of an answer leave no level out, also where the answer does', async () => {
    const page = await rig.signedIn();
    await say(page, 'headings: #### deep\n## less\n##### far below\n# top\n> ### quoted\n- ## in a list');
    const heads = messages(page).last().locator(':is(h1, h2, h3, h4, h5, h6)');
    await heads.last().waitFor();
    expect(await heads.evaluateAll((all) => all.map((one) => `${one.tagName} ${one.textContent}`))).toEqual([
      'H2 deep',
      'H2 less',
      'H3 far below',
      'H2 top',
      'H3 quoted',
      'H3 in a list',
    ]);
  });

  const focused = (page: Page) =>
    page.evaluate<string>('document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent');

  it('on a phone the focus moves into the list when it opens, and back when it closes; Escape and leaving it close it', async () => {
    const page = await rig.signedIn(phone);
    const list = page.getByRole('navigation', { name: 'Sessions' });
    const closed = () => until('the list is closed', async () => !(await list.isVisible()));
    await menu(page).tap();
    await until('the focus is in the list', async () => (await focused(page)) === 'New session');
    await page.keyboard.press('Escape');
    await closed();
    expect(await focused(page)).toBe('Sessions');
    await page.keyboard.press('Enter');
    await until('the focus is in the list', async () => (await focused(page)) === 'New session');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Search sessions');
    await list.getByRole('button', { name: 'Sign out' }).focus();
    await page.keyboard.press('Tab');
    await closed();
    await menu(page).tap();
    await list.getByRole('button', { name: 'Secrets' }).tap();
    await secretsPanel(page).getByRole('button', { name: 'Close' }).tap();
    await until('the focus is where it can be seen', async () => (await focused(page)) === 'Sessions');
    await menu(page).tap();
    await list.getByRole('button', { name: 'New session' }).tap();
    await closed();
    expect(await focused(page)).toBe('Sessions');
  });

  const opacity = (page: Page) => page.evaluate<string>("getComputedStyle(document.querySelector('.message time')).opacity");

  it('times of messages can be seen by touch and by keyboard', async () => {
    const touched = await rig.signedIn(phone);
    await say(touched, 'hello');
    await touched.getByText('You said: hello').waitFor();
    await until('the time is shown by touch', async () => (await opacity(touched)) === '1');
    const page = await rig.signedIn();
    await say(page, 'hello');
    await page.getByText('You said: hello').waitFor();
    expect(await opacity(page)).toBe('0');
    for (let steps = 0; steps < 10 && !(await page.evaluate('document.activeElement.matches(".scroller")')); steps++)
      await page.keyboard.press('Shift+Tab');
    await until('the time is shown by keyboard', async () => (await opacity(page)) === '1');
  });
});
