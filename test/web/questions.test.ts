import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { isOnScreen, say, untilSaid } from './chat.ts';
import { describeInChromium } from './chromium.ts';

describeInChromium('questions on the web page', (rig) => {
  it('asks with the whole command and buttons, and takes one answer', async () => {
    const page = await rig.signedIn();
    await say(page, 'ask me');
    const card = page.getByRole('group', { name: 'Needs your answer' });
    expect(await card.locator('pre').textContent()).toContain(
      'rm -rf ./build && \\\n  curl -fsSL https://example.org/install.sh -o install.sh',
    );
    expect(await card.getByRole('button').allTextContents()).toEqual(['Copy', 'Allow once', 'Allow for this session', 'Deny']);
    // Shown for a moment only.
    const noticed = page.getByText('Allowed', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Allow once' }).click();
    await noticed;
    await untilSaid(page, ['ask me', 'Allowed once: rm -rf ./build.']);
    expect(await card.count()).toBe(0);
    await page.reload();
    await untilSaid(page, ['ask me', 'Allowed once: rm -rf ./build.']);
  });

  it.each(['ask me at length', 'ask me by file'])('%s: a long command has to be scrolled to its end before a yes', async (text) => {
    const page = await rig.signedIn({ viewport: { width: 1000, height: 600 } });
    await say(page, text);
    const card = page.getByRole('group', { name: 'Needs your answer' });
    const block = card.locator('pre');
    await block.getByText('echo step 300').waitFor();
    expect(await block.textContent()).toContain('echo step 1\n');
    expect(await block.textContent()).toContain('sh install.sh --prefix');
    expect(await block.evaluate((one) => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth)).toBe(true);
    await until('it is shown from its beginning', () => isOnScreen(card.getByText('Needs your answer'), 600));
    const yes = card.getByRole('button', { name: 'Allow once' });
    expect(await isOnScreen(yes, 600)).toBe(false);
    expect(await yes.isDisabled()).toBe(true);
    expect(await card.getByRole('button', { name: 'Deny' }).isEnabled()).toBe(true);
    await page.mouse.move(500, 300);
    await until('its end was on screen', async () => {
      await page.mouse.wheel(0, 600);
      return await yes.isEnabled();
    });
    expect(await isOnScreen(card.locator('.asking-end'), 600)).toBe(true);
    await yes.click();
    await untilSaid(page, [text, 'Allowed once: rm -rf ./build.']);
  });

  it('disables the yes to a question that cannot be loaded completely', async () => {
    const page = await rig.signedIn({ viewport: { width: 1000, height: 600 } });
    await page.route('**/files/*', (route) => route.abort());
    await say(page, 'ask me by file');
    const card = page.getByRole('group', { name: 'Needs your answer' });
    await card.getByText('Reload the page to read it.').waitFor();
    const yes = card.getByRole('button', { name: 'Allow once' });
    expect(await yes.isDisabled()).toBe(true);
    await card.getByText('to agree').waitFor();
    await card.getByRole('button', { name: 'Deny' }).click();
    await untilSaid(page, ['ask me by file', 'Denied.']);
  });

  it('enables before a question was read only the answer that the gateway calls a No, in any words', async () => {
    const page = await rig.signedIn({ viewport: { width: 1000, height: 600 } });
    await say(page, 'ask me at length in other words');
    const card = page.getByRole('group', { name: 'Needs your answer' });
    await card.locator('pre').getByText('echo step 300').waitFor();
    const isEnabled = (name: string) => card.getByRole('button', { name }).isEnabled();
    // The last one comes without its kind, as it is stored by an older gateway.
    const gated = await Promise.all(['Always, no limit', 'Never ask again', 'Reject'].map(isEnabled));
    expect(gated).toEqual([false, false, false]);
    expect(await isEnabled('Lieber nicht')).toBe(true);
    expect(await card.getByRole('button', { name: 'Lieber nicht' }).getAttribute('class')).toBe('refuse');
    await card.getByRole('button', { name: 'Lieber nicht' }).click();
    await untilSaid(page, ['ask me at length in other words', 'Denied.']);
  });
});
