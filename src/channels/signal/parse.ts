import {
  type Incoming,
  type IncomingFile,
  type IncomingMessage,
  type IncomingPress,
  type Person,
  reactionPrefix,
} from '../../core/channel.ts';
import type { BoundedMap } from '../../lib/bounded-map.ts';
import { ownName, type RecentMessages } from '../recent-messages.ts';
import { accountId, groupChat, messageId, placeOf } from './ids.ts';
import type { Named, Self } from './self.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface ParseFacts {
  self: Self;
  /** The names that people gave themselves, by account id: mentions do not say. */
  names: BoundedMap<string, string>;
  recent: RecentMessages;
  /** Listens to Note to Self, and to nothing else. */
  noteToSelf: boolean;
  /** Whether we sent what has this time. */
  isOurs(timestamp: number): boolean;
  /** The message of ours that has this time, or had it after an edit. */
  originalOf(timestamp: number): string;
}

/** What somebody sent, as signal-cli tells it. */
interface Spoken {
  envelope: Fields;
  data: Fields;
  /** From another device of our own account, to itself. */
  isNote: boolean;
}

/** undefined for what is no message of a person: receipts, typing, calls, stories, edits, and what our own account sends to others. */
export function parseEvent(event: unknown, facts: ParseFacts): Incoming | undefined {
  const spoken = spokenIn(event, facts.self);
  if (!spoken || spoken.isNote !== facts.noteToSelf) return undefined;
  const { envelope, data, isNote } = spoken;
  if (data.remoteDelete || data.storyContext) return undefined;
  const from = personOf(envelope);
  facts.names.set(from.id, from.name);
  const timestamp = timeOf(data.timestamp ?? envelope.timestamp, 'timestamp');
  if (isNote && facts.isOurs(timestamp)) return undefined;
  const group = fieldsOf(data.groupInfo, 'groupInfo');
  const happening = {
    place: placeOf(group ? groupChat(group.groupId) : from.id),
    from,
    // The sender chooses the other time.
    at: new Date(timeOf(envelope.serverReceivedTimestamp ?? envelope.timestamp, 'serverReceivedTimestamp')),
  };
  const reaction = fieldsOf(data.reaction, 'reaction');
  if (reaction) return pressOf(happening, messageId(from.id, timestamp), reaction, facts);
  const message = messageOf(happening, messageId(from.id, timestamp), data, facts);
  if (message) facts.recent.add(message.place.chat, message.id, { from: from.name, text: message.text });
  return message;
}

/** In whose order an event is accepted; undefined for an event that nobody said. */
export function chatOf(event: unknown, self: Self): string | undefined {
  const spoken = spokenIn(event, self);
  if (!spoken) return undefined;
  const group = (spoken.data.groupInfo as Fields | null | undefined)?.groupId;
  return typeof group === 'string' ? group : String(spoken.envelope.sourceUuid);
}

/** For whom the daemon received it, where it says so. */
export function accountOf(event: unknown): string | undefined {
  const account = (resultIn(event) as { account?: unknown } | undefined)?.account;
  return typeof account === 'string' ? account : undefined;
}

function spokenIn(event: unknown, self: Self): Spoken | undefined {
  const envelope = fieldsOf(resultIn(event)?.envelope, 'envelope');
  if (!envelope) return undefined;
  const uuid = accountId(envelope.sourceUuid);
  const isUs = self.is({ uuid, number: envelope.sourceNumber ?? envelope.source });
  const data = fieldsOf(envelope.dataMessage, 'dataMessage');
  if (data) return isUs ? undefined : { envelope, data, isNote: false };
  const sent = fieldsOf(fieldsOf(envelope.syncMessage, 'syncMessage')?.sentMessage, 'sentMessage');
  // Security: only our own devices may speak for our account.
  if (!sent || !isUs || sent.groupInfo) return undefined;
  const to = { uuid: accountId(sent.destinationUuid), number: sent.destinationNumber ?? sent.destination };
  return self.is(to) ? { envelope, data: sent, isNote: true } : undefined;
}

/** A subscription wraps what it delivers once more. */
function resultIn(event: unknown): Fields | undefined {
  const outer = fieldsOf(event, 'event');
  return outer?.envelope === undefined ? (fieldsOf(outer?.result, 'result') ?? outer) : outer;
}

function pressOf(happening: Pick<IncomingPress, 'place' | 'from' | 'at'>, id: string, reaction: Fields, facts: ParseFacts) {
  const author = { uuid: accountId(reaction.targetAuthorUuid), number: reaction.targetAuthorNumber ?? reaction.targetAuthor };
  if (reaction.isRemove === true || !facts.self.is(author)) return undefined;
  const message = facts.originalOf(timeOf(reaction.targetSentTimestamp, 'targetSentTimestamp'));
  const press: IncomingPress = {
    kind: 'press',
    ...happening,
    id: `reaction:${id}`,
    data: reactionPrefix + textOf(reaction.emoji, 'emoji'),
    message,
  };
  return press;
}

