import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { describeInChromium } from './chromium.ts';
import { addSecret, openSecrets, secretsPanel } from './secrets-panel.ts';

const value = 'ghp_valueOfThePage0123456789012345678901';

/** All that the page keeps, shows or has in its fields. */
async function everythingIn(page: Page): Promise<string> {
  return String(
    await page.evaluate(`[location.href, document.documentElement.outerHTML, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }),
      JSON.stringify(history.state), ...[...document.querySelectorAll('input, textarea')].map(({ value }) => value)].join('\\n')`),
  );
}

describeInChromium('secrets on the web page', (rig) => {
  const dotenv = (): string => readFileSync(join(rig.home, '.env'), 'utf8');
  const config = (): string => readFileSync(join(rig.home, 'config.yaml'), 'utf8');

  it('adds a secret, changes its hosts and its value, and removes it after a confirmation', async () => {
    const page = await rig.signedIn();
    await openSecrets(page);
    const panel = secretsPanel(page);
    await panel.getByText('No secret is bound to hosts yet.').waitFor();
    await addSecret(page, { name: 'GITHUB_TOKEN', hosts: 'github.com,\napi.github.com:8443', value });
    const done = panel.getByRole('status');
    await done.getByText('Sessions use it from the next command on.').waitFor();
    expect(await done.textContent()).toContain('GITHUB_TOKEN is stored and bound to github.com, api.github.com:8443.');
    expect(dotenv()).toContain(`GITHUB_TOKEN=${value}\n`);
    expect(await panel.getByRole('listitem').textContent()).toMatch(/^GITHUB_TOKENgithub\.com, api\.github\.com:8443Value stored/);

    await panel.getByRole('button', { name: 'Edit GITHUB_TOKEN' }).click();
    await panel.getByLabel('Hosts', { exact: true }).fill('github.com');
    await panel.getByRole('button', { name: 'Save' }).click();
    await done.getByText('GITHUB_TOKEN is bound to github.com.').waitFor();
    expect(dotenv()).toContain(`GITHUB_TOKEN=${value}\n`);
    await panel.getByRole('button', { name: 'Edit GITHUB_TOKEN' }).click();
    await panel.getByLabel('Value', { exact: true }).fill(`${value}-new`);
    await panel.getByRole('button', { name: 'Save' }).click();
    await done.getByText('GITHUB_TOKEN is replaced').waitFor();
    expect(dotenv()).toContain(`GITHUB_TOKEN=${value}-new\n`);

    await panel.getByRole('button', { name: 'Remove GITHUB_TOKEN' }).click();
    const removal = panel.getByRole('group', { name: 'Remove GITHUB_TOKEN, with its value?' });
    await removal.getByRole('button', { name: 'Keep' }).click();
    expect(dotenv()).toContain(value);
    await panel.getByRole('button', { name: 'Remove GITHUB_TOKEN' }).click();
    await removal.getByRole('button', { name: 'Remove' }).click();
    await panel.getByText('No secret is bound to hosts yet.').waitFor();
    expect(await done.textContent()).toContain('GITHUB_TOKEN is removed.');
    expect(dotenv() + config()).not.toContain('GITHUB_TOKEN');
  });

  it('keeps no value on the page, in its storage or its address, and shows a masked field', async () => {
    const page = await rig.signedIn();
    await openSecrets(page);
    const panel = secretsPanel(page);
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await addSecret(page, { name: 'HIDDEN', hosts: '*.example.com', value });
    await panel.getByRole('alert').waitFor();
    expect(await everythingIn(page)).not.toContain(value);
    const field = panel.getByLabel('Value', { exact: true });
    expect(await field.getAttribute('type')).toBe('password');
    expect(await field.getAttribute('autocomplete')).toBe('new-password');
    expect(await panel.getByRole('form').getAttribute('autocomplete')).toBe('off');
    await panel.getByText('The value was not saved. Enter it again.').waitFor();
    await panel.getByLabel('Hosts', { exact: true }).fill('a.example.com');
    await field.fill(value);
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('HIDDEN is stored').waitFor();
    expect(await everythingIn(page)).not.toContain(value);
    expect(urls.length).toBeGreaterThan(1);
    expect(urls.join('\n')).not.toContain(value);
    await page.reload();
    await openSecrets(page);
    await panel.getByText('HIDDEN').first().waitFor();
    expect(await everythingIn(page)).not.toContain(value);
  });

  it.each([
    ['a name', { name: 'MY-TOKEN' }, 'The name of a secret consists of letters, digits and underscores, and begins with no digit.'],
    ['a setting', { name: 'TERMINAL_ENV' }, 'TERMINAL_ENV is not a secret: Hermetic reads it as a setting.'],
    ['a host', { hosts: 'https://a.example/' }, 'is a URL. Write only its host'],
    ['a value', { value: 'short' }, 'The value cannot be bound to hosts: it is shorter than 8 characters. Nothing was changed.'],
  ])('shows why %s is refused, and lets it be corrected', async (_, entry, message) => {
    const page = await rig.signedIn();
    await openSecrets(page);
    const panel = secretsPanel(page);
    await addSecret(page, { name: 'MY_TOKEN', hosts: 'a.example', value, ...entry });
    await panel.getByRole('alert').getByText(message).waitFor();
    expect(await panel.getByRole('button', { name: 'Save' }).isEnabled()).toBe(true);
    expect(dotenv()).not.toContain('MY_TOKEN=');
  });

  it('works by keyboard, and puts the focus where work goes on', async () => {
    const page = await rig.signedIn();
    const focused = async (): Promise<string> =>
      String(await page.evaluate('document.activeElement?.labels?.[0]?.firstChild?.textContent ?? document.activeElement?.textContent'));
    await page.getByRole('button', { name: 'Secrets' }).focus();
    await page.keyboard.press('Enter');
    const panel = secretsPanel(page);
    await panel.getByRole('button', { name: 'Add a secret' }).focus();
    await page.keyboard.press('Enter');
    await until('the name has the focus', async () => (await focused()) === 'Name');
    await page.keyboard.type('BY_KEYBOARD');
    await page.keyboard.press('Tab');
    await page.keyboard.type('a.example');
    await page.keyboard.press('Tab');
    await page.keyboard.type(value);
    await page.keyboard.press('Enter');
    await panel.getByText('BY_KEYBOARD is stored').waitFor();
    await until('the focus is on the button below', async () => (await focused()) === 'Add a secret');
    await panel.getByRole('button', { name: 'Remove BY_KEYBOARD' }).focus();
    await page.keyboard.press('Enter');
    await until('Keep has the focus, so that Enter removes nothing', async () => (await focused()) === 'Keep');
    await page.keyboard.press('Escape');
    await until('the panel is closed', async () => (await panel.count()) === 0);
    expect(dotenv()).toContain('BY_KEYBOARD=');
  });

  it('fits a phone, also with long names and many hosts', async () => {
    const width = 360;
    const page = await rig.signedIn({ viewport: { width, height: 640 } });
    await openSecrets(page);
    const panel = secretsPanel(page);
    const hosts = Array.from({ length: 8 }, (_, at) => `a-rather-long-name-of-a-host-${at}.of-a-rather-long-domain.example`);
    await addSecret(page, { name: `A_${'VERY_'.repeat(12)}LONG_NAME`, hosts: hosts.join('\n'), value });
    await panel.getByText('Sessions use it from the next command on.').waitFor();
    await panel.getByRole('button', { name: /^Edit A_VERY/ }).click();
    const widths = await panel.evaluate((one) => [one.scrollWidth, one.clientWidth, one.getBoundingClientRect().right]);
    expect(widths[0]).toBeLessThanOrEqual(widths[1] ?? 0);
    expect(widths[2]).toBeLessThanOrEqual(width);
    const save = panel.getByRole('button', { name: 'Save' });
    await save.scrollIntoViewIfNeeded();
    expect((await save.boundingBox())?.height).toBeGreaterThanOrEqual(32);
  });
});
