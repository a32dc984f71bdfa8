import type { InlineKeyboardMarkup, Message } from 'grammy/types';
import type { Form, UploadedFile } from './bot-api-form.ts';
import { visibleText } from './bot-api-html.ts';
import { type BotMessage, type BotWorld, bot, type FakeChat } from './bot-api-world.ts';

/** An answer that is not ok, in the words of Telegram. */
export class Refusal extends Error {
  readonly status: number;
  readonly parameters: Record<string, unknown> | undefined;

  constructor(status: number, description: string, parameters?: Record<string, unknown>) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

const bad = (why: string) => new Refusal(400, `Bad Request: ${why}`);
const maxUploadBytes = 50 * 1024 * 1024;
const maxDownloadBytes = 20 * 1024 * 1024;

/** What every method but `getUpdates` does, with the limits of Telegram. Lower case, as Telegram does not care. */
export const methods: Record<string, (world: BotWorld, form: Form) => unknown> = {
  getme: () => ({ ...bot, can_join_groups: true, can_read_all_group_messages: false, supports_inline_queries: false }),
  setmycommands(world, { parameters }) {
    const commands = parameters.commands as BotWorld['commands'];
    if (commands.length > 100) throw bad('BOT_COMMANDS_TOO_MUCH');
    for (const { command, description } of commands) {
      if (!/^[a-z0-9_]{1,32}$/.test(command)) throw bad('BOT_COMMAND_INVALID');
      if (description.length < 1 || description.length > 256) throw bad('BOT_COMMAND_DESCRIPTION_INVALID');
    }
    world.commands = commands;
    return true;
  },
  sendmessage: (world, { parameters }) => send(world, parameters, 'text', undefined),
  senddocument: (world, form) => send(world, form.parameters, 'document', upload(form, 'document')),
  sendphoto(world, form) {
    const file = upload(form, 'photo');
    const isImage = /^(\x89PNG|\xff\xd8\xff|RIFF)/.test(file.data.toString('latin1', 0, 8));
    if (!isImage) throw bad('IMAGE_PROCESS_FAILED');
    return send(world, form.parameters, 'photo', file);
  },
  editmessagetext(world, { parameters }) {
    const message = messageToEdit(world, parameters);
    if (message.kind !== 'text') throw bad('there is no text in the message to edit');
    return edit(world, message, parameters, visible(parameters, 'text'));
  },
  editmessagecaption(world, { parameters }) {
    const message = messageToEdit(world, parameters);
    if (message.kind === 'text') throw bad('there is no caption in the message to edit');
    return edit(world, message, parameters, visible(parameters, 'caption'));
  },
  deletemessage(world, { parameters }) {
    const { chat } = chatFor(world, parameters);
    const at = world.sent.findIndex(({ id, chat: where }) => id === Number(parameters.message_id) && where === chat.id);
    if (at < 0) throw bad('message to delete not found');
    world.removed.push(...world.sent.splice(at, 1));
    return true;
  },
  sendchataction(world, { parameters }) {
    const { chat } = chatFor(world, parameters);
    if (parameters.action !== 'typing') throw bad('wrong parameter action in request');
    world.typing.push({ chat: chat.id, thread: optionalNumber(parameters.message_thread_id) });
    return true;
  },
  answercallbackquery(world, { parameters }) {
    const id = String(parameters.callback_query_id);
    const text = parameters.text === undefined ? undefined : String(parameters.text);
    if (!world.openPresses.delete(id)) throw bad('query is too old and response timeout expired or query ID is invalid');
    if (text !== undefined && text.length > 200) throw bad('MESSAGE_TOO_LONG');
    world.noticed.push({ id, text });
    return true;
  },
  getfile(world, { parameters }) {
    const id = String(parameters.file_id);
    const file = world.files.get(id);
    if (!file) throw bad('wrong file_id or the file is temporarily unavailable');
    if (file.bytes > maxDownloadBytes) throw bad('file is too big');
    return { file_id: id, file_unique_id: id, file_size: file.bytes, file_path: file.path };
  },
};

function send(world: BotWorld, parameters: Record<string, unknown>, kind: BotMessage['kind'], file: UploadedFile | undefined): Message {
  const { chat, threads } = chatFor(world, parameters);
  const key = kind === 'text' ? 'text' : 'caption';
  const text = visible(parameters, key);
  const thread = optionalNumber(parameters.message_thread_id);
  if (thread !== undefined && !threads.has(thread)) throw bad('message thread not found');
  const markup = keyboard(parameters);
  const replyTo = replied(world, chat.id, parameters);
  const source = String(parameters[key] ?? '');
  const parseMode = parameters.parse_mode as string | undefined;
  const id = world.nextId(chat.id);
  world.sent.push({ id, chat: chat.id, thread, text, source, parseMode, versions: [text], markup, replyTo, kind, file });
  const message = {
    message_id: id,
    date: Math.floor(Date.now() / 1000),
    chat,
    from: bot,
    ...(text !== '' && { [key]: text }),
    ...(thread !== undefined && { message_thread_id: thread, is_topic_message: true }),
    ...(markup && { reply_markup: markup }),
  } as Message;
  world.messages.set(`${chat.id}/${id}`, message);
  return message;
}

function edit(world: BotWorld, message: BotMessage, parameters: Record<string, unknown>, text: string): Message {
  const markup = keyboard(parameters);
  if (text === message.text && JSON.stringify(markup) === JSON.stringify(message.markup)) {
    throw bad(
      'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
    );
  }
  const source = String(parameters[message.kind === 'text' ? 'text' : 'caption'] ?? '');
  Object.assign(message, { text, source, markup, parseMode: parameters.parse_mode });
  message.versions.push(text);
  const stored = world.messages.get(`${message.chat}/${message.id}`);
  Object.assign(stored ?? {}, { [message.kind === 'text' ? 'text' : 'caption']: text, reply_markup: markup });
  return stored as Message;
}

function chatFor(world: BotWorld, parameters: Record<string, unknown>): FakeChat {
  const found = world.chats.get(Number(parameters.chat_id));
  if (!found) throw bad('chat not found');
  if (found.refusal) throw new Refusal(found.refusal.status, found.refusal.description);
  if (found.migratedTo !== undefined) {
    throw new Refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: found.migratedTo });
  }
  return found;
}

