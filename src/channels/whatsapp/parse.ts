import {
  type Incoming,
  type IncomingFile,
  type IncomingMessage,
  type IncomingPress,
  type Place,
  reactionPrefix,
} from '../../core/channel.ts';
import type { RecentMessages } from '../recent-messages.ts';
import type { Self } from './account.ts';
import type { WireMessage } from './baileys.ts';
import { type Content, type ContextInfo, contentOf, fileOf, type MediaPart, type MessageRef, textOf } from './content.ts';
import { isGroup } from './jids.ts';
import { maxAgeMs } from './limits.ts';
import type { MessageIds } from './message-ids.ts';
import { isUser, type People } from './people.ts';

export interface ParseParts {
  mode: 'bot' | 'self';
  self: Self;
  people: Pick<People, 'idOf' | 'find'>;
  ids: Pick<MessageIds, 'isOurs'>;
  recent: RecentMessages;
}

/** undefined when it is nothing of a person that is meant for us to read. Throws when it is not what WhatsApp says it sends. */
export function parseMessage(wire: WireMessage, arrivedAt: number, parts: ParseParts): Incoming | undefined {
  const { key } = wire;
  const id = key.id;
  const at = Number(wire.messageTimestamp) * 1000;
  if (typeof id !== 'string' || !/^[\w.:-]{1,128}$/.test(id)) throw new Error('it has no id');
  if (!Number.isSafeInteger(at)) throw new Error('it has no time');
  const where = whereOf(wire, parts);
  const content = contentOf(wire.message);
  if (!where || !content || arrivedAt - at > maxAgeMs || parts.ids.isOurs(id)) return undefined;
  const { place, from, isDirect, participant } = where;
  const name = typeof wire.pushName === 'string' && wire.pushName !== '' ? wire.pushName : from;
  const happening = { id: messageId(id, participant), place, from: { id: from, name }, at: new Date(at), isDirect };
  if (content.reactionMessage) return reactionOf(content, happening, parts);
  const message = messageOf(content, happening, parts);
  if (message) parts.recent.add(place.chat, messageId(id, from), { from: name, text: textOf(content) });
  return message;
}

interface Where {
  place: Place;
  from: string;
  isDirect: boolean;
  /** In a group: the address of the sender. */
  participant: string | undefined;
}

/** Security: in a bot's account nothing that was sent from it counts, and in the owner's nothing but what they write to themselves. */
function whereOf({ key }: WireMessage, { mode, self, people }: ParseParts): Where | undefined {
  const isMine = key.fromMe === true;
  if (isMine !== (mode === 'self')) return undefined;
  if (isMine) {
    if (!isUser(key.remoteJid, self)) return undefined;
    return { place: placeOf(self.phone), from: self.phone, isDirect: true, participant: undefined };
  }
  if (isGroup(key.remoteJid)) {
    const from = people.idOf(key.participant, key.participantAlt);
    if (from === undefined || isUser(key.participant, self)) return undefined;
    return { place: placeOf(key.remoteJid), from, isDirect: false, participant: key.participant ?? undefined };
  }
  const from = people.idOf(key.remoteJid, key.remoteJidAlt);
  if (from === undefined || isUser(key.remoteJid, self)) return undefined;
  return { place: placeOf(from), from, isDirect: true, participant: undefined };
}

function placeOf(chat: string): Place {
  return { platform: 'whatsapp', workspace: undefined, chat, thread: undefined };
}

/** Senders choose the ids of their messages, so in a group two of them may choose the same. */
export function messageId(id: string, author: string | undefined): string {
  return author === undefined ? id : `${id}/${author}`;
}

/** The parts of an id, to reply to it. */
export function partsOfId(id: string): { id: string; participant: string | undefined } {
  const [first = '', participant] = id.split('/');
  return { id: first, participant };
}

type Happening = Pick<IncomingMessage, 'id' | 'place' | 'from' | 'at' | 'isDirect'>;

/** A reaction that was taken back is none. */
function reactionOf({ reactionMessage }: Content, happening: Happening, parts: ParseParts): IncomingPress | undefined {
  const { isDirect, ...common } = happening;
  const message = ownMessageId(reactionMessage?.key, isDirect, parts);
  const emoji = reactionMessage?.text;
  if (message === undefined || typeof emoji !== 'string' || emoji === '') return undefined;
  return { kind: 'press', ...common, data: reactionPrefix + emoji.slice(0, 40), message };
}

