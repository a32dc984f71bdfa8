import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { failStorage, textsOnce } from '../../contracts/channel-unstored.ts';
import { collectGarbage } from '../../garbage.ts';
import { until } from '../../until.ts';
import { type DiscordHarness, discordHarness } from './harness.ts';

let harness: DiscordHarness;
let channel: Channel;
let accepted: Accepted;

beforeEach(async () => {
  harness = await discordHarness();
  channel = harness.create();
  accepted = new Accepted();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const count = 3_000;
/** One for all messages at the server, and one for each in a program that keeps them. */
const embeds = [{ description: 'x'.repeat(40_000) }];
const texts = Array.from({ length: count }, (_, number) => `message ${number}`);

async function sayAll(): Promise<void> {
  const { world } = harness.discord;
  for (const [number, content] of texts.entries()) {
    world.says({ channel: harness.direct.chat, content, more: { embeds } });
    if (number % 20 === 0) await turn();
  }
}

const heldBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

describe('messages of Discord while the database cannot be written', () => {
  it('holds a bounded number in memory, and leaves the next ones at Discord until there is room', async () => {
    await channel.start(accepted.accept);
    const before = heldBytes();
    const storage = failStorage(accepted);
    await sayAll();
    await until('it has left the connection', () => harness.discord.gateway.connected === 0);
    expect(harness.log.filter((line) => line.includes('wait to be stored'))).toHaveLength(1);
    expect(heldBytes() - before).toBeLessThan(80e6);
    storage.works();
    await until('all are accepted', () => accepted.messages.length >= count);
    expect(textsOnce(accepted)).toEqual(texts);
    expect(harness.discord.gateway.received.filter(({ op }) => op === 2)).toHaveLength(1);
  });

  it('reads what was left at Discord when the session cannot be resumed', async () => {
    await channel.start(accepted.accept);
    const storage = failStorage(accepted);
    await sayAll();
    await until('it has left the connection', () => harness.discord.gateway.connected === 0);
    harness.discord.gateway.forgetSessions();
    storage.works();
    await until('all are accepted', () => new Set(accepted.texts).size === count);
    expect(textsOnce(accepted)).toEqual(texts);
  });
});
