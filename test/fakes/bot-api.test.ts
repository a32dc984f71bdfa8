import { Api } from 'grammy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { ada, FakeBotApi } from './bot-api.ts';
import { visibleText } from './bot-api-html.ts';

let fake: FakeBotApi;
let api: Api;

beforeEach(async () => {
  fake = await FakeBotApi.start();
  fake.world.privateChat(ada);
  api = new Api(fake.token, { apiRoot: fake.root });
});
afterEach(() => fake.close());

const refused = (status: number, description: RegExp) => ({ error_code: status, description: expect.stringMatching(description) });

describe('the fake Bot API', () => {
  it('delivers an update until a higher offset confirms it', async () => {
    fake.world.says({ text: 'one' });
    fake.world.says({ text: 'two' });
    const first = await api.getUpdates();
    expect(first.map(({ message }) => message?.text)).toEqual(['one', 'two']);
    expect(await api.getUpdates({ offset: first[0]?.update_id ?? 0 })).toEqual(first);
    expect(await api.getUpdates({ offset: first[1]?.update_id ?? 0 })).toEqual(first.slice(1));
    expect(await api.getUpdates({ offset: (first[1]?.update_id ?? 0) + 1, timeout: 0 })).toEqual([]);
    expect(fake.unconfirmed).toEqual([]);
  });

  it('a new getUpdates call ends the waiting one with 409', async () => {
    const first = api.getUpdates({ timeout: 30 });
    const conflict = expect(first).rejects.toMatchObject(refused(409, /terminated by other getUpdates/));
    await until('it waits', () => fake.callsOf('getUpdates').length === 1);
    const second = api.getUpdates({ timeout: 30 });
    await conflict;
    fake.world.says({ text: 'now' });
    expect(await second).toMatchObject([{ message: { text: 'now' } }]);
  });

  it('keeps only the kinds of updates that were asked for', async () => {
    await api.getUpdates({ allowed_updates: ['callback_query'] });
    fake.world.says({ text: 'one' });
    expect(await api.getUpdates()).toEqual([]);
  });

  it.each([
    ['a'.repeat(4097), undefined, /message is too long/],
    ['  ', undefined, /message text is empty/],
    ['<b>a', 'HTML', /can't parse entities/],
    ['<b><i>a</b></i>', 'HTML', /can't parse entities/],
    ['<p>a</p>', 'HTML', /can't parse entities: Unsupported start tag "p"/],
    ['a < b', 'HTML', /can't parse entities/],
    ['<b></b>', 'HTML', /message text is empty/],
  ] as const)('refuses what Telegram refuses: %.20s', async (text, parse_mode, why) => {
    await expect(api.sendMessage(ada.id, text, parse_mode && { parse_mode })).rejects.toMatchObject(refused(400, why));
  });

  it('counts visible characters, not markup', async () => {
    await api.sendMessage(ada.id, `<b>${'&lt;'.repeat(4096)}</b>`, { parse_mode: 'HTML' });
    expect(fake.world.sent[0]?.text).toBe('<'.repeat(4096));
    expect(visibleText('a &amp; b &unknown; &#33; &')).toBe('a & b &unknown; ! &');
  });

  it('limits the data of a button', async () => {
    const markup = (bytes: number) => ({ reply_markup: { inline_keyboard: [[{ text: 'x', callback_data: 'x'.repeat(bytes) }]] } });
    await api.sendMessage(ada.id, 'a', markup(64));
    await expect(api.sendMessage(ada.id, 'a', markup(65))).rejects.toMatchObject(refused(400, /BUTTON_DATA_INVALID/));
  });

  it("edits messages and answers presses by Telegram's rules", async () => {
    const { message_id } = await api.sendMessage(ada.id, 'a', {
      reply_markup: { inline_keyboard: [[{ text: 'Yes', callback_data: 'y' }]] },
    });
    const press = fake.world.presses(ada.id, message_id, 'Yes');
    await api.answerCallbackQuery(press, { text: 'Noted' });
    await expect(api.answerCallbackQuery(press)).rejects.toMatchObject(refused(400, /query is too old/));
    await api.editMessageText(ada.id, message_id, 'b');
    await expect(api.editMessageText(ada.id, message_id, 'b')).rejects.toMatchObject(refused(400, /message is not modified/));
    await expect(api.editMessageText(ada.id, 99, 'b')).rejects.toMatchObject(refused(400, /message to edit not found/));
    expect(fake.world.sent).toMatchObject([{ versions: ['a', 'b'], markup: undefined }]);
  });

  it('fails as often as it is told to, and then works', async () => {
    fake.fail('sendMessage', { status: 429, retryAfter: 5 });
    await expect(api.sendMessage(ada.id, 'a')).rejects.toMatchObject({ error_code: 429, parameters: { retry_after: 5 } });
    fake.fail('*', { cut: 'after' });
    await expect(api.sendMessage(ada.id, 'b')).rejects.toThrow('Network request');
    await api.sendMessage(ada.id, 'c');
    expect(fake.world.sent.map(({ text }) => text)).toEqual(['b', 'c']);
    expect(await new Api('1:wrong', { apiRoot: fake.root }).getMe().catch((error: unknown) => error)).toMatchObject(
      refused(401, /Unauthorized/),
    );
  });

  it('keeps its address after an outage', async () => {
    await fake.goDown();
    await expect(api.getMe()).rejects.toThrow('Network request');
    await fake.comeUp();
    expect(await api.getMe()).toMatchObject({ is_bot: true });
  });
});
