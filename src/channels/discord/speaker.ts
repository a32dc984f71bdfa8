import { createHash } from 'node:crypto';
import type { RawFile } from '@discordjs/rest';
import {
  type APIAttachment,
  type APIMessage,
  ButtonStyle,
  ComponentType,
  InteractionResponseType,
  MessageFlags,
  type RESTPatchAPIChannelMessageJSONBody,
  type RESTPostAPIChannelMessageJSONBody,
  Routes,
} from 'discord-api-types/v10';
import type { IncomingFile, IncomingPress, Outgoing, Place } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { fenced } from '../../lib/fenced.ts';
import { safeFileName } from '../file-name.ts';
import type { DiscordClient } from './client.ts';
import { codes, DiscordError, failureOf } from './failures.ts';
import { format } from './format.ts';
import { isId } from './ids.ts';
import type { Interactions } from './interactions.ts';
import { maxFileBytes, maxIncomingBytes } from './limits.ts';
import type { OwnThreads } from './own-threads.ts';
import { filePlaceOf, interactionPrefix } from './parse.ts';

const uploadMs = 300_000;
/** Discord waits three seconds for what acknowledges an interaction. */
const acknowledgementMs = 1_500;
/** A typing indicator is not worth waiting for. */
const politenessMs = 5000;
/** Commands are longer than messages can be; there is room left for signs that format it. */
const maxShownCommand = 1000;

/** Security: nothing that a model writes rings for anybody. */
const noMentions = { parse: [], replied_user: false } as const;

/** Sends, edits and answers in channels. */
export class Speaker {
  readonly #client: DiscordClient;
  readonly #interactions: Interactions;
  readonly #threads: OwnThreads | undefined;

  constructor(client: DiscordClient, interactions: Interactions, threads: OwnThreads | undefined) {
    this.#client = client;
    this.#interactions = interactions;
    this.#threads = threads;
  }

