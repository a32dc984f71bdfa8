import { Api } from 'grammy';
import { describe, expect, it } from 'vitest';
import { ada, FakeBotApi } from './bot-api.ts';
import { BotLimits } from './bot-limits.ts';
import { says, startModelServer } from './model-server.ts';

const say = (limits: BotLimits, chat: number, now: number, method = 'sendmessage') => limits.take(method, { chat_id: chat }, now);

describe('the limits of the fake Bot API', () => {
  it('a bot gets 30 calls in any second', () => {
    const limits = new BotLimits();
    const methods = ['sendmessage', 'editmessagetext', 'deletemessage', 'sendchataction', 'answercallbackquery', 'senddocument'];
    for (let call = 0; call < 30; call++) expect(say(limits, 1 + call, call * 10, methods[call % methods.length])).toBeUndefined();
    expect(say(limits, 99, 290)).toEqual({ limit: 'bot', retryAfter: 1 });
    expect(say(limits, 99, 999)).toEqual({ limit: 'bot', retryAfter: 1 });
    expect(say(limits, 99, 1000)).toBeUndefined();
    expect(say(limits, 99, 1009)).toEqual({ limit: 'bot', retryAfter: 1 });
    expect(say(limits, 99, 1010)).toBeUndefined();
  });

  it('asking for updates and setting up the bot count for nothing', () => {
    const limits = new BotLimits();
    const methods = ['getupdates', 'getme', 'getfile', 'setmycommands', 'deletemycommands', 'deletewebhook', 'getwebhookinfo', 'download'];
    for (let call = 0; call < 100; call++) for (const method of methods) expect(limits.take(method, {}, 0)).toBeUndefined();
    expect(say(limits, 1, 0)).toBeUndefined();
  });

  it('a private chat takes a burst of 20 messages and edits, and then one a second', () => {
    const limits = new BotLimits();
    for (let call = 0; call < 20; call++) expect(say(limits, 1, 0, call % 2 ? 'sendmessage' : 'editmessagetext')).toBeUndefined();
    expect(say(limits, 1, 0)).toEqual({ limit: 'private chat', retryAfter: 1 });
    expect(say(limits, 2, 0)).toBeUndefined();
    for (const method of ['sendchataction', 'deletemessage', 'answercallbackquery']) expect(say(limits, 1, 0, method)).toBeUndefined();
    expect(say(limits, 1, 999)).toMatchObject({ limit: 'private chat' });
    expect(say(limits, 1, 1000)).toBeUndefined();
    expect(say(limits, 1, 1000)).toMatchObject({ limit: 'private chat' });
    for (let second = 2; second < 100; second++) expect(say(limits, 1, second * 1000)).toBeUndefined();
    for (let call = 0; call < 20; call++) expect(say(limits, 1, 200_000)).toBeUndefined();
    expect(say(limits, 1, 200_000)).toMatchObject({ limit: 'private chat' });
  });

  it('a group takes 20 messages and edits in any minute', () => {
    const limits = new BotLimits();
    for (let call = 0; call < 20; call++) expect(say(limits, -7, call * 1000)).toBeUndefined();
    expect(say(limits, -7, 20_000)).toEqual({ limit: 'group', retryAfter: 40 });
    expect(say(limits, -7, 20_000, 'editmessagetext')).toEqual({ limit: 'group', retryAfter: 40 });
    expect(say(limits, -7, 20_000, 'sendchataction')).toBeUndefined();
    expect(say(limits, -8, 20_000)).toBeUndefined();
    expect(say(limits, -7, 60_000)).toBeUndefined();
    expect(say(limits, -7, 60_000)).toEqual({ limit: 'group', retryAfter: 1 });
  });

  it('a refused call counts for nothing', () => {
    const limits = new BotLimits();
    for (let call = 0; call < 20; call++) say(limits, 1, 0);
    for (let call = 0; call < 50; call++) expect(say(limits, 1, 10)).toMatchObject({ limit: 'private chat' });
    for (let call = 0; call < 10; call++) expect(say(limits, 2, 20)).toBeUndefined();
    expect(say(limits, 2, 20)).toMatchObject({ limit: 'bot' });
    expect(say(limits, 1, 1000)).toBeUndefined();
  });

  it('remembers no chat that has been quiet for some minutes', () => {
    const limits = new BotLimits();
    for (let second = 0; second < 10_000; second++) {
      say(limits, 1 + second, second * 1000);
      say(limits, -1 - second, second * 1000);
      expect(limits.chatCount).toBeLessThan(300);
    }
  });

  it('the server answers 429 and keeps what it refused', async () => {
    const fake = await FakeBotApi.start();
    try {
      fake.world.privateChat(ada);
      fake.limits = new BotLimits();
      const api = new Api(fake.token, { apiRoot: fake.root });
      for (let call = 0; call < 20; call++) await api.sendMessage(ada.id, `${call}`);
      await expect(api.sendMessage(ada.id, 'one too many')).rejects.toMatchObject({
        error_code: 429,
        description: 'Too Many Requests: retry after 1',
        parameters: { retry_after: 1 },
      });
      await api.sendChatAction(ada.id, 'typing');
      expect(fake.refused).toMatchObject([{ method: 'sendmessage', parameters: { text: 'one too many' }, limit: 'private chat' }]);
      expect(fake.world.sent).toHaveLength(20);
    } finally {
      await fake.close();
    }
  });

  it('the servers forget all but the newest of what they keep, and go on', async () => {
    const fake = await FakeBotApi.start();
    const model = await startModelServer(() => says('Fine.'));
    try {
      const api = new Api(fake.token, { apiRoot: fake.root });
      for (const text of ['one', 'two', 'three']) fake.world.says({ text });
      await api.getUpdates();
      for (const text of ['four', 'five', 'six']) await api.sendMessage(ada.id, text);
      fake.forget(2);
      expect(fake.world.sent.map(({ text }) => text)).toEqual(['five', 'six']);
      expect([fake.calls.length, fake.world.messages.size]).toEqual([2, 2]);
      expect(fake.unconfirmed).toHaveLength(3);
      expect(fake.deliveredIds).toHaveLength(3);
      expect(await api.editMessageText(ada.id, 6, 'six and a half')).toMatchObject({ message_id: 6 });
      expect(await api.sendMessage(ada.id, 'seven')).toMatchObject({ message_id: 7 });
      await api.getUpdates({ offset: Math.max(...fake.deliveredIds) + 1 });
      fake.forget(0);
      expect([fake.calls.length, fake.deliveredIds.length, fake.world.sent.length]).toEqual([0, 0, 0]);

      const body = JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: 'Hello' }] });
      const ask = async () => await (await fetch(`${model.url}/chat/completions`, { method: 'POST', body })).text();
      await ask();
      model.forget();
      await ask();
      expect(model.requests.map(({ index }) => index)).toEqual([1]);
    } finally {
      await Promise.all([fake.close(), model.close()]);
    }
  });
});
