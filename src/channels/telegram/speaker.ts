import type { InlineKeyboardMarkup, ReplyParameters } from 'grammy/types';
import type { IncomingFile, IncomingPress, Outgoing, OutgoingFile, Place } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { guessType } from '../../lib/file-type.ts';
import { CallError } from '../call-error.ts';
import { type BotClient, type CallOptions, inputFile } from './bot-client.ts';
import { failureOf, isBadRequest, migrationIn } from './failures.ts';
import { type Formatted, format } from './format.ts';
import { maxFileBytes, maxIncomingBytes, maxVisibleCaption, maxVisibleText } from './limits.ts';
import { callbackIdOf } from './parse.ts';

const uploadMs = 300_000;
/** A typing indicator is not worth waiting for. */
const politenessMs = 5000;
const maxPhotoBytes = 10 * 1024 * 1024;
const photoTypes = new Set(['image/png', 'image/jpeg', 'image/webp']);

interface Target {
  chat_id: number;
  message_thread_id?: number;
}

/** Sends, edits and answers in chats. */
export class Speaker {
  readonly #client: BotClient;
  /** Groups that became supergroups, which have another number. */
  readonly #moved = new Map<string, string>();

  constructor(client: BotClient) {
    this.#client = client;
  }

  async send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    const { file, text } = message;
    if (file) return await this.#sendFile(place, message, file, signal);
    return await this.#inForm(place, format(text, maxVisibleText), (target, form) =>
      this.#client
        .call(
          (api, cancel) =>
            api.sendMessage({ ...target, ...messageText(form), ...replying(message), ...keyboard(message), ...quiet(message) }, cancel),
          {
            signal,
          },
        )
        .then(idOf),
    );
  }

  async edit(place: Place, id: string, message: Outgoing, signal: AbortSignal | undefined): Promise<void> {
    const message_id = Number(id);
    await this.#inForm(place, format(message.text, maxVisibleText), async ({ chat_id }, form) => {
      const which = { chat_id, message_id, ...keyboard(message) };
      try {
        await this.#client.call((api, cancel) => api.editMessageText({ ...which, ...messageText(form) }, cancel), { signal });
      } catch (error) {
        if (isBadRequest(error, /message is not modified/i)) return;
        if (!isBadRequest(error, /no text in the message to edit/i)) throw error;
        await this.#editCaption(which, message.text, signal);
      }
    });
  }

  async remove(place: Place, id: string, signal: AbortSignal | undefined): Promise<void> {
    const message_id = Number(id);
    try {
      const { chat_id } = this.#target(place);
      await this.#client.call((api, cancel) => api.deleteMessage({ chat_id, message_id }, cancel), { signal });
    } catch (error) {
      if (isBadRequest(error, /message to delete not found/i)) return;
      throw failureOf(error, true);
    }
  }

  async typing(place: Place): Promise<void> {
    // While Telegram does not answer, signs would pile up before messages.
    if (this.#client.isBusy) return;
    await this.#politely(
      this.#client.call((api, cancel) => api.sendChatAction({ ...this.#target(place), action: 'typing' }, cancel), {
        timeoutMs: politenessMs,
      }),
    );
  }

  async noticed({ id }: IncomingPress, text: string | undefined): Promise<void> {
    const answer = { callback_query_id: callbackIdOf(id), ...(text !== undefined && { text: text.slice(0, 200) }) };
    await this.#politely(this.#client.call((api, cancel) => api.answerCallbackQuery(answer, cancel), { timeoutMs: politenessMs }));
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    const max = Math.min(maxBytes, maxIncomingBytes);
    if (bytes !== undefined && bytes > max) throw new HermeticError('channel/refused', `The file is larger than ${max} bytes.`);
    try {
      const { file_path } = await this.#client.call((api, cancel) => api.getFile({ file_id: id }, cancel));
      if (file_path === undefined) throw new CallError('the file is gone', { status: 400 });
      return await this.#client.download(file_path, max);
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  async #sendFile(place: Place, message: Outgoing, file: OutgoingFile, signal: AbortSignal | undefined): Promise<string> {
    if (file.data.length > maxFileBytes) throw new HermeticError('channel/refused', `The file is larger than ${maxFileBytes} bytes.`);
    const options: CallOptions = { timeoutMs: uploadMs, signal };
    const isPhoto = file.data.length <= maxPhotoBytes && photoTypes.has(guessType(file.data));
    return await this.#inForm(place, format(message.text, maxVisibleCaption), async (target, form) => {
      const payload = { ...target, ...captionText(form), ...replying(message), ...keyboard(message) };
      const content = () => inputFile(file.name, file.data);
      if (isPhoto) {
        try {
          return idOf(await this.#client.call((api, cancel) => api.sendPhoto({ ...payload, photo: content() }, cancel), options));
        } catch (error) {
          // Too long, too narrow or damaged: a picture that is none to Telegram is still a file.
          if (!isBadRequest(error, /photo|image/i)) throw error;
        }
      }
      return idOf(await this.#client.call((api, cancel) => api.sendDocument({ ...payload, document: content() }, cancel), options));
    });
  }

  async #editCaption(which: Target & { message_id: number }, text: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#client.call(
        (api, cancel) => api.editMessageCaption({ ...which, ...captionText(format(text, maxVisibleCaption)) }, cancel),
        { signal },
      );
    } catch (error) {
      if (!isBadRequest(error, /message is not modified/i)) throw error;
    }
  }

  /** Says it where the chat is now, and as plain text when Telegram does not take the form. */
  async #inForm<Result>(place: Place, form: Formatted, say: (target: Target, form: Formatted) => Promise<Result>): Promise<Result> {
    try {
      try {
        return await say(this.#target(place), form);
      } catch (error) {
        const moved = migrationIn(error);
        if (moved !== undefined) this.#moved.set(place.chat, moved);
        else if (form.html === undefined || !isBadRequest(error, /can't parse entities|too long/i)) throw error;
        return await say(this.#target(place), moved === undefined ? { ...form, html: undefined } : form);
      }
    } catch (error) {
      throw failureOf(error, false);
    }
  }

  #target({ chat, thread }: Place): Target {
    const chat_id = Number(this.#moved.get(chat) ?? chat);
    return { chat_id, ...(thread !== undefined && { message_thread_id: Number(thread) }) };
  }

  async #politely(call: Promise<unknown>): Promise<void> {
    await call.catch(() => undefined);
  }
}

function idOf({ message_id }: { message_id: number }): string {
  return String(message_id);
}

/** Security: no preview, because Telegram would fetch an address that a model wrote, and so leak what is in it. */
function messageText({ html, plain }: Formatted) {
  const link_preview_options = { is_disabled: true } as const;
  return html === undefined ? { text: plain, link_preview_options } : { text: html, parse_mode: 'HTML' as const, link_preview_options };
}

function captionText({ html, plain }: Formatted) {
  if (html !== undefined) return { caption: html, parse_mode: 'HTML' as const };
  return plain === '' ? {} : { caption: plain };
}

function replying({ replyTo }: Outgoing): { reply_parameters?: ReplyParameters } {
  const message_id = Number(replyTo ?? Number.NaN);
  return Number.isInteger(message_id) ? { reply_parameters: { message_id, allow_sending_without_reply: true } } : {};
}

function quiet({ isQuiet }: Outgoing): { disable_notification?: true } {
  return isQuiet ? { disable_notification: true } : {};
}

function keyboard({ buttons }: Outgoing): { reply_markup?: InlineKeyboardMarkup } {
  if (!buttons?.length) return {};
  const inline_keyboard = buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })));
  return { reply_markup: { inline_keyboard } };
}
