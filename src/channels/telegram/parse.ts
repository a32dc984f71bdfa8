import type { CallbackQuery, Chat, Message, MessageEntity, Update, User } from 'grammy/types';
import type { Incoming, IncomingFile, IncomingMessage, Person, Place } from '../../core/channel.ts';

/** The bot itself, as far as it matters who is meant. */
export interface Self {
  id: number;
  username: string;
}

/** Kinds of updates that are asked for. Edited messages are not: what was said when it was read is what counts. */
export const wantedUpdates = ['message', 'callback_query'] as const;

/** Prefixed, because what a press and a message are numbered with are not of one kind. */
const pressPrefix = 'press:';

export function callbackIdOf(pressId: string): string {
  return pressId.slice(pressPrefix.length);
}

/** The chat an update is of, in whose order it is handled. */
export function chatOf(update: Update): string | undefined {
  const chat = update.message?.chat ?? update.callback_query?.message?.chat;
  return chat && String(chat.id);
}

/** undefined for updates that are no message of a person: service messages, posts in channels, messages of bots. */
export function parseUpdate(update: Update, self: Self): Incoming | undefined {
  if (update.message) return parseMessage(update.message, self);
  if (update.callback_query) return parsePress(update.callback_query);
  return undefined;
}

function parseMessage(message: Message, self: Self): IncomingMessage | undefined {
  refuseMalformed(
    { 'message.message_id': message.message_id, 'message.date': message.date, 'message.chat.id': message.chat?.id },
    'number',
  );
  const { from, chat } = message;
  // Security: who writes in the name of a group or a channel cannot be told from others who may.
  if (!from || from.is_bot || message.sender_chat || chat.type === 'channel') return undefined;
  refuseMalformed({ 'message.from.id': from.id }, 'number');
  const files = filesOf(message);
  const said = message.text ?? message.caption ?? message.sticker?.emoji ?? '';
  refuseMalformed({ 'message.text': said, 'message.from.first_name': from.first_name }, 'string');
  if (said === '' && files.length === 0) return undefined;
  const entities = message.entities ?? message.caption_entities ?? [];
  const isDirect = chat.type === 'private';
  const replied = repliedTo(message);
  const forwarded = forwardedIn(message);
  // A forwarded text does not address us in the name of the person who forwards it.
  const isMeant = !forwarded && entities.some((entity) => names(entity, said, self));
  return {
    kind: 'message',
    id: String(message.message_id),
    place: placeOf(chat, message),
    from: person(from),
    at: new Date(message.date * 1000),
    text: forwarded ? said : withoutOurName(said, entities, self),
    isDirect,
    isAddressed: isDirect || replied?.from?.id === self.id || isMeant,
    ...(forwarded && { forwarded }),
    quoted: quotedIn(message, replied),
    files,
  };
}

/** Telegram's answers are not checked against its types otherwise. What is wrong here would fail later, where less is known about it. */
function refuseMalformed(fields: Record<string, unknown>, type: 'number' | 'string'): void {
  for (const [name, value] of Object.entries(fields)) if (typeof value !== type) throw new Error(`${name} is not a ${type}.`);
}

function parsePress({ id, from, data, message }: CallbackQuery): Incoming | undefined {
  if (from.is_bot || data === undefined || !message) return undefined;
  refuseMalformed({ 'callback_query.from.id': from.id, 'callback_query.message.chat.id': message.chat.id }, 'number');
  refuseMalformed({ 'callback_query.id': id, 'callback_query.data': data, 'callback_query.from.first_name': from.first_name }, 'string');
  return {
    kind: 'press',
    id: pressPrefix + id,
    place: placeOf(message.chat, 'text' in message || 'caption' in message || message.date !== 0 ? (message as Message) : {}),
    from: person(from),
    at: new Date(),
    data,
    message: String(message.message_id),
  };
}

