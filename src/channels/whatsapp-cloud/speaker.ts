import * as z from 'zod';
import { type IncomingFile, type IncomingPress, type Outgoing, type OutgoingFile, type Place, reactionPrefix } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { guessType } from '../../lib/file-type.ts';
import { CallError } from '../call-error.ts';
import { safeFileName } from '../file-name.ts';
import type { RecentMessages } from '../recent-messages.ts';
import { whatsAppText } from '../whatsapp-markup.ts';
import type { GraphClient } from './client.ts';
import { type Content, choiceContent, textContent } from './contents.ts';
import { failureOf, GraphError } from './failures.ts';
import type { LastIncoming } from './last-incoming.ts';
import { maxCaption, maxFileBytes, maxImageBytes, maxIncomingBytes } from './limits.ts';
import { isHiddenPerson, isPhoneNumber } from './person-id.ts';

const uploadMs = 300_000;
/** A typing indicator is not worth waiting for. */
const politenessMs = 5000;
/** Codes of an answer to a request of which some part is not as Meta wants it. */
const badParameter: ReadonlySet<number | undefined> = new Set([100, 131_009]);
const maxHalfSent = 200;

const sent = z.object({ messages: z.array(z.object({ id: z.string().min(1) })).min(1) });
const uploaded = z.object({ id: z.string().min(1) });
const stored = z.object({ url: z.string(), file_size: z.union([z.number(), z.string()]).optional() });

export interface SpeakerParts {
  client: GraphClient;
  phoneNumberId: string;
  recent: RecentMessages;
  last: LastIncoming;
  /** What we are called. */
  name(): string;
}

/** Sends and answers in chats. */
export class Speaker {
  readonly #parts: SpeakerParts;
  /** Messages of which the file was sent, and not the answers to choose from. By key. */
  readonly #halfSent = new Set<string>();

  constructor(parts: SpeakerParts) {
    this.#parts = parts;
  }