function messageToEdit(world: BotWorld, parameters: Record<string, unknown>): BotMessage {
  const { chat } = chatFor(world, parameters);
  const id = Number(parameters.message_id);
  const found = world.sent.findLast((one) => one.chat === chat.id && one.id === id);
  if (!found) throw bad(world.messages.has(`${chat.id}/${id}`) ? "message can't be edited" : 'message to edit not found');
  return found;
}

/** Limits hold for what is left after the markup. */
function visible(parameters: Record<string, unknown>, key: 'text' | 'caption'): string {
  const source = String(parameters[key] ?? '');
  if (Buffer.byteLength(source) > 32_768) throw bad('text is too long');
  let text = source;
  if (parameters.parse_mode === 'HTML') {
    try {
      text = visibleText(source);
    } catch (error) {
      throw bad((error as Error).message);
    }
  } else if (parameters.parse_mode !== undefined) throw bad('unsupported parse_mode');
  text = text.trim();
  if (key === 'text' && text === '') throw bad('message text is empty');
  if (text.length > (key === 'text' ? 4096 : 1024)) throw bad(key === 'text' ? 'message is too long' : 'message caption is too long');
  return text;
}

function keyboard(parameters: Record<string, unknown>): InlineKeyboardMarkup | undefined {
  const markup = parameters.reply_markup as InlineKeyboardMarkup | undefined;
  for (const button of markup?.inline_keyboard.flat() ?? []) {
    const bytes = 'callback_data' in button ? Buffer.byteLength(button.callback_data) : 1;
    if (bytes < 1 || bytes > 64) throw bad('BUTTON_DATA_INVALID');
    if (button.text === '') throw bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard");
  }
  return markup;
}

function replied(world: BotWorld, chat: number, parameters: Record<string, unknown>): number | undefined {
  const reply = parameters.reply_parameters as { message_id: number; allow_sending_without_reply?: boolean } | undefined;
  if (!reply) return undefined;
  if (world.messages.has(`${chat}/${reply.message_id}`)) return reply.message_id;
  if (!reply.allow_sending_without_reply) throw bad('message to be replied not found');
  return undefined;
}

function upload({ parameters, files }: Form, key: string): UploadedFile {
  const attached = /^attach:\/\/(.+)$/.exec(String(parameters[key] ?? ''))?.[1];
  const file = files.get(attached ?? key);
  if (!file) throw bad(`there is no ${key} in the request`);
  if (file.data.length > maxUploadBytes) throw new Refusal(413, 'Request Entity Too Large');
  if (file.data.length === 0) throw bad('file must be non-empty');
  return file;
}

function optionalNumber(value: unknown): number | undefined {
  return value === undefined ? undefined : Number(value);
}
