import type { IncomingFile, Outgoing, Place } from '../../core/channel.ts';
import { guessType } from '../../lib/file-type.ts';
import { safeFileName } from '../file-name.ts';
import { ownName, type RecentMessages } from '../recent-messages.ts';
import { whatsAppText } from '../whatsapp-markup.ts';
import type { Baileys } from './baileys.ts';
import type { MediaKind } from './content.ts';
import { failureOf, refused } from './failures.ts';
import { addressOf } from './jids.ts';
import { maxCaption, maxFileBytes, maxPictureBytes, maxQuote, maxText } from './limits.ts';
import { decryptFile, encryptFile, FileHosts, fileRefOf } from './media.ts';
import type { MessageIds } from './message-ids.ts';
import { messageId, partsOfId } from './parse.ts';
import type { People } from './people.ts';
import type { Wire } from './wire.ts';

export interface SpeakerParts {
  baileys: Baileys;
  apiRoot: string | undefined;
  ids: MessageIds;
  people: Pick<People, 'find'>;
  recent: RecentMessages;
  /** Whether a connection is kept anyway. */
  isListening(): boolean;
  /** Does something with a connection that works. Rejects when there is none. */
  use<Result>(signal: AbortSignal | undefined, work: (wire: Wire) => Promise<Result>): Promise<Result>;
}

/** Of a `ProtocolMessage`. */
const kinds = { revoke: 0, edit: 14 } as const;
const pictureTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/webp']);

/**
 * Sends, edits and removes. Security: messages are made here and not by Baileys, which would fetch the first address in a text to make a
 * preview of it. No message has mentions, so nothing that a model writes rings for anybody.
 */
export class Speaker {
  readonly #parts: SpeakerParts;
  readonly #files: FileHosts;

  constructor(parts: SpeakerParts) {
    this.#parts = parts;
    this.#files = new FileHosts(parts.apiRoot);
  }

  async send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    const { ids, recent } = this.#parts;
    const jid = addressOf(place);
    const { file, key } = message;
    if (file && file.data.length > maxFileBytes) throw refused(`The file is larger than ${maxFileBytes} bytes.`);
    const id = ids.next(key);
    try {
      await this.#parts.use(signal, async (wire) => {
        const content = file ? await this.#withFile(wire, place, message, file) : this.#text(place, message);
        signal?.throwIfAborted();
        ids.sent(id);
        await wire.relay(jid, content, id);
      });
    } catch (error) {
      throw failureOf(error, key !== undefined);
    }
    recent.add(place.chat, id, { from: ownName, text: message.text });
    return id;
  }

  async edit(place: Place, id: string, message: Outgoing, signal: AbortSignal | undefined): Promise<void> {
    const { ids, recent } = this.#parts;
    const jid = addressOf(place);
    if (!ids.isOurs(id)) throw refused('This is not a message of ours.');
    if (!ids.isEditable(id)) throw refused('WhatsApp takes no edit of a message that is older than 15 minutes.');
    const editedMessage = { extendedTextMessage: { text: whatsAppText(message.text, maxText) } };
    await this.#change(jid, { type: kinds.edit, key: ownKey(jid, id), editedMessage, timestampMs: Date.now() }, '1', signal);
    recent.add(place.chat, id, { from: ownName, text: message.text });
  }

  async remove(place: Place, id: string, signal: AbortSignal | undefined): Promise<void> {
    const jid = addressOf(place);
    if (!this.#parts.ids.isOurs(id)) return;
    await this.#change(jid, { type: kinds.revoke, key: ownKey(jid, id) }, '7', signal);
  }

  /** Never rejects. */
  async typing(place: Place): Promise<void> {
    if (!this.#parts.isListening()) return;
    try {
      const jid = addressOf(place);
      await this.#parts.use(undefined, (wire) => wire.ask((socket) => socket.sendPresenceUpdate('composing', jid)));
    } catch {
      // It would have been gone in some seconds.
    }
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    const max = Math.min(maxBytes, maxFileBytes);
    const tooLarge = refused(`The file is larger than ${max} bytes.`);
    if (bytes !== undefined && bytes > max) throw tooLarge;
    const ref = fileRefOf(id);
    if (!ref) throw refused('This is not a file of WhatsApp.');
    try {
      const data = await decryptFile(this.#parts.baileys, await this.#files.download(ref.path, max), ref);
      if (data.length > max) throw tooLarge;
      return data;
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  async #change(jid: string, protocolMessage: object, kind: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#parts.use(signal, (wire) => wire.relay(jid, { protocolMessage }, this.#parts.ids.next(), { edit: kind }));
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  #text(place: Place, message: Outgoing): object {
    return { extendedTextMessage: { text: whatsAppText(message.text, maxText), ...this.#replying(place, message) } };
  }

  /** Pictures are shown, everything else is offered. */
  async #withFile(wire: Wire, place: Place, message: Outgoing, file: NonNullable<Outgoing['file']>): Promise<object> {
    const mimetype = guessType(file.data).split(';')[0] ?? 'application/octet-stream';
    const kind: MediaKind = pictureTypes.has(mimetype) && file.data.length <= maxPictureBytes ? 'image' : 'document';
    const { body, key, encryptedHash, hash } = await encryptFile(this.#parts.baileys, file.data, kind);
    const hosts = await wire.ask((socket) => socket.refreshMediaConn(false));
    const directPath = await this.#files.upload(body, encryptedHash, kind, hosts);
    const name = safeFileName(file.name);
    const media = {
      url: `https://mmg.whatsapp.net${directPath}`,
      directPath,
      mediaKey: key,
      mediaKeyTimestamp: Math.floor(Date.now() / 1000),
      fileEncSha256: encryptedHash,
      fileSha256: hash,
      fileLength: file.data.length,
      mimetype,
      caption: message.text === '' ? '' : whatsAppText(message.text, maxCaption),
      ...this.#replying(place, message),
    };
    return kind === 'image' ? { imageMessage: media } : { documentMessage: { ...media, fileName: name, title: name } };
  }

  /** A reply repeats what it replies to; without knowing that it is an ordinary message. */
  #replying(place: Place, { replyTo }: Outgoing): object {
    if (replyTo === undefined) return {};
    const { people, recent } = this.#parts;
    const { id, participant } = partsOfId(replyTo);
    const author = participant === undefined ? place.chat : people.find(participant);
    const known = recent.find(place.chat, messageId(id, author));
    if (!known) return {};
    const conversation = known.text.slice(0, maxQuote).toWellFormed();
    return { contextInfo: { stanzaId: id, participant: participant ?? addressOf(place), quotedMessage: { conversation } } };
  }
}

function ownKey(remoteJid: string, id: string): object {
  return { remoteJid, fromMe: true, id };
}