  async send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    const { file, text, buttons, replyTo } = message;
    const hasButtons = (buttons ?? []).flat().length > 0;
    if (file && file.data.length > maxFileBytes)
      throw new HermeticError('channel/refused', `The file is larger than ${maxFileBytes} bytes.`);
    if (!file) return await this.#post(place, hasButtons ? choiceContent(message) : textContent(text), { text, replyTo, signal });
    if (!hasButtons) return await this.#post(place, await this.#fileContent(file, text, signal), { text, replyTo, signal });
    return await this.#sendFileAndChoice(place, message, file, signal);
  }

  /** Shows it, and that the last message was read. */
  async typing({ chat }: Place): Promise<void> {
    const id = this.#parts.last.toAnswer(chat);
    if (id === undefined) return;
    const body = { messaging_product: 'whatsapp', status: 'read', message_id: id, typing_indicator: { type: 'text' } };
    await this.#parts.client
      .call('POST', `${this.#parts.phoneNumberId}/messages`, { body, timeoutMs: politenessMs })
      .catch(() => undefined);
  }

  /** WhatsApp has no notices: it is a message that quotes the press. */
  async noticed({ id, data, message, place }: IncomingPress, text: string | undefined): Promise<void> {
    if (text === undefined) return;
    const replyTo = data.startsWith(reactionPrefix) ? message : id;
    await this.#post(place, textContent(text), { text, replyTo, signal: undefined, timeoutMs: politenessMs }).catch(() => undefined);
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    const max = Math.min(maxBytes, maxIncomingBytes);
    const tooLarge = new HermeticError('channel/refused', `The file is larger than ${max} bytes.`);
    if (bytes !== undefined && bytes > max) throw tooLarge;
    // Security: it becomes part of an address.
    if (!/^[\w-]{1,200}$/.test(id)) throw new HermeticError('channel/refused', 'This is not a file of WhatsApp.');
    try {
      // The address of a file is good for five minutes only.
      const found = stored.safeParse(await this.#parts.client.call('GET', id, { query: { phone_number_id: this.#parts.phoneNumberId } }));
      if (!found.success) throw new CallError('an answer that is not what was asked for');
      if (Number(found.data.file_size ?? 0) > max) throw tooLarge;
      return await this.#parts.client.download(found.data.url, max);
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  /** A list of answers has no file beside it: the file comes first, and once when only the answers have to be sent again. */
  async #sendFileAndChoice(place: Place, message: Outgoing, file: OutgoingFile, signal: AbortSignal | undefined): Promise<string> {
    const { key, text, replyTo } = message;
    const choice = choiceContent(message);
    if (key === undefined || !this.#halfSent.has(key)) {
      await this.#post(place, await this.#fileContent(file, '', signal), { text: '', replyTo, signal });
      if (key !== undefined) this.#halfSent.add(key);
    }
    const [oldest] = this.#halfSent;
    if (this.#halfSent.size > maxHalfSent && oldest !== undefined) this.#halfSent.delete(oldest);
    const id = await this.#post(place, choice, { text, replyTo: undefined, signal });
    if (key !== undefined) this.#halfSent.delete(key);
    return id;
  }

  async #fileContent({ name, data }: OutgoingFile, text: string, signal: AbortSignal | undefined): Promise<Content> {
    const guessed = guessType(data);
    const isImage = data.length <= maxImageBytes && (guessed === 'image/jpeg' || guessed === 'image/png');
    const type = takenAs(guessed);
    const form = new FormData();
    form.set('messaging_product', 'whatsapp');
    form.set('type', type);
    form.set('file', new Blob([new Uint8Array(data)], { type }), safeFileName(name));
    try {
      const options = { body: form, timeoutMs: uploadMs, signal };
      const found = uploaded.safeParse(await this.#parts.client.call('POST', `${this.#parts.phoneNumberId}/media`, options));
      if (!found.success) throw new CallError('an answer that is not what was asked for');
      const caption = text === '' ? {} : { caption: whatsAppText(text, maxCaption) };
      if (isImage) return { type: 'image', image: { id: found.data.id, ...caption } };
      return { type: 'document', document: { id: found.data.id, filename: safeFileName(name), ...caption } };
    } catch (error) {
      // Nobody sees what was uploaded and not sent.
      throw failureOf(error, true);
    }
  }

  async #post(
    place: Place,
    content: Content,
    { text, replyTo, ...options }: { text: string; replyTo: string | undefined; signal: AbortSignal | undefined; timeoutMs?: number },
  ): Promise<string> {
    const { client, phoneNumberId, recent, last, name } = this.#parts;
    const post = async (more: Content): Promise<string> => {
      const body = { messaging_product: 'whatsapp', recipient_type: 'individual', ...recipient(place), ...more, ...content };
      const answer = sent.safeParse(await client.call('POST', `${phoneNumberId}/messages`, { body, ...options }));
      const id = answer.data?.messages[0]?.id;
      if (id === undefined) throw new CallError('an answer without the id of the message', { isDoubtful: true });
      return id;
    };
    const isReply = isMessageId(replyTo);
    try {
      const id = await post(isReply ? { context: { message_id: replyTo } } : {}).catch((error: unknown) => {
        // The message that it replies to may be gone.
        if (!isReply || !(error instanceof GraphError) || !badParameter.has(error.code)) throw error;
        return post({});
      });
      last.said(place.chat);
      recent.add(place.chat, id, { from: name(), text });
      return id;
    } catch (error) {
      throw failureOf(error, false);
    }
  }
}

function recipient({ chat }: Place): Content {
  if (isPhoneNumber(chat)) return { to: chat };
  if (isHiddenPerson(chat)) return { recipient: chat };
  throw new HermeticError('channel/refused', 'This is not a person on WhatsApp.');
}

function isMessageId(id: string | undefined): boolean {
  return id !== undefined && /^wamid\.[\w+/=-]{1,900}$/.test(id);
}

/** Of what nothing is known Meta takes only text; people see the name, which tells more. */
function takenAs(type: string): string {
  return ['image/jpeg', 'image/png', 'application/pdf'].includes(type) ? type : 'text/plain';
}
