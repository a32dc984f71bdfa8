import type { Message, Update } from 'grammy/types';
import { describe, expect, it } from 'vitest';
import { parseUpdate } from '../../../src/channels/telegram/parse.ts';
import type { IncomingMessage } from '../../../src/core/channel.ts';
import { ada, bob, bot, FakeBotApi, type Said } from '../../fakes/bot-api.ts';
import { BotWorld } from '../../fakes/bot-api-world.ts';

const group = -1_001_000_000_001;

function parse(said: Said): IncomingMessage | undefined {
  const updates: Omit<Update, 'update_id'>[] = [];
  const world = new BotWorld((update) => updates.push(update));
  world.group(group);
  world.says(said);
  const [update] = updates;
  return update && (parseUpdate({ ...update, update_id: 1 }, bot) as IncomingMessage | undefined);
}

function inGroup(text: string, more: Partial<Said> = {}): IncomingMessage | undefined {
  return parse({ chat: group, text, ...more });
}

describe('addressing', () => {
  it.each([
    [`@${bot.username} list the files`, 'list the files'],
    [`@${bot.username.toUpperCase()} list`, 'list'],
    [`list, @${bot.username}, the files`, `list, @${bot.username}, the files`],
    [`/run@${bot.username} ls`, '/run ls'],
    [`/run@${bot.username}`, '/run'],
    [`@${bot.username} /run ls`, '/run ls'],
  ])("recognises the bot's address in %s", (text, expected) => {
    expect(inGroup(text)).toMatchObject({ isAddressed: true, text: expected });
  });

  it.each([
    'list the files',
    '@somebody_else list',
    `@${bot.username}_two list`,
    '/run@other_bot ls',
    `/run@not_${bot.username} ls`,
    '/run ls',
    `mail me at me@${bot.username}`,
    `hermetic_test_bot`,
  ])("does not take %s for the bot's address", (text) => {
    expect(inGroup(text)).toMatchObject({ isAddressed: false, text });
  });

  it('recognises a text mention of the bot', () => {
    const entities = [{ type: 'text_mention', offset: 0, length: 8, user: bot }];
    expect(inGroup('Hermetic do it', { more: { entities } as Partial<Message> })).toMatchObject({ isAddressed: true, text: 'do it' });
  });

  it("recognises the bot's address in a caption", () => {
    const photo = { data: Buffer.from('x') };
    expect(inGroup(`@${bot.username} what is this`, { photo })).toMatchObject({ isAddressed: true, text: 'what is this' });
  });

  it("finds the bot's address behind surrogate pairs", () => {
    expect(inGroup(`😀😀 @${bot.username} hello`)).toMatchObject({ isAddressed: true });
  });

  it('a message in a topic that the bot opened does not address the bot', () => {
    const opened = { message_id: 17, date: 1, from: bot, forum_topic_created: { name: 'Topic', icon_color: 1 } };
    const more = { reply_to_message: opened, is_topic_message: true, message_thread_id: 17 } as unknown as Partial<Message>;
    expect(inGroup('hello', { more })).toMatchObject({ isAddressed: false, quoted: undefined, place: { thread: '17' } });
  });
});

describe('places', () => {
  it('takes a thread from a topic, not from a reply', () => {
    expect(inGroup('hello', { more: { message_thread_id: 5 } })?.place.thread).toBeUndefined();
    expect(inGroup('hello', { thread: 5 })?.place.thread).toBe('5');
  });
});

describe('ignored updates', () => {
  it.each([
    ['bots', { from: { ...bob, is_bot: true } }],
    ['ourselves', { from: bot }],
    ['who writes in the name of a group', { more: { sender_chat: { id: group, type: 'supergroup', title: 'x' } } as Partial<Message> }],
    ['posts of a channel', { more: { chat: { id: -5, type: 'channel', title: 'x' } } as Partial<Message> }],
    ['messages of the service', { text: '', more: { new_chat_title: 'x' } as Partial<Message> }],
  ])('ignores %s', (_, said: Said) => {
    expect(parse({ text: 'hello', ...said })).toBeUndefined();
  });

  it('ignores edited messages', () => {
    const message = { message_id: 1, date: 1, chat: { id: 1001, type: 'private', first_name: 'Ada' }, from: ada, text: 'x', edit_date: 2 };
    expect(parseUpdate({ update_id: 1, edited_message: message } as unknown as Update, bot)).toBeUndefined();
  });

  it('ignores a button press without a message', () => {
    const query = { id: '1', from: ada, chat_instance: '1', data: 'x' };
    expect(parseUpdate({ update_id: 1, callback_query: query } as unknown as Update, bot)).toBeUndefined();
  });
});

