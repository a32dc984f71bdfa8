import type { CallbackQuery, Chat, InlineKeyboardMarkup, Message, MessageEntity, Update, User } from 'grammy/types';
import type { UploadedFile } from './bot-api-form.ts';

/** A chat, and what can be wrong with it. */
export interface FakeChat {
  chat: Chat;
  /** Topics of a forum. */
  threads: Set<number>;
  /** What Telegram says to whoever writes there. */
  refusal?: { status: number; description: string } | undefined;
  /** The supergroup it became. */
  migratedTo?: number | undefined;
}

/** What the bot said, as its readers see it. */
export interface BotMessage {
  id: number;
  chat: number;
  thread: number | undefined;
  /** After every edit: what is visible now. */
  text: string;
  /** As it was sent. */
  source: string;
  parseMode: string | undefined;
  /** Every text it had, in order. */
  versions: string[];
  markup: InlineKeyboardMarkup | undefined;
  replyTo: number | undefined;
  kind: 'text' | 'document' | 'photo';
  file: UploadedFile | undefined;
}

export interface SentFile {
  name?: string;
  data: Uint8Array;
  mimeType?: string;
  /** What Telegram claims, when that is not the truth. */
  claimedBytes?: number;
}

export interface Said {
  text?: string;
  /** A private chat with whoever says it, unless another is named. */
  chat?: number;
  from?: User;
  thread?: number;
  /** A message of the same chat, of the bot or of somebody. */
  replyTo?: number;
  /** The part of it that was selected. */
  quote?: string;
  photo?: SentFile;
  document?: SentFile;
  voice?: SentFile;
  video?: SentFile;
  /** Anything else of a message, over what is made of the rest. */
  more?: Partial<Message>;
}

type AnyMessage = Partial<Message> & { message_id: number; date: number; chat: Chat };

export const bot: User & { username: string } = { id: 4242, is_bot: true, first_name: 'Hermetic', username: 'hermetic_test_bot' };
export const ada: User = { id: 1001, is_bot: false, first_name: 'Ada', last_name: 'Lovelace', username: 'ada' };
export const bob: User = { id: 1002, is_bot: false, first_name: 'Bob' };

/** The chats of a bot and everything said in them, apart from how it is asked for. */
export class BotWorld {
  readonly chats = new Map<number, FakeChat>();
  /** What the bot sent, oldest first. */
  readonly sent: BotMessage[] = [];
  /** What the bot took out of its chats again. */
  readonly removed: BotMessage[] = [];
  /** Every message of every chat. */
  readonly messages = new Map<string, AnyMessage>();
  readonly files = new Map<string, { path: string; data: Uint8Array; bytes: number }>();
  readonly openPresses = new Set<string>();
  readonly noticed: { id: string; text: string | undefined }[] = [];
  readonly typing: { chat: number; thread: number | undefined }[] = [];
  commands: { command: string; description: string }[] = [];
  readonly #deliver: (update: Omit<Update, 'update_id'>) => void;
  readonly #lastIds = new Map<number, number>();
  #last = 0;

  constructor(deliver: (update: Omit<Update, 'update_id'>) => void) {
    this.#deliver = deliver;
  }

  privateChat(user: User): FakeChat {
    return this.#chat({ id: user.id, type: 'private', first_name: user.first_name });
  }

  group(id: number, title = 'The group'): FakeChat {
    return this.#chat({ id, type: id < -1_000_000_000_000 ? 'supergroup' : 'group', title } as Chat);
  }

  forum(id: number, threads: readonly number[], title = 'The forum'): FakeChat {
    const chat = this.#chat({ id, type: 'supergroup', title, is_forum: true });
    for (const thread of threads) chat.threads.add(thread);
    return chat;
  }