/** In groups without topics a reply has the number of a thread too, in which nothing can be sent. */
function placeOf(chat: Chat, { message_thread_id, is_topic_message }: Partial<Message>): Place {
  const thread = is_topic_message && message_thread_id !== undefined ? String(message_thread_id) : undefined;
  return { platform: 'telegram', workspace: undefined, chat: String(chat.id), thread };
}

function person({ id, first_name, last_name }: User): Person {
  return { id: String(id), name: [first_name, last_name].filter(Boolean).join(' ') };
}

function nameOf(user: User | undefined, chat: Chat | undefined): string {
  return user ? person(user).name : (chat?.title ?? '');
}

/** Telegram marks every message in a topic as a reply to the one that opened it; that is no reply of the person. */
function repliedTo({ reply_to_message: replied, message_thread_id, is_topic_message }: Message): Message | undefined {
  return is_topic_message && replied?.message_id === message_thread_id ? undefined : replied;
}

function quotedIn({ quote, external_reply }: Message, replied: Message | undefined): IncomingMessage['quoted'] {
  const text = quote?.text ?? replied?.text ?? replied?.caption;
  if (text === undefined) return undefined;
  if (replied) return { from: nameOf(replied.from, replied.sender_chat), text };
  const origin = external_reply?.origin;
  if (origin?.type === 'user') return { from: person(origin.sender_user).name, text };
  if (origin?.type === 'hidden_user') return { from: origin.sender_user_name, text };
  return { from: nameOf(undefined, external_reply?.chat), text };
}

/** Security: also what another bot wrote, of which a person only chose that it be sent. */
function forwardedIn({ forward_origin: origin, via_bot }: Message): IncomingMessage['forwarded'] {
  if (!origin) return via_bot && { from: nameOf(via_bot, undefined) };
  if (origin.type === 'user') return { from: person(origin.sender_user).name };
  if (origin.type === 'hidden_user') return { from: origin.sender_user_name };
  return { from: nameOf(undefined, origin.type === 'chat' ? origin.sender_chat : origin.chat) };
}

/** Whether an entity means us. Entities count UTF-16 units, as strings do here. */
function names(entity: MessageEntity, text: string, { id, username }: Self): boolean {
  if (entity.type === 'text_mention') return entity.user.id === id;
  if (entity.type !== 'mention' && entity.type !== 'bot_command') return false;
  const marked = text.slice(entity.offset, entity.offset + entity.length).toLowerCase();
  return marked.endsWith(`@${username.toLowerCase()}`) && (entity.type === 'bot_command' || marked.length === username.length + 1);
}

/** Without the name at the beginning, so that `/run@bot ls` and `@bot /run ls` are `/run ls`. */
function withoutOurName(text: string, entities: readonly MessageEntity[], self: Self): string {
  const first = entities.find(({ offset, type }) => offset === 0 && ['mention', 'text_mention', 'bot_command'].includes(type));
  if (!first || !names(first, text, self)) return text;
  const rest = text.slice(first.length);
  if (first.type !== 'bot_command') return rest.trimStart();
  return text.slice(0, first.length - self.username.length - 1) + rest;
}

function filesOf(message: Message): IncomingFile[] {
  const { photo, document, voice, audio, video, video_note, animation, message_id } = message;
  const files: IncomingFile[] = [];
  const add = (
    file: { file_id: string; file_size?: number; file_name?: string; mime_type?: string } | undefined,
    kind: string,
    extension: string,
    mimeType?: string,
  ): void => {
    if (!file) return;
    const name = file.file_name ?? `${kind}-${message_id}.${extension}`;
    files.push({ id: file.file_id, name, mimeType: file.mime_type ?? mimeType, bytes: file.file_size });
  };
  add(photo?.at(-1), 'photo', 'jpg', 'image/jpeg');
  add(voice, 'voice', 'ogg', 'audio/ogg');
  add(audio, 'audio', 'mp3');
  add(video, 'video', 'mp4');
  add(video_note, 'video', 'mp4', 'video/mp4');
  // An animation comes as a document too.
  if (animation) add(animation, 'animation', 'mp4');
  else add(document, 'file', 'bin');
  return files;
}