describe('quotations', () => {
  it('quotes the selected part of a message', async () => {
    const api = await FakeBotApi.start();
    try {
      const first = api.world.says({ text: 'a long text with a part', from: bob, chat: group });
      api.world.says({ text: 'this', chat: group, replyTo: first.message_id, quote: 'a part' });
      const update = api.unconfirmed[1];
      expect(update && parseUpdate(update, bot)).toMatchObject({ quoted: { from: 'Bob', text: 'a part' }, isAddressed: false });
    } finally {
      await api.close();
    }
  });

  it("quotes a message of another chat under its author's name", () => {
    const more = {
      quote: { text: 'elsewhere', position: 0 },
      external_reply: { origin: { type: 'hidden_user', sender_user_name: 'X', date: 1 } },
    };
    expect(inGroup('this', { more: more as Partial<Message> })?.quoted).toEqual({ from: 'X', text: 'elsewhere' });
  });
});

describe('forwarded messages', () => {
  it.each([
    ['a person', { forward_origin: { type: 'user', sender_user: bob, date: 1 } }, 'Bob'],
    ['a person who hides', { forward_origin: { type: 'hidden_user', sender_user_name: 'X', date: 1 } }, 'X'],
    ['a group', { forward_origin: { type: 'chat', sender_chat: { id: 1, type: 'supergroup', title: 'G' }, date: 1 } }, 'G'],
    ['a channel', { forward_origin: { type: 'channel', chat: { id: 1, type: 'channel', title: 'C' }, message_id: 1, date: 1 } }, 'C'],
    ['another bot', { via_bot: { id: 9, is_bot: true, first_name: 'Inline' } }, 'Inline'],
  ])('marks a message forwarded from %s as theirs', (_, more, from) => {
    const message = parse({ text: '/yolo', more: more as Partial<Message> });
    expect(message).toMatchObject({ text: '/yolo', from: { id: String(ada.id) }, forwarded: { from } });
    expect(parse({ text: '/yolo' })).not.toHaveProperty('forwarded');
  });

  it('a forwarded command does not address the bot', () => {
    const more = { forward_origin: { type: 'user', sender_user: bob, date: 1 } } as Partial<Message>;
    const text = `/run@${bot.username} ls`;
    expect(inGroup(text, { more })).toMatchObject({ isAddressed: false, text });
  });
});

describe('attachments', () => {
  const data = Buffer.from('1234');

  it.each([
    [
      'a document',
      { document: { name: 'a.pdf', data, mimeType: 'application/pdf' } },
      { name: 'a.pdf', mimeType: 'application/pdf', bytes: 4 },
    ],
    ['a document without a name', { document: { data } }, { name: 'file-1.bin', bytes: 4 }],
    [
      'a photo, the largest of its sizes',
      { photo: { data } },
      { name: 'photo-1.jpg', mimeType: 'image/jpeg', id: expect.stringMatching(/^file-/) },
    ],
    ['a voice message', { voice: { data } }, { name: 'voice-1.ogg', mimeType: 'audio/ogg' }],
    ['a video', { video: { data, mimeType: 'video/mp4' } }, { name: 'video-1.mp4', mimeType: 'video/mp4' }],
  ])('reads %s as an attachment', (_, said, expected) => {
    expect(parse(said)).toMatchObject({ text: '', files: [expected] });
  });

  it('reads an animation once, although it comes as a document too', () => {
    const file = { file_id: 'f', file_unique_id: 'f', file_name: 'a.gif', mime_type: 'video/mp4' };
    expect(parse({ more: { animation: file, document: file } as unknown as Partial<Message> })?.files).toMatchObject([{ name: 'a.gif' }]);
  });

  it('reads a sticker as its emoji', () => {
    expect(parse({ more: { sticker: { emoji: '👍' } } as unknown as Partial<Message> })?.text).toBe('👍');
  });
});