  async send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    const { file, key } = message;
    if (file && file.data.length > maxFileBytes)
      throw new HermeticError('channel/refused', `The file is larger than ${maxFileBytes} bytes.`);
    const body: RESTPostAPIChannelMessageJSONBody = {
      ...contentOf(message),
      ...replying(message),
      // The same key from a later program is the same message, for some minutes.
      ...(key !== undefined && { nonce: nonceOf(key), enforce_nonce: true }),
      flags: flagsOf(message),
    };
    const files: RawFile[] = file ? [{ name: safeFileName(file.name), data: Buffer.from(file.data) }] : [];
    const options = { body, signal, ...(file && { files, timeoutMs: uploadMs }) };
    try {
      return await this.#inPlace(place, signal, async (channel) => {
        const sent = await this.#client.call<APIMessage>('POST', Routes.channelMessages(channel), options);
        return sent.id;
      });
    } catch (error) {
      throw failureOf(error, key !== undefined);
    }
  }

  /** Makes the thread first when it is one of ours that does not exist yet. */
  async #inPlace<Result>(place: Place, signal: AbortSignal | undefined, say: (channel: string) => Promise<Result>): Promise<Result> {
    try {
      return await say(this.#channelOf(place));
    } catch (error) {
      const isMissing = error instanceof DiscordError && error.code === codes.unknownChannel;
      if (!isMissing || !this.#threads || place.thread === undefined) throw error;
      await this.#threads.begin(place, place.thread, signal);
      return await say(this.#channelOf(place));
    }
  }

  /** A thread is a channel of its own. */
  #channelOf({ chat, thread }: Place): string {
    return idOf(thread === undefined ? chat : (this.#threads?.insteadOf(thread) ?? thread));
  }

  async edit(place: Place, id: string, message: Outgoing, signal: AbortSignal | undefined): Promise<void> {
    const body: RESTPatchAPIChannelMessageJSONBody = { ...contentOf(message), flags: MessageFlags.SuppressEmbeds };
    try {
      await this.#client.call('PATCH', Routes.channelMessage(this.#channelOf(place), idOf(id)), { body, signal });
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  async remove(place: Place, id: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#client.call('DELETE', Routes.channelMessage(this.#channelOf(place), idOf(id)), { signal });
    } catch (error) {
      if (error instanceof DiscordError && error.code === codes.unknownMessage) return;
      throw failureOf(error, true);
    }
  }

  async typing(place: Place): Promise<void> {
    await this.#politely(this.#client.call('POST', Routes.channelTyping(this.#channelOf(place)), { timeoutMs: politenessMs }));
  }

  /** Only the person who pressed sees it. */
  async noticed({ id }: IncomingPress, text: string | undefined): Promise<void> {
    const known = this.#interactions.find(id);
    if (!known || text === undefined) return;
    const said = { content: text.slice(0, 200), flags: MessageFlags.Ephemeral, allowed_mentions: noMentions };
    // Of one that is not accepted in time, this is the acknowledgement.
    const isLate = !(await settlesWithin({ ms: acknowledgementMs, ref: false }, known.acknowledged));
    const isFirst = isLate && this.#interactions.claim(id);
    if (!isFirst) await known.acknowledged;
    const body = isFirst ? { type: InteractionResponseType.ChannelMessageWithSource, data: said } : said;
    const interaction = id.slice(interactionPrefix.length);
    const route = isFirst ? Routes.interactionCallback(interaction, known.token) : Routes.webhook(known.application, known.token);
    await this.#politely(this.#client.call('POST', route, { body, auth: false, timeoutMs: politenessMs }));
  }

  /** Tells Discord within its three seconds that an interaction arrived. `command`: only the person who gave it sees it. Never rejects. */
  async acknowledge(id: string, token: string, command: string | undefined): Promise<void> {
    if (!this.#interactions.claim(interactionPrefix + id)) return;
    const flags = MessageFlags.Ephemeral | MessageFlags.SuppressEmbeds;
    const body =
      command === undefined
        ? { type: InteractionResponseType.DeferredMessageUpdate }
        : {
            type: InteractionResponseType.ChannelMessageWithSource,
            data: { content: format(fenced(shortened(command))), allowed_mentions: noMentions, flags },
          };
    await this.#politely(this.#client.call('POST', Routes.interactionCallback(id, token), { body, auth: false, timeoutMs: politenessMs }));
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    const max = Math.min(maxBytes, maxIncomingBytes);
    if (bytes !== undefined && bytes > max) throw new HermeticError('channel/refused', `The file is larger than ${max} bytes.`);
    const where = filePlaceOf(id);
    if (!where) throw new HermeticError('channel/refused', 'This is not a file of Discord.');
    try {
      // The address of a file is good for a day only.
      const message = await this.#client.call<APIMessage>('GET', Routes.channelMessage(where.channel, where.message));
      const all: APIAttachment[] = [
        ...message.attachments,
        ...(message.message_snapshots?.flatMap((one) => one.message.attachments) ?? []),
      ];
      const found = all.find((one) => one.id === where.attachment);
      if (!found) throw new HermeticError('channel/refused', 'The file is gone.');
      return await this.#client.download(found.url, max);
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  async #politely(call: Promise<unknown>): Promise<void> {
    await call.catch(() => undefined);
  }
}

function idOf(id: string): string {
  if (!isId(id)) throw new HermeticError('channel/refused', 'This is not an id of Discord.');
  return id;
}

function shortened(command: string): string {
  return command.length > maxShownCommand ? `${command.slice(0, maxShownCommand)}…` : command;
}

function contentOf({ text, buttons }: Outgoing) {
  const components = (buttons ?? []).map((row) => ({
    type: ComponentType.ActionRow as const,
    components: row.map(({ label, data }) => ({
      type: ComponentType.Button as const,
      style: ButtonStyle.Secondary as const,
      label: label.slice(0, 80),
      custom_id: data,
    })),
  }));
  return { content: format(text), components, allowed_mentions: { ...noMentions, parse: [] } };
}

/** Security: no preview, because Discord would fetch an address that a model wrote, and so leak what is in it. */
function flagsOf({ isQuiet }: Outgoing): MessageFlags {
  return isQuiet ? MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications : MessageFlags.SuppressEmbeds;
}

function replying({ replyTo }: Outgoing): Pick<RESTPostAPIChannelMessageJSONBody, 'message_reference'> {
  if (!isId(replyTo)) return {};
  return { message_reference: { message_id: replyTo, fail_if_not_exists: false } };
}

/** At most 25 characters. */
function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 25);
}