function messageOf(
  { place, from, at }: Pick<IncomingMessage, 'place' | 'from' | 'at'>,
  id: string,
  data: Fields,
  facts: ParseFacts,
): IncomingMessage | undefined {
  const said = readable(optionalText(data.message, 'message'), data.mentions, facts);
  const files = listOf(data.attachments, 'attachments').map((one) => fileOf(one, place.chat));
  if (said.text === '' && files.length === 0) return undefined;
  const quote = fieldsOf(data.quote, 'quote');
  const author = { uuid: accountId(quote?.authorUuid ?? quote?.author), number: quote?.authorNumber ?? quote?.author };
  const isReply = quote !== undefined && facts.self.is(author);
  const isDirect = place.chat === from.id;
  return {
    kind: 'message',
    id,
    place,
    from,
    at,
    text: said.text,
    isDirect,
    isAddressed: isDirect || said.namesUs || isReply,
    quoted: quote && quotedOf(quote, author, place.chat, facts),
    files,
  };
}

/**
 * Security: the person who replies chooses the words and the author of a quote. So it has those of the message that we
 * know, and else no author.
 */
function quotedOf(quote: Fields, author: Named, chat: string, facts: ParseFacts): NonNullable<IncomingMessage['quoted']> {
  const known = quotedIds(quote.id, author, facts).map((id) => facts.recent.find(chat, id));
  const text = readable(optionalText(quote.text, 'quote.text'), quote.mentions, facts, true).text;
  return known.find((one) => one !== undefined) ?? { from: '', text };
}

/** Ids under which the message may be remembered: in Note to Self the owner and we are one account. */
function quotedIds(timestamp: unknown, author: Named, { self, originalOf }: ParseFacts): string[] {
  if (typeof timestamp !== 'number') return [];
  const isOurs = self.is(author);
  const person = isOurs ? self.uuid : author.uuid;
  return [...(isOurs ? [originalOf(timestamp)] : []), ...(person === undefined ? [] : [messageId(person, timestamp)])];
}

/** Where somebody is mentioned a text has a sign that stands for them. Our name at the beginning is left out. */
function readable(text: string, mentions: unknown, facts: ParseFacts, keepsOurs = false): { text: string; namesUs: boolean } {
  const found = listOf(mentions, 'mentions')
    .map((one) => ({ ...one, start: Number(one.start), length: Number(one.length) }))
    .filter(({ start, length }) => Number.isInteger(start) && Number.isInteger(length) && start >= 0 && length > 0)
    .toSorted((one, other) => other.start - one.start);
  let result = text;
  let limit = text.length;
  let namesUs = false;
  for (const { start, length, ...mention } of found) {
    if (start + length > limit) continue;
    limit = start;
    const uuid = accountId((mention as Fields).uuid);
    const isUs = facts.self.is({ uuid, number: (mention as Fields).number ?? (mention as Fields).name });
    namesUs ||= isUs;
    const rest = result.slice(start + length);
    if (isUs && !keepsOurs && text.slice(0, start).trim() === '') result = rest.trimStart();
    else result = `${result.slice(0, start)}@${isUs ? ownName : nameOf(uuid, facts)}${rest}`;
  }
  return { text: result, namesUs };
}

function nameOf(uuid: string | undefined, { names }: ParseFacts): string {
  return uuid === undefined ? 'somebody' : (names.get(uuid) ?? uuid);
}

function personOf({ sourceUuid, sourceName, sourceNumber }: Fields): Person {
  const id = accountId(sourceUuid);
  if (id === undefined) throw new Error('sourceUuid is not the id of an account.');
  const name = [sourceName, sourceNumber].find((one) => typeof one === 'string' && one !== '') ?? id;
  return { id, name: String(name) };
}

/** A file can be found again by these. */
function fileOf({ id, filename, contentType, size }: Fields, chat: string): IncomingFile {
  const name = typeof filename === 'string' && filename !== '' ? filename : textOf(id, 'attachment.id');
  return {
    id: JSON.stringify([textOf(id, 'attachment.id'), chat]),
    name,
    mimeType: typeof contentType === 'string' ? contentType.split(';')[0] : undefined,
    bytes: typeof size === 'number' && size >= 0 ? size : undefined,
  };
}

/** Security: the daemon looks for a file of this name. */
export function fileNamed(id: string): { id: string; chat: string } | undefined {
  try {
    const [name, chat] = JSON.parse(id) as unknown[];
    const isName = typeof name === 'string' && /^[\w-][\w.-]{0,199}$/.test(name);
    return isName && typeof chat === 'string' ? { id: name, chat } : undefined;
  } catch {
    return undefined;
  }
}

/** undefined when there is none. Throws when it is something else. */
function fieldsOf(value: unknown, name: string): Fields | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${name} is not an object.`);
  return value as Fields;
}

function listOf(value: unknown, name: string): Fields[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${name} is not a list.`);
  return value.map((one) => fieldsOf(one, name) ?? {});
}

function textOf(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new Error(`${name} is not a text.`);
  return value;
}

function optionalText(value: unknown, name: string): string {
  return value === undefined || value === null ? '' : textOf(value, name);
}

/** Milliseconds, as a date can have them. */
function timeOf(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 8.64e15) throw new Error(`${name} is not a time.`);
  return value;
}
