import { MessageFlags } from 'discord-api-types/v10';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel, IncomingFile } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { until } from '../../until.ts';
import { type DiscordHarness, discordHarness } from './harness.ts';

let harness: DiscordHarness;
let channel: Channel;

beforeEach(async () => {
  harness = await discordHarness();
  channel = harness.create();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const bodies = () => harness.discord.world.sent.map(({ body }) => body);

describe('what the bot says on Discord', () => {
  it('rings for nobody, and makes Discord open no address', async () => {
    const text = '@everyone @here <@1001> <@&9100> https://example.org/?secret=1';
    const id = await channel.send(harness.group, { text, replyTo: harness.userSays(harness.group, { text: 'x' }) });
    await channel.edit?.(harness.group, id, { text });
    const sent = harness.discord.calls.filter(({ method, path }) => /messages/.test(path) && method !== 'GET');
    for (const { body } of sent) {
      expect(body.allowed_mentions).toEqual({ parse: [], replied_user: false });
      expect(Number(body.flags) & MessageFlags.SuppressEmbeds).toBe(MessageFlags.SuppressEmbeds);
    }
    expect(sent).toHaveLength(2);
  });

  it.each([false, true])('is refused in one channel or everywhere, as Discord says: everywhere %s', async (isGlobal) => {
    harness.discord.fail('send', { status: 429, retryAfter: 1, isGlobal });
    const refused = { code: 'channel/busy', isOfPlace: !isGlobal };
    await expect(channel.send(harness.direct, { text: 'one' })).rejects.toMatchObject(refused);
  });

  it('is silent when it is to be', async () => {
    await channel.send(harness.direct, { text: 'status', isQuiet: true });
    expect(Number(bodies()[0]?.flags) & MessageFlags.SuppressNotifications).toBe(MessageFlags.SuppressNotifications);
  });

  it('is said once under one key, also by another program', async () => {
    const first = await channel.send(harness.direct, { text: 'once', key: 'a key' });
    const second = await harness.create().send(harness.direct, { text: 'once', key: 'a key' });
    expect(second).toBe(first);
    expect(harness.shown(harness.direct)).toHaveLength(1);
    expect(await channel.send(harness.direct, { text: 'once', key: 'another key' })).not.toBe(first);
    expect(bodies()[0]).toMatchObject({ enforce_nonce: true });
    expect(JSON.stringify(bodies())).not.toContain('a key');
  });

  it('can be taken back twice', async () => {
    const id = await channel.send(harness.direct, { text: 'status' });
    await channel.remove?.(harness.direct, id);
    await channel.remove?.(harness.direct, id);
    expect(harness.shown(harness.direct)).toEqual([]);
  });

  it.each(['../users/@me', '1/messages', 'x', '', '1?x', '123456789012345678901'])(
    'goes to no place that is not an id of Discord: %j',
    async (chat) => {
      const place = { platform: 'discord', workspace: undefined, chat, thread: undefined };
      await expect(channel.send(place, { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
      await expect(channel.edit?.(harness.direct, chat, { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
      expect(harness.discord.calls).toEqual([]);
    },
  );

  it('has a file under its name, without what could become a header', async () => {
    await channel.send(harness.direct, { text: 'see', file: { name: 'a"\r\nX: y.txt', data: Buffer.from('content') } });
    const [shown] = harness.shown(harness.direct);
    expect(String(Buffer.from(shown?.file?.data ?? []))).toBe('content');
    expect(shown?.file?.name).not.toMatch(/["\r\n]/);
  });

  it('refuses a file that is too large without sending it', async () => {
    const file = { name: 'a', data: new Uint8Array(channel.traits.maxFileBytes + 1) };
    await expect(channel.send(harness.direct, { text: 'x', file })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.discord.calls).toEqual([]);
  });
});

describe('files on Discord', () => {
  const received = async (): Promise<IncomingFile> => {
    const accepted = new Accepted();
    await channel.start(accepted.accept);
    harness.userSays(harness.direct, { text: 'look', file: { name: 'a.txt', data: Buffer.from('content') } });
    const [file] = (await accepted.message()).files;
    if (!file) throw new Error('no file');
    return file;
  };

  it.each([
    'http://169.254.169.254/latest/meta-data',
    'https://cdn.discordapp.com.evil.example/a',
    'https://cdn.discordapp.com@127.0.0.1/a',
    'http://cdn.discordapp.com/a',
    'file:///etc/passwd',
    'not an address',
  ])('are not fetched from %s', async (url) => {
    const file = await received();
    const message = await until('it is there', () =>
      [...harness.discord.world.messages.values()].find(({ attachments }) => attachments.length),
    );
    for (const attachment of message.attachments) attachment.url = url;
    await expect(channel.fetchFile(file, 100)).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('that are gone are refused', async () => {
    const file = await received();
    for (const message of harness.discord.world.messages.values()) message.attachments = [];
    await expect(channel.fetchFile(file, 100)).rejects.toMatchObject({ code: 'channel/refused', message: 'The file is gone.' });
  });
});
