import type { Locator, Page } from 'playwright-core';

export function secretsPanel(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Secrets' });
}

/** On a phone the button is behind the menu. */
export async function openSecrets(page: Page): Promise<void> {
  const menu = page.getByRole('button', { name: 'Sessions', exact: true });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole('button', { name: 'Secrets', exact: true }).click();
  await secretsPanel(page).getByRole('button', { name: 'Add a secret' }).waitFor();
}

export async function addSecret(page: Page, entry: { name: string; hosts: string; value: string }): Promise<void> {
  const panel = secretsPanel(page);
  await panel.getByRole('button', { name: 'Add a secret' }).click();
  await panel.getByLabel('Name', { exact: true }).fill(entry.name);
  await panel.getByLabel('Hosts', { exact: true }).fill(entry.hosts);
  await panel.getByLabel('Value', { exact: true }).fill(entry.value);
  await panel.getByRole('button', { name: 'Save' }).click();
}
