import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { box, isWithin, messages, say, untilSaid } from './chat.ts';
import { describeInChromium } from './chromium.ts';

describeInChromium('the web page', (rig) => {
  it('the printed link opens the page once, and leaves no code in the address', async () => {
    const page = await rig.page();
    await page.goto(rig.link);
    await box(page).waitFor();
    expect(page.url()).toBe(rig.url);
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.reload();
    await page.getByText('What shall we do?').waitFor();
    const other = await rig.page();
    await other.goto(rig.link);
    await other.getByText('This link was used already, or is too old.').waitFor();
    expect(other.url()).toBe(rig.url);
  });

  it('says before everything else why nothing can be run, as long as that is so', async () => {
    const page = await rig.signedIn();
    let obstacle: string | undefined = 'Nothing can be run: no sandbox backend works here. Fix: sudo dockerd &';
    await page.route('**/api/status', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), obstacle } });
    });
    await page.reload();
    await page.getByRole('alert').filter({ hasText: obstacle }).waitFor();
    const [bar, view] = await Promise.all([page.getByRole('alert').boundingBox(), page.locator('.view').boundingBox()]);
    expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBeLessThanOrEqual(view?.y ?? 0);
    obstacle = undefined;
    await page.reload();
    await page.getByText('this session’s own sandbox').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('says where the token is, and where commands run', async () => {
    const page = await rig.page();
    await page.goto(rig.url);
    await page.getByText('web-token').waitFor();
    const where = 'Commands run on the machine of the gateway itself, without a sandbox.';
    const inside = await rig.signedIn();
    await inside.getByText('Everything runs in this session’s own sandbox.').waitFor();
    await inside.route('**/api/status', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), where } });
    });
    await inside.reload();
    await inside.getByText(where).waitFor();
    expect(await inside.getByText('this session’s own sandbox').count()).toBe(0);
  });

  it('shows times as hours and minutes, and wraps long lines', async () => {
    const page = await rig.signedIn({ locale: 'en-US' });
    await say(page, `look\n\`\`\`\n${'a long question '.repeat(40)}\n\`\`\``);
    const block = messages(page).last().locator('pre');
    await block.getByText('a long question').waitFor();
    expect(await block.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    const times = await page.locator('time').allTextContents();
    expect(times.length).toBeGreaterThan(2);
    for (const time of times) expect(time).toMatch(/^\d\d:\d\d$/);
  });

  it('shows an answer unformatted when it takes long to parse', async () => {
    const page = await rig.signedIn();
    const text = '*a_'.repeat(19_000);
    await say(page, text);
    const answer = messages(page).last().locator('.markdown.as-written');
    await answer.waitFor();
    expect(await answer.textContent()).toBe(`You said: ${text}`);
  });

  it('streams an answer, shows it as CommonMark, and renders no HTML in it', async () => {
    const page = await rig.signedIn();
    await say(page, 'stream something');
    await page.getByText('stays text & is harmless.').waitFor();
    const answer = messages(page).last();
    expect(await answer.locator('h2').textContent()).toBe('A list of what was found');
    expect(await answer.locator('td').allTextContents()).toEqual(['notes.md', '1,204', 'main.py', '310', 'large.bin', '9,000,000']);
    expect(await answer.locator('pre code').textContent()).toContain('print(name, "<b>not bold</b>")');
    expect(await answer.locator('a').getAttribute('rel')).toBe('noopener noreferrer');
    expect(await answer.locator('img, b').count()).toBe(0);
    expect(await messages(page).count()).toBe(2);
  });

  it('copies code from a message', async () => {
    const page = await rig.signedIn({ permissions: ['clipboard-read', 'clipboard-write'] });
    await say(page, 'stream something');
    await page.getByText('is harmless.').waitFor();
    // Shown for a moment only.
    const copied = page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await copied;
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^for name in sorted\(files\):\n/);
  });

  it('shows on the card of a tool what it waits for, also after the page was loaded anew', async () => {
    const page = await rig.signedIn();
    await say(page, 'tool and wait');
    const waiting = page.getByRole('group', { name: 'terminal: waiting for a free sandbox' });
    await waiting.waitFor();
    await page.reload();
    await waiting.getByText('waiting for a free sandbox').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('group', { name: 'terminal: done' }).waitFor();
    expect(await page.getByText('waiting for a free sandbox').count()).toBe(0);
  });

  it("shows a tool's output while it runs, and folds it when it is done", async () => {
    const page = await rig.signedIn();
    await say(page, 'tool please');
    const card = page.locator('.tool');
    await card.getByText('ok 12 - test number 12 passes').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('All 12 tests pass.').waitFor();
    const head = card.getByRole('button');
    expect(await head.getAttribute('aria-expanded')).toBe('false');
    expect(await card.locator('.tool-output').count()).toBe(0);
    await head.click();
    expect(await card.locator('.tool-output').textContent()).toContain('ok 12 - test number 12 passes');
    await page.reload();
    await page.getByText('All 12 tests pass.').waitFor();
    const order = page.locator('.messages > *');
    await until('the card is back', async () => (await order.count()) === 3);
    expect(await order.evaluateAll((all) => all.map((one) => one.className.split(' ')[0]))).toEqual(['message', 'tool', 'message']);
  });

  it('the Stop button stops a turn', async () => {
    const page = await rig.signedIn();
    await say(page, 'wait for me');
    const stop = page.getByRole('button', { name: 'Stop' });
    await stop.click();
    await stop.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Send' }).waitFor();
  });

  it('shows a running turn after a reload', async () => {
    const page = await rig.signedIn();
    await say(page, 'wait for me');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  });

  it('uploads files, and offers received ones for download', async () => {
    const page = await rig.signedIn();
    await page.locator('input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
    await page.getByText('5 B').waitFor();
    await say(page, 'look');
    await page.getByText('You said: look, and sent notes.txt').waitFor();
    await say(page, 'file please');
    const link = page.getByRole('link', { name: 'report.csv' });
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toBe('report.csv');
    expect(readFileSync(await download.path(), 'utf8')).toBe('a,b\n1,2\n');
  });

  it('uploads files that are dropped on the page', async () => {
    const page = await rig.signedIn();
    const data = await page.evaluateHandle(
      "(() => { const data = new DataTransfer(); data.items.add(new File(['dropped'], 'dropped.txt')); return data; })()",
    );
    await page.dispatchEvent('main', 'dragover', { dataTransfer: data });
    await page.dispatchEvent('main', 'drop', { dataTransfer: data });
    await page.getByText('7 B').waitFor();
    await box(page).press('Enter');
    await page.getByText('and sent dropped.txt').waitFor();
  });

  it('keeps sessions apart, and shows every message once after a reload', async () => {
    const page = await rig.signedIn();
    await say(page, 'the first of two');
    await untilSaid(page, ['the first of two', 'You said: the first of two']);
    await page.getByRole('button', { name: 'New session' }).first().click();
    await say(page, 'the second of two');
    await untilSaid(page, ['the second of two', 'You said: the second of two']);
    await page.reload();
    await untilSaid(page, ['the second of two', 'You said: the second of two']);
    await page.getByRole('navigation').getByRole('button', { name: 'the first of two' }).click();
    await untilSaid(page, ['the first of two', 'You said: the first of two']);
  });

  it('shows new messages in every window', async () => {
    const page = await rig.signedIn();
    await say(page, 'hello from here');
    await untilSaid(page, ['hello from here', 'You said: hello from here']);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await untilSaid(other, ['hello from here', 'You said: hello from here']);
    await say(other, 'and from there');
    const all = ['hello from here', 'You said: hello from here', 'and from there', 'You said: and from there'];
    await untilSaid(page, all);
    await untilSaid(other, all);
  });

  it('loses and duplicates no message when the gateway is killed and restarted', async () => {
    const page = await rig.signedIn();
    await say(page, 'before');
    await untilSaid(page, ['before', 'You said: before']);
    await rig.killGateway();
    await page.getByText('The gateway does not answer.').waitFor();
    await say(page, 'meanwhile');
    await page.getByText('Sending…').waitFor();
    await rig.startGateway();
    const all = ['before', 'You said: before', 'meanwhile', 'You said: meanwhile'];
    await untilSaid(page, all);
    await page.getByText('Connected').waitFor();
    await page.reload();
    await untilSaid(page, all);
  });

  it('shows finished and interrupted tools after the gateway was killed', async () => {
    const page = await rig.signedIn();
    await say(page, 'tool, before the end');
    const cards = page.locator('.tool');
    await cards.getByText('ok 12 - test number 12 passes').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('All 12 tests pass.').waitFor();
    await page.getByRole('button', { name: 'New session' }).first().click();
    await say(page, 'tool once more');
    await page.getByLabel('terminal: running').waitFor();
    await until('it is written down', async () => (await rig.calls('tool once more')).length === 1);
    await rig.killGateway();
    await rig.startGateway();
    await page.getByText('Connected').waitFor();
    await page.reload();
    await page.getByLabel('terminal: interrupted').waitFor();
    expect(await cards.getByRole('button').innerText()).toMatch(/npm test\s+interrupted/);
    await page.getByRole('navigation').getByRole('button', { name: 'tool, before the end' }).click();
    await page.getByLabel('terminal: done').waitFor();
    const order = page.locator('.messages > *');
    expect(await order.evaluateAll((all) => all.map((one) => one.className.split(' ')[0]))).toEqual(['message', 'tool', 'message']);
    await cards.getByRole('button').click();
    expect(await cards.locator('.tool-output').textContent()).toContain('ok 12 - test number 12 passes');
  });

  it('sends an unsent message after a reload', async () => {
    const page = await rig.signedIn();
    await say(page, 'before');
    await untilSaid(page, ['before', 'You said: before']);
    await page.route('**/api/chats/*/messages', (route) => (route.request().method() === 'POST' ? route.abort() : route.continue()));
    await say(page, 'never arrived');
    await page.getByText('Sending…').waitFor();
    await page.unrouteAll();
    await page.reload();
    await untilSaid(page, ['before', 'You said: before', 'never arrived', 'You said: never arrived']);
  });

  it('sends a message once whose confirmation was lost', async () => {
    const page = await rig.signedIn();
    await say(page, 'before');
    await untilSaid(page, ['before', 'You said: before']);
    let lost = 0;
    await page.route('**/api/chats/*/messages', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return await route.continue();
      lost += 1;
      await route.fetch();
      await route.abort();
    });
    await say(page, 'answered twice?');
    const all = ['before', 'You said: before', 'answered twice?', 'You said: answered twice?'];
    await untilSaid(page, all);
    await until('it is sent', async () => (await page.evaluate("localStorage.getItem('hermetic.unsent')")) === '[]');
    await page.unrouteAll({ behavior: 'wait' });
    await page.reload();
    await untilSaid(page, all);
  });

  it('Shift and Enter write a new line, and the page works by keyboard alone', async () => {
    const page = await rig.signedIn();
    await box(page).focus();
    await page.keyboard.type('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    await page.keyboard.press('Enter');
    await until('it is said', async () => (await page.locator('.typed').first().textContent()) === 'one\ntwo');
    await say(page, 'ask me');
    await page.getByRole('button', { name: 'Deny' }).waitFor();
    const focused = () => page.evaluate('document.activeElement?.textContent');
    for (let steps = 0; steps < 30 && (await focused()) !== 'Deny'; steps++) await page.keyboard.press('Shift+Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await page.getByText('Denied.').waitFor();
  });

  it('shows the status of the gateway', async () => {
    const page = await rig.signedIn();
    await page.getByRole('button', { name: 'bubblewrap · proven' }).click();
    const panel = page.getByRole('dialog', { name: 'Status' });
    await panel.getByText('down: the token is wrong').waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'bubblewrap · proven' }).click();
    await panel.getByText('down: the token is wrong').click();
    await panel.getByRole('button', { name: 'Close' }).waitFor();
    await page.mouse.click(5, 5);
    await panel.waitFor({ state: 'detached' });
  });

  it('the page signs out', async () => {
    const page = await rig.signedIn();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.reload();
    await page.getByLabel('Token').waitFor();
  });

  it('the page fits on a phone', async () => {
    const page = await rig.signedIn({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });
    await say(page, 'stream something');
    await page.getByText('is harmless.').waitFor();
    await say(page, 'ask me');
    const deny = page.getByRole('button', { name: 'Deny' });
    await deny.waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    for (const one of [deny, page.getByRole('button', { name: 'Send' }), box(page)]) expect(await isWithin(one, 360)).toBe(true);
    await page.getByRole('button', { name: 'Sessions', exact: true }).tap();
    await page.getByRole('navigation').getByRole('button', { name: 'New session' }).tap();
    await page.getByText('What shall we do?').waitFor();
    await until('the list is closed', async () => !(await page.getByRole('navigation').isVisible()));
  });
});
