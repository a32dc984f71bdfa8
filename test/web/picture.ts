import { mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** The pictures of the documents, each of a real gateway. `HERMETIC_WEB_PICTURES=docs/images` takes them anew. */
export const pictures = ['web-chat.png', 'web-page.png'] as const;

export async function takePicture(page: Page, name: (typeof pictures)[number]): Promise<void> {
  const directory = process.env.HERMETIC_WEB_PICTURES ?? mkdtempSync(join(tmpdir(), 'hermetic-pictures-'));
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name);
  await page.screenshot({ path });
  expect(statSync(path).size).toBeGreaterThan(1000);
}