/**
 * undefined when it is not a message of ours. Security: people choose the ids of their messages and can choose one of
 * ours, so the message has to be from our account too. In a chat of the owner with themselves every message is: there
 * only the id tells ours.
 */
function ownMessageId(ref: MessageRef | null | undefined, isDirect: boolean, { ids, self }: ParseParts): string | undefined {
  if (!ids.isOurs(ref?.id) || ref?.fromMe !== true) return undefined;
  return isDirect || isUser(ref.participant, self) ? ref.id : undefined;
}

function messageOf(content: Content, happening: Happening, parts: ParseParts): IncomingMessage | undefined {
  const part = fileOf(content);
  const said = textOf(content);
  if (said === '' && !part) return undefined;
  const context = contextOf(content, part);
  const isForwarded = context?.isForwarded === true;
  const { self } = parts;
  const isMeant = !isForwarded && (mentions(context).some((jid) => isUser(jid, self)) || repliesToUs(context, parts));
  return {
    kind: 'message',
    ...happening,
    text: isForwarded ? said : withoutOurName(said, context, self),
    isAddressed: happening.isDirect || isMeant,
    ...(isForwarded && { forwarded: { from: '' } }),
    quoted: quotedIn(context, happening.place, parts),
    files: part ? [incomingFile(part)] : [],
  };
}

function contextOf(content: Content, part: MediaPart | undefined): ContextInfo | undefined {
  const context = part?.media.contextInfo ?? content.extendedTextMessage?.contextInfo ?? undefined;
  return typeof context === 'object' ? context : undefined;
}

function mentions(context: ContextInfo | undefined): unknown[] {
  return Array.isArray(context?.mentionedJid) ? context.mentionedJid : [];
}

function repliesToUs(context: ContextInfo | undefined, { self, ids }: ParseParts): boolean {
  if (!context?.quotedMessage) return false;
  return context.participant ? isUser(context.participant, self) : ids.isOurs(context.stanzaId);
}

/** WhatsApp writes a mention as the digits of an account, which say nothing to a reader. */
function withoutOurName(text: string, context: ContextInfo | undefined, { phone, lid }: Self): string {
  if (mentions(context).length === 0) return text;
  const names = [phone, lid].filter((name) => name !== undefined).join('|');
  return text.replace(new RegExp(`@(?:${names})(?!\\d)\\s?`, 'g'), '').trim();
}

/**
 * Security: the person who replies chooses the words and the author of a quote. So it has those of the message that we
 * know, and else no author.
 */
function quotedIn(context: ContextInfo | undefined, { chat }: Place, parts: ParseParts): IncomingMessage['quoted'] {
  if (!context?.quotedMessage) return undefined;
  const id = quotedId(context, parts);
  const known = id === undefined ? undefined : parts.recent.find(chat, id);
  if (known) return known;
  const content = contentOf(context.quotedMessage);
  return { from: '', text: content ? textOf(content) : '' };
}

/**
 * The id under which the message of a quote is remembered. In a chat of the owner with themselves both are one account:
 * only the id tells ours.
 */
function quotedId(context: ContextInfo, parts: ParseParts): string | undefined {
  const { stanzaId, participant } = context;
  if (typeof stanzaId !== 'string') return undefined;
  if (parts.ids.isOurs(stanzaId) && repliesToUs(context, parts)) return stanzaId;
  const author = isUser(participant, parts.self) ? parts.self.phone : parts.people.find(participant);
  return author === undefined ? undefined : messageId(stanzaId, author);
}

function incomingFile({ kind, media, name, mimeType, bytes }: MediaPart): IncomingFile {
  const text = (part: unknown): string => (part instanceof Uint8Array ? Buffer.from(part).toString('base64') : '');
  const id = JSON.stringify([
    kind,
    String(media.directPath ?? ''),
    text(media.mediaKey),
    text(media.fileEncSha256),
    text(media.fileSha256),
  ]);
  return { id, name, mimeType, bytes };
}
