import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { forgetHandled } from '../../../src/app/retention.ts';
import type { Incoming } from '../../../src/core/channel.ts';
import { openStore } from '../../../src/stores/index.ts';
import { ada, business } from '../../fakes/whatsapp-cloud/world.ts';
import { type WhatsAppCloudHarness, whatsAppCloudHarness } from './harness.ts';

const dayMs = 24 * 60 * 60 * 1000;
const start = Date.UTC(2026, 0, 1);

let harness: WhatsAppCloudHarness;
let directory: string;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: start });
  harness = await whatsAppCloudHarness();
  directory = mkdtempSync(join(tmpdir(), 'hermetic-replay-'));
});
afterEach(async () => {
  vi.useRealTimers();
  await harness.close();
  rmSync(directory, { recursive: true, force: true });
});

const bodyOf = (id: string, sentAt: number): string => {
  const timestamp = String(Math.floor(sentAt / 1000));
  const messages = [{ from: ada.id, id, timestamp, type: 'text', text: { body: 'do it' } }];
  const metadata = { display_phone_number: business.digits, phone_number_id: business.id };
  return harness.cloud.bodyOf([{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, messages } }]);
};

it.each([
  ['at once', 0, 0],
  ['after 7 days', 7, 0],
  ['at once where the clock is half a day slow', 0, dayMs / 2],
])('a signed body that first arrives %s and is replayed four times a day is handled once', async (_, lateDays, slowMs) => {
  const store = await openStore(join(directory, 'state.db'));
  const channel = harness.channel();
  const handledOn: number[] = [];
  let day = 0;
  await channel.start(async (incoming: Incoming) => {
    const seq = await store.inbox.accept(['ada'], incoming, new Date());
    if (seq === undefined) return;
    handledOn.push(day);
    await store.inbox.done([seq]);
  });
  const body = bodyOf('wamid.1', start + slowMs);
  for (day = lateDays; day < lateDays + 35; day += 0.25) {
    vi.setSystemTime(start + day * dayMs);
    await forgetHandled(store, (line) => expect.fail(line));
    expect((await harness.cloud.post(body)).status).toBe(200);
  }
  await channel.stop();
  await store.close();
  expect(handledOn).toEqual([lateDays]);
});

it('old messages are dropped with one line in the log, and without a word of theirs', async () => {
  const channel = harness.channel();
  const accepted: Incoming[] = [];
  await channel.start(async (incoming) => void accepted.push(incoming));
  for (const id of ['wamid.1', 'wamid.2']) expect((await harness.cloud.post(bodyOf(id, start - 60 * dayMs))).status).toBe(200);
  expect((await harness.cloud.post(bodyOf('wamid.3', start))).status).toBe(200);
  await channel.stop();
  expect(accepted.map(({ id }) => id)).toEqual(['wamid.3']);
  expect(harness.log).toEqual([expect.stringMatching(/^WhatsApp Cloud delivered a message that was sent more than \d+ days ago/)]);
  expect(harness.log[0]).not.toContain('do it');
});
