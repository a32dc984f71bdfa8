import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../until.ts';

export const box = (page: Page) => page.getByLabel('Message', { exact: true });
export const messages = (page: Page) => page.locator('article.message');

export async function say(page: Page, text: string): Promise<void> {
  await box(page).fill(text);
  await box(page).press('Enter');
}

/** Every message by what it says, in order. */
async function said(page: Page): Promise<string[]> {
  return await messages(page).evaluateAll((all) =>
    all.map((one) => (one.querySelector('.typed, .markdown')?.textContent ?? '').trim().replace(/\s+/g, ' ')),
  );
}

export async function untilSaid(page: Page, expected: readonly string[]): Promise<void> {
  let last: string[] = [];
  await until(`the page says ${expected.join(' | ')}`, async () => {
    last = await said(page);
    return JSON.stringify(last) === JSON.stringify(expected);
  }).catch(async (error: unknown) => {
    const shown = await page.evaluate("[location.hash, document.querySelector('textarea')?.value, document.body.innerText].join('\\n')");
    expect(last, `${String(error)}\n${String(shown)}`).toEqual(expected);
  });
}

export const isWithin = async (inner: Locator, width: number) => {
  const place = await inner.boundingBox();
  return place !== null && place.x >= 0 && place.x + place.width <= width;
};

export const isOnScreen = async (inner: Locator, height: number) => {
  const place = await inner.boundingBox();
  return place !== null && place.y >= 0 && place.y + place.height <= height;
};
