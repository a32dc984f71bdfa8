import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { describeInChromium } from './chromium.ts';

describeInChromium('signed-in browsers on the web page', (rig) => {
  it('shows each browser, and signs out another one, whose page says so at once', async () => {
    const [desk, phone] = [await rig.signedIn(), await rig.signedIn()];
    await phone.getByLabel('Message', { exact: true }).fill('hello');
    await phone.keyboard.press('Enter');
    await phone.getByText('hello').first().waitFor();
    await desk.getByRole('button', { name: 'Browsers' }).click();
    const panel = desk.getByRole('dialog', { name: 'Browsers' });
    const list = panel.getByRole('list', { name: 'Signed-in browsers' });
    await until('both are listed', async () => (await list.getByRole('listitem').count()) === 2);
    expect(await list.getByText('This browser').count()).toBe(1);
    expect(await list.textContent()).toMatch(/Chrome \d+ on Linux/);
    await list.getByRole('listitem').filter({ hasNotText: 'This browser' }).getByRole('button').click();
    await panel.getByRole('status').getByText('is signed out.').waitFor();
    await until('one is left', async () => (await list.getByRole('listitem').count()) === 1);
    await phone.getByLabel('Token').waitFor();

    await list.getByRole('button').click();
    await desk.getByLabel('Token').waitFor();
  });
});
