import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel, IncomingFile } from '../../../src/core/channel.ts';
import { ada, FakeBotApi } from '../../fakes/bot-api.ts';
import { forumId, groupId, placeOf, type TelegramHarness, telegramHarness, topic } from './harness.ts';

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
let harness: TelegramHarness;
let channel: Channel;

beforeEach(async () => {
  harness = await telegramHarness();
  channel = harness.create();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

describe('messages', () => {
  it('sends a message as HTML without a link preview', async () => {
    await channel.send(harness.direct, { text: '**bold** [link](https://example.org/?secret=1)' });
    expect(harness.api.callsOf('sendMessage')[0]?.parameters).toMatchObject({
      chat_id: ada.id,
      text: '<b>bold</b> <a href="https://example.org/?secret=1">link</a>',
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    });
  });

  it('replaces half a character, which Telegram would refuse', async () => {
    await channel.send(harness.direct, { text: 'a\ud83db **c\ude00**' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'a\ufffdb c\ufffd' }]);
    await channel.edit?.(harness.direct, harness.shown(harness.direct)[0]?.id ?? '', { text: 'd\ud83d' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'd\ufffd' }]);
  });

  it('sends and edits a message as plain text when Telegram cannot parse its HTML', async () => {
    harness.api.fail('sendMessage', { status: 400, description: "Bad Request: can't parse entities: Unsupported start tag" });
    await channel.send(harness.direct, { text: '**bold**' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: '**bold**' }]);
    const id = harness.shown(harness.direct)[0]?.id ?? '';
    harness.api.fail('editMessageText', { status: 400, description: "Bad Request: can't parse entities: Unsupported start tag" });
    await channel.edit?.(harness.direct, id, { text: '*other*' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: '*other*' }]);
  });

  it('sends messages and typing signs into the topic', async () => {
    const place = placeOf(forumId, topic);
    await channel.send(place, { text: 'here' });
    await channel.typing?.(place);
    expect(harness.api.world.sent).toMatchObject([{ chat: forumId, thread: topic, text: 'here' }]);
    expect(harness.api.world.typing).toEqual([{ chat: forumId, thread: topic }]);
    await expect(channel.send(placeOf(forumId, 99), { text: 'gone' })).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('follows a group that became a supergroup, also with the next message', async () => {
    const old = harness.api.world.group(-77);
    old.migratedTo = groupId;
    await channel.send(placeOf(-77), { text: '**one**' });
    await channel.send(placeOf(-77), { text: 'two' });
    expect(harness.shown(harness.group)).toMatchObject([{ text: 'one' }, { text: 'two' }]);
    expect(harness.api.callsOf('sendMessage').map(({ parameters }) => parameters.chat_id)).toEqual([-77, groupId, groupId]);
  });

  it.each([
    ['was blocked', 403, 'Forbidden: bot was blocked by the user'],
    ['was removed from the group', 403, 'Forbidden: bot was kicked from the supergroup chat'],
    ['may not write there', 400, 'Bad Request: not enough rights to send text messages to the chat'],
  ])('refuses a message for good when the bot %s', async (_, status, description) => {
    const chat = harness.api.world.group(groupId);
    chat.refusal = { status, description };
    await expect(channel.send(harness.group, { text: 'x' })).rejects.toMatchObject({
      code: 'channel/refused',
      message: expect.stringContaining(description),
    });
  });

  it('refuses a message for good when the chat does not exist', async () => {
    await expect(channel.send(placeOf(31337), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('reports the channel as busy when the token is refused', async () => {
    harness.api.fail('sendMessage', { status: 401 });
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy' });
  });

  it('refuses a message with a button of more than 64 bytes, and a blank one', async () => {
    const buttons = [[{ label: 'x', data: 'é'.repeat(33) }]];
    await expect(channel.send(harness.direct, { text: 'x', buttons })).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(channel.send(harness.direct, { text: ' \n' })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.shown(harness.direct)).toEqual([]);
  });

  it("rejects with the abort's reason when sending is aborted", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    harness.api.fail('sendMessage', { after: promise });
    const given = new AbortController();
    const sending = channel.send(harness.direct, { text: 'x' }, given.signal);
    given.abort(new Error('stopped'));
    await expect(sending).rejects.toThrow('stopped');
    resolve();
  });
});

describe('files that the bot sends', () => {
  it('sends a picture as a photo', async () => {
    await channel.send(harness.direct, { text: '*plot*', file: { name: 'plot.png', data: png } });
    expect(harness.api.world.sent).toMatchObject([{ kind: 'photo', text: 'plot', file: { name: 'plot.png', data: png } }]);
  });

  it('sends a picture that Telegram refuses as a document', async () => {
    harness.api.fail('sendPhoto', { status: 400, description: 'Bad Request: PHOTO_INVALID_DIMENSIONS' });
    await channel.send(harness.direct, { text: 'plot', file: { name: 'plot.png', data: png } });
    expect(harness.api.world.sent).toMatchObject([{ kind: 'document', text: 'plot', file: { data: png } }]);
  });

  it('edits the caption of a file', async () => {
    const id = await channel.send(harness.direct, { text: 'one', file: { name: 'a.txt', data: Buffer.from('a') } });
    await channel.edit?.(harness.direct, id, { text: '**two**' });
    await channel.edit?.(harness.direct, id, { text: '**two**' });
    expect(harness.api.world.sent).toMatchObject([{ kind: 'document', versions: ['one', 'two'] }]);
  });

  it('sends a file with its reply, buttons and topic', async () => {
    const buttons = [[{ label: 'Yes', data: 'y' }]];
    const said = harness.userSays(placeOf(forumId, topic), { text: 'send it' });
    await channel.send(placeOf(forumId, topic), { text: '', replyTo: said, buttons, file: { name: 'a.txt', data: Buffer.from('a') } });
    expect(harness.api.world.sent).toMatchObject([
      { thread: topic, replyTo: Number(said), markup: { inline_keyboard: [[{ callback_data: 'y' }]] } },
    ]);
  });
});

describe('files that users send', () => {
  const of = (id: string): IncomingFile => ({ id, name: 'a', mimeType: undefined, bytes: undefined });

  function stored(data: Uint8Array, path = 'documents/file_1.txt', bytes = data.length): IncomingFile {
    harness.api.world.files.set('file-9', { path, data, bytes });
    return of('file-9');
  }

  it('refuses a file that is gone, or larger than bots may fetch', async () => {
    await expect(channel.fetchFile(of('nothing'), 100)).rejects.toMatchObject({ code: 'channel/refused' });
    const large = stored(Buffer.from('x'), 'a/b', 21 * 1024 * 1024);
    await expect(channel.fetchFile(large, 1e9)).rejects.toMatchObject({
      code: 'channel/refused',
      message: expect.stringContaining('too big'),
    });
  });

  it('refuses a file that is larger than its stated size and the limit', async () => {
    const file = stored(Buffer.alloc(100_000), 'a/b', 10);
    await expect(channel.fetchFile({ ...file, bytes: 10 }, 50_000)).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('fetches a file whose path has unusual characters', async () => {
    expect(String(await channel.fetchFile(stored(Buffer.from('x'), 'a b/c?d#é.txt'), 10))).toBe('x');
  });

  it.each(['../../secret', '/etc/passwd', 'a//b', 'a/./b'])('fetches no file from %s', async (path) => {
    await expect(channel.fetchFile(stored(Buffer.from('x'), path), 10)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.api.callsOf('download')).toEqual([]);
  });

  it('fetches a file again that arrived only in part', async () => {
    const file = stored(Buffer.alloc(200_000, 'x'));
    harness.api.fail('download', { cut: 'after' });
    await expect(channel.fetchFile(file, 1e6)).rejects.toMatchObject({ code: 'channel/busy' });
    expect(await channel.fetchFile(file, 1e6)).toHaveLength(200_000);
  });
});

describe('redirects', () => {
  it('follows no redirect, because the token is in every address', async () => {
    const elsewhere = await FakeBotApi.start();
    try {
      harness.api.world.files.set('file-9', { path: 'a/b', data: Buffer.from('x'), bytes: 1 });
      harness.api.fail('sendMessage', { location: `${elsewhere.root}/bot${elsewhere.token}/sendMessage` });
      harness.api.fail('download', { location: `${elsewhere.root}/file/bot${elsewhere.token}/a/b` });
      await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy' });
      await expect(channel.fetchFile({ id: 'file-9', name: 'a', mimeType: undefined, bytes: 1 }, 10)).rejects.toMatchObject({
        code: 'channel/busy',
      });
      expect(elsewhere.calls).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });
});