  says(said: Said): Message {
    const from = said.from ?? ada;
    const { chat } = said.chat === undefined ? this.privateChat(from) : (this.chats.get(said.chat) ?? this.group(said.chat));
    const hasFile = said.photo ?? said.document ?? said.voice ?? said.video;
    const text = said.text ?? '';
    const entities = entitiesOf(text);
    const replied = said.replyTo === undefined ? undefined : this.messages.get(`${chat.id}/${said.replyTo}`);
    const message = {
      message_id: this.nextId(chat.id),
      date: Math.floor(Date.now() / 1000),
      chat,
      from,
      ...(said.thread !== undefined && { message_thread_id: said.thread, is_topic_message: true }),
      ...(text !== '' && (hasFile ? { caption: text, caption_entities: entities } : { text, entities })),
      ...(replied && { reply_to_message: replied }),
      ...(said.quote !== undefined && { quote: { text: said.quote, position: 0 } }),
      ...(said.photo && { photo: [{ ...this.#file(said.photo), file_id: 'small' }, this.#file(said.photo)] }),
      ...(said.document && { document: this.#file(said.document) }),
      ...(said.voice && { voice: { ...this.#file(said.voice), duration: 1 } }),
      ...(said.video && { video: { ...this.#file(said.video), duration: 1, width: 1, height: 1 } }),
      ...said.more,
    } as Message;
    this.messages.set(`${chat.id}/${message.message_id}`, message as AnyMessage);
    this.#deliver({ message: message as never });
    return message;
  }

  /** Presses the button with this label; resolves to the id of the press. */
  presses(chat: number, messageId: number, label: string, from: User = ada): string {
    const sent = this.sent.find((one) => one.chat === chat && one.id === messageId);
    const button = sent?.markup?.inline_keyboard.flat().find(({ text }) => text === label);
    if (!button || !('callback_data' in button)) throw new Error(`no button ${label}`);
    return this.pressesData(chat, messageId, button.callback_data, from);
  }

  pressesData(chat: number, messageId: number, data: string, from: User = ada): string {
    const message = this.messages.get(`${chat}/${messageId}`);
    if (!message) throw new Error(`no message ${messageId}`);
    this.#last += 1;
    const id = `43${this.#last}`;
    this.openPresses.add(id);
    const query = { id, from, chat_instance: '1', data, message: message as Message };
    this.#deliver({ callback_query: query as CallbackQuery });
    return id;
  }

  /** Drops all but the newest of everything said, sent, removed, pressed and noticed. Chats and the numbers of their messages stay. */
  forget(keep: number): void {
    for (const list of [this.sent, this.removed, this.noticed, this.typing]) dropOldest(list, keep);
    for (const known of [this.messages, this.files, this.openPresses]) {
      for (const key of [...known.keys()].slice(0, Math.max(0, known.size - keep))) known.delete(key);
    }
  }

  nextId(chat: number): number {
    const id = (this.#lastIds.get(chat) ?? 0) + 1;
    this.#lastIds.set(chat, id);
    return id;
  }

  #chat(chat: Chat): FakeChat {
    const known = this.chats.get(chat.id) ?? { chat, threads: new Set<number>() };
    this.chats.set(chat.id, known);
    return known;
  }

  #file({ name, data, mimeType, claimedBytes }: SentFile) {
    this.#last += 1;
    const id = `file-${this.#last}`;
    const bytes = claimedBytes ?? data.length;
    this.files.set(id, { path: `documents/${id}`, data, bytes });
    return {
      file_id: id,
      file_unique_id: id,
      file_size: bytes,
      ...(name !== undefined && { file_name: name }),
      ...(mimeType !== undefined && { mime_type: mimeType }),
    };
  }
}

/** Keeps so many of a list at its end. */
export function dropOldest(list: unknown[], keep: number): void {
  if (list.length > keep) list.splice(0, list.length - keep);
}

/** Those that Telegram finds by itself. */
function entitiesOf(text: string): MessageEntity[] {
  const found = (type: 'mention' | 'bot_command', pattern: RegExp): MessageEntity[] =>
    [...text.matchAll(pattern)].map((match) => ({ type, offset: match.index, length: match[0].length }));
  return [...found('mention', /(?<![\w@/])@\w{4,32}\b/g), ...found('bot_command', /(?<![^\s])\/\w{1,32}(?:@\w{4,32})?/g)];
}
