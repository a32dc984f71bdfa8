import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { ada, bob } from '../../fakes/bot-api.ts';
import { until } from '../../until.ts';
import { type TelegramHarness, telegramChannel, telegramHarness } from './harness.ts';

let harness: TelegramHarness;
let channel: Channel;
let accepted: Accepted;

beforeEach(async () => {
  harness = await telegramHarness();
  channel = harness.create();
  accepted = new Accepted();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

async function downReason(): Promise<string> {
  return await until('it is down', () => (channel.state.kind === 'down' ? channel.state.reason : undefined));
}

describe('another reader of the same bot', () => {
  it('names another reader as the reason for being down, and recovers', async () => {
    await channel.start(accepted.accept);
    harness.api.fail('getUpdates', { status: 409 }, 2);
    harness.api.cutAll();
    await until('it is in conflict', async () => (await downReason()).includes('Another program reads'));
    harness.api.world.says({ text: 'still here' });
    expect(await accepted.message()).toMatchObject({ text: 'still here' });
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('reports a second channel with the same token, and recovers when it stops', async () => {
    await channel.start(accepted.accept);
    await until('it waits for messages', () => harness.api.callsOf('getUpdates').length > 0);
    const second = harness.create();
    const other = new Accepted();
    await second.start(other.accept);
    expect(await downReason()).toContain('Another program reads');
    harness.api.world.says({ text: 'to whoever hears it' });
    await until('it arrives', () => accepted.all.length + other.all.length > 0);
    await second.stop();
    await until('it is up', () => channel.state.kind === 'up');
    harness.api.world.says({ text: 'to whoever is left' });
    await accepted.message(({ text }) => text === 'to whoever is left');
  });

  it('logs another reader once, however often it interferes', async () => {
    await channel.start(accepted.accept);
    harness.api.trouble = ({ method, parameters }) =>
      method === 'getupdates' && Number(parameters.timeout) > 0 ? { status: 409 } : undefined;
    harness.api.cutAll();
    await until(
      'it was disturbed three times',
      () => harness.api.callsOf('getUpdates').filter(({ parameters }) => Number(parameters.timeout) > 0).length > 3,
    );
    expect(channel.state).toMatchObject({ kind: 'down', reason: expect.stringContaining('Another program reads') });
    expect(harness.log.filter((sentence) => sentence.includes('Another program reads'))).toHaveLength(1);
    harness.api.trouble = undefined;
  });

  it('removes a webhook at the start without losing waiting messages', async () => {
    harness.api.world.says({ text: 'waiting' });
    harness.api.webhook = 'https://elsewhere.example';
    await channel.start(accepted.accept);
    expect(await accepted.message()).toMatchObject({ text: 'waiting' });
    expect(harness.api.callsOf('deleteWebhook')).toMatchObject([{ parameters: { drop_pending_updates: false } }]);
  });

  it('reports a webhook that is set later, and does not remove it', async () => {
    await channel.start(accepted.accept);
    await until('it waits for messages', () => harness.api.callsOf('getUpdates').length > 0);
    harness.api.webhook = 'https://elsewhere.example';
    harness.api.cutAll();
    await until('it says so', async () => (await downReason()).includes('webhook'));
    expect(harness.api.callsOf('deleteWebhook')).toHaveLength(1);
    harness.api.webhook = '';
    await until('it is up', () => channel.state.kind === 'up');
  });
});

describe('trouble while listening', () => {
  it.each([
    ['too many requests', { status: 429, retryAfter: 0 }],
    ['a bad gateway', { status: 502 }],
    ['a page of a proxy', { status: 200, body: '<html>log in first</html>' }],
    ['a connection that is cut', { cut: 'before' }],
    ['an answer that is lost', { cut: 'after' }],
  ] as const)('recovers from trouble while listening: %s', async (_, failure) => {
    await channel.start(accepted.accept);
    harness.api.fail('getUpdates', failure, 2);
    harness.api.cutAll();
    harness.api.world.says({ text: 'through it all' });
    expect(await accepted.message()).toMatchObject({ text: 'through it all' });
    await until('it is up', () => channel.state.kind === 'up');
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.all).toHaveLength(1);
  });

  it('reports a revoked token until it works again', async () => {
    await channel.start(accepted.accept);
    harness.api.fail('getUpdates', { status: 401 }, 2);
    harness.api.cutAll();
    await until('it says so', async () => (await downReason()).includes('refuses the token'));
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('logs nothing when a connection ends once', async () => {
    await channel.start(accepted.accept);
    await until('it waits for messages', () => harness.api.callsOf('getUpdates').length === 1);
    harness.api.cutAll();
    await until('it waits again', () => harness.api.callsOf('getUpdates').length > 2);
    expect(channel.state.kind).toBe('up');
    expect(harness.log).toEqual([]);
  });

  it('reports itself as down while it cannot store messages', async () => {
    let isBroken = true;
    accepted.hold = async () => {
      if (isBroken) throw new Error('no space left');
    };
    await channel.start(accepted.accept);
    harness.api.world.says({ text: 'keep' });
    expect(await downReason()).toContain('no space left');
    expect(harness.unconfirmed()).toBe(1);
    isBroken = false;
    expect(await accepted.message()).toMatchObject({ text: 'keep' });
    await until('it is up', () => channel.state.kind === 'up');
    expect(harness.log.join('\n')).toContain('Telegram is up again.');
  });
});

describe('waiting updates', () => {
  it('accepts more waiting messages than Telegram gives at once, in order', async () => {
    const words = Array.from({ length: 250 }, (_, number) => `word ${number}`);
    for (const text of words) harness.api.world.says({ text });
    await channel.start(accepted.accept);
    await until('all are accepted', () => accepted.all.length === words.length);
    expect(accepted.texts).toEqual(words);
    await until('all are confirmed', () => harness.unconfirmed() === 0);
  });

  it('accepts an update with a lower number than before, as after a week of silence', async () => {
    await channel.start(accepted.accept);
    const message = harness.api.world.says({ text: 'the last for a week' });
    await accepted.message();
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    // The first number there is.
    harness.api.deliver({ update_id: 5, message: { ...message, message_id: 900, text: 'a week later' } as never });
    expect(await accepted.message(({ text }) => text === 'a week later')).toMatchObject({ id: '900' });
    await until('it is confirmed', () => harness.unconfirmed() === 0);
  });

  it('skips and confirms updates that are not for us', async () => {
    harness.api.push({ edited_message: { message_id: 1, date: 1, chat: { id: ada.id, type: 'private', first_name: 'Ada' } } as never });
    harness.api.push({ poll: { id: '1' } as never });
    await channel.start(accepted.accept);
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.all).toEqual([]);
  });

  it("a blocked chat does not delay the messages of other chats within Telegram's window", async () => {
    accepted.hold = ({ place }) => (place.chat === String(ada.id) ? new Promise(() => undefined) : Promise.resolve());
    await channel.start(accepted.accept);
    harness.api.world.says({ text: 'stuck' });
    const words = Array.from({ length: 98 }, (_, number) => `word ${number}`);
    for (const text of words) harness.api.world.says({ text, from: bob });
    await until('all are accepted', () => accepted.all.length === words.length);
    expect(accepted.texts).toEqual(words);
    expect(harness.unconfirmed()).toBe(99);
  });
});

describe('the menu', () => {
  const commands = [
    { name: 'run', help: 'runs a command' },
    { name: 'Not-A-Name', help: 'x' },
    { name: 'long', help: 'x'.repeat(1000) },
  ];

  it('shows the commands in the menu', async () => {
    const withMenu = telegramChannel(harness.api, () => undefined, harness.api.token, commands);
    await withMenu.start(accepted.accept);
    await until('it is set', () => harness.api.world.commands.length > 0);
    await withMenu.stop();
    expect(harness.api.world.commands).toEqual([
      { command: 'run', description: 'runs a command' },
      { command: 'long', description: 'x'.repeat(256) },
    ]);
  });

  it('listens although the menu cannot be set', async () => {
    harness.api.fail('setMyCommands', { status: 400 });
    const withMenu = telegramChannel(harness.api, () => undefined, harness.api.token, commands);
    await withMenu.start(accepted.accept);
    harness.api.world.says({ text: 'hello' });
    await accepted.message();
    await withMenu.stop();
    expect(harness.api.world.commands).toEqual([]);
  });
});

describe('a token', () => {
  it.each(['', 'not a token', '123', '123:abc/../getMe', '123:abc\n'])('does not try a malformed token: %j', async (token) => {
    const wrong = telegramChannel(harness.api, () => undefined, token);
    await expect(wrong.start(accepted.accept)).rejects.toMatchObject({ code: 'channel/unusable' });
    await expect(wrong.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/unusable' });
    await wrong.typing?.(harness.direct);
    expect(harness.api.calls).toEqual([]);
  });
});
