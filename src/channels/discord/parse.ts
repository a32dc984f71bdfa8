import {
  type APIApplicationCommandInteractionDataOption,
  type APIAttachment,
  type APIChatInputApplicationCommandInteraction,
  type APIInteraction,
  type APIMessage,
  type APIMessageComponentInteraction,
  type APIUser,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ComponentType,
  InteractionType,
  MessageReferenceType,
  MessageType,
} from 'discord-api-types/v10';
import type { Incoming, IncomingFile, IncomingMessage, IncomingPress, Person, Place } from '../../core/channel.ts';
import { isId } from './ids.ts';

/** The bot itself, as far as it matters who is meant. */
export interface Self {
  id: string;
  /** By server: the role that Discord made for the bot. People name it and mean the bot. */
  roles: ReadonlyMap<string, string>;
}

/** What is known of the channel that a message is in. */
export interface ChannelFacts {
  isDirect: boolean;
  server: string | undefined;
  /** For a thread: the channel that it is in. */
  parent: string | undefined;
  /** The thread was begun by the bot, so everything in it is meant for it. */
  isOurs: boolean;
  /** A message in a channel is answered in a thread that begins with it. */
  beginsThread?: boolean;
}

/** What a message has that is delivered as it happens, and not when it is read later. */
export interface Delivered extends APIMessage {
  guild_id?: string;
  member?: { nick?: string | null; roles?: readonly string[] } | undefined;
}

/** A file of a message can be found again by these. */
const fileId = (channel: string, message: string, attachment: string): string => JSON.stringify([channel, message, attachment]);

export function filePlaceOf(id: string): { channel: string; message: string; attachment: string } | undefined {
  try {
    const [channel, message, attachment] = JSON.parse(id) as unknown[];
    return isId(channel) && isId(message) && isId(attachment) ? { channel, message, attachment } : undefined;
  } catch {
    return undefined;
  }
}

const spoken: ReadonlySet<MessageType> = new Set([MessageType.Default, MessageType.Reply]);

/** undefined for what is no message of a person: notices of Discord, and messages of programs. */
export function parseMessage(message: Delivered, self: Self, facts: ChannelFacts): IncomingMessage | undefined {
  refuseMalformed([message.id, message.channel_id], { content: message.content, timestamp: message.timestamp });
  const { author, webhook_id: webhook } = message;
  if (!spoken.has(message.type) || webhook !== undefined || !author || author.bot || author.system) return undefined;
  refuseMalformed([author.id], { 'author.username': author.username });
  const forwarded = forwardedIn(message);
  const said = forwarded ? forwarded.content : message.content;
  const files = filesOf(message, forwarded?.attachments ?? message.attachments ?? []);
  if (typeof said !== 'string') throw new Error('the forwarded text is missing.');
  if (said === '' && files.length === 0) return undefined;
  const replied = message.type === MessageType.Reply ? message.referenced_message : undefined;
  // A forwarded text does not address us in the name of the person who forwards it.
  const isMeant = !forwarded && (namesUs(message, self, facts) || replied?.author?.id === self.id);
  return {
    kind: 'message',
    id: message.id,
    place: placeOf(message.channel_id, facts, facts.beginsThread ? message.id : undefined),
    from: person(author, message.member),
    at: timeOf(message.timestamp),
    text: forwarded ? said : readable(said, message, self, facts),
    isDirect: facts.isDirect,
    isAddressed: facts.isDirect || facts.isOurs || isMeant,
    ...(forwarded && { forwarded: { from: '' } }),
    quoted: replied ? { from: replied.author ? person(replied.author, undefined).name : '', text: replied.content ?? '' } : undefined,
    files,
  };
}

/** A press of a button of ours, or a command from the menu. */
export function parseInteraction(interaction: APIInteraction, facts: ChannelFacts): Incoming | undefined {
  if (interaction.type === InteractionType.MessageComponent) return parsePress(interaction, facts);
  if (interaction.type === InteractionType.ApplicationCommand && interaction.data.type === ApplicationCommandType.ChatInput) {
    return parseCommand(interaction as APIChatInputApplicationCommandInteraction, facts);
  }
  return undefined;
}

/** Prefixed, because what a press and a message are numbered with are not of one kind. */
export const interactionPrefix = 'interaction:';

function parsePress(interaction: APIMessageComponentInteraction, facts: ChannelFacts): IncomingPress | undefined {
  const user = interaction.member?.user ?? interaction.user;
  if (!user || user.bot || interaction.data.component_type !== ComponentType.Button) return undefined;
  const { message } = interaction;
  refuseMalformed([interaction.id, message?.id, message?.channel_id, user.id], { custom_id: interaction.data.custom_id });
  return {
    kind: 'press',
    id: interactionPrefix + interaction.id,
    place: placeOf(message.channel_id, facts),
    from: person(user, interaction.member),
    at: new Date(),
    data: interaction.data.custom_id,
    message: message.id,
  };
}

function parseCommand(interaction: APIChatInputApplicationCommandInteraction, facts: ChannelFacts): IncomingMessage | undefined {
  const user = interaction.member?.user ?? interaction.user;
  if (!user || user.bot) return undefined;
  refuseMalformed([interaction.id, interaction.channel?.id, user.id], { 'data.name': interaction.data.name });
  return {
    kind: 'message',
    id: interactionPrefix + interaction.id,
    place: placeOf(interaction.channel.id, facts),
    from: person(user, interaction.member),
    at: new Date(),
    text: commandText(interaction),
    isDirect: facts.isDirect,
    isAddressed: true,
    quoted: undefined,
    files: [],
  };
}

/** As somebody would have written it. */
function commandText({ data }: APIChatInputApplicationCommandInteraction): string {
  const words = (data.options ?? []).map(optionText).filter((word) => word !== '');
  return [`/${data.name}`, ...words].join(' ');
}

function optionText(option: APIApplicationCommandInteractionDataOption<InteractionType.ApplicationCommand>): string {
  return option.type === ApplicationCommandOptionType.String ? String(option.value) : '';
}

/** Discord's deliveries are not checked against its types otherwise. What is wrong here would fail later, where less is known about it. */
function refuseMalformed(ids: readonly unknown[], texts: Record<string, unknown>): void {
  if (!ids.every(isId)) throw new Error('an id is missing.');
  for (const [name, value] of Object.entries(texts)) if (typeof value !== 'string') throw new Error(`${name} is not a text.`);
}

/** `beginning`: the message that a thread would begin with. */
function placeOf(channel: string, { server, parent }: ChannelFacts, beginning?: string): Place {
  const thread = parent === undefined ? beginning : channel;
  return { platform: 'discord', workspace: server, chat: parent ?? channel, thread };
}

function timeOf(timestamp: string): Date {
  const at = new Date(timestamp);
  if (Number.isNaN(at.getTime())) throw new Error('timestamp is no time.');
  return at;
}

/** In a chat with one person nobody has roles. */
function person({ id, username, global_name }: APIUser, member: Delivered['member'] | undefined): Person {
  const roles = member?.roles?.filter((role) => typeof role === 'string');
  return { id, name: member?.nick || global_name || username, ...(roles && roles.length > 0 && { roles }) };
}

function namesUs({ mentions, mention_roles: named }: APIMessage, { id, roles }: Self, { server }: ChannelFacts): boolean {
  const role = server === undefined ? undefined : roles.get(server);
  return (mentions ?? []).some((user) => user.id === id) || (role !== undefined && (named ?? []).includes(role));
}

/** Without our name at the beginning, and with the names of others instead of their numbers. */
function readable(text: string, { mentions }: APIMessage, { id, roles }: Self, { server }: ChannelFacts): string {
  const role = server === undefined ? undefined : roles.get(server);
  const ours = new RegExp(`^\\s*<@(?:!?${id}${role === undefined ? '' : `|&${role}`})>\\s*`);
  const names = new Map((mentions ?? []).map((user) => [user.id, user.global_name || user.username]));
  return text.replace(ours, '').replace(/<@!?(\d{1,20})>/g, (whole, user: string) => {
    const name = names.get(user);
    return name === undefined ? whole : `@${name}`;
  });
}

/** Discord does not say who wrote it. */
function forwardedIn({ message_reference: reference, message_snapshots: snapshots }: APIMessage) {
  if (reference?.type !== MessageReferenceType.Forward) return undefined;
  const { content = '', attachments = [] } = snapshots?.[0]?.message ?? {};
  return { content, attachments };
}

function filesOf({ id, channel_id }: APIMessage, attachments: readonly APIAttachment[]): IncomingFile[] {
  return attachments.map((file) => {
    refuseMalformed([file.id], { 'attachment.filename': file.filename });
    return { id: fileId(channel_id, id, file.id), name: file.filename, mimeType: file.content_type?.split(';')[0], bytes: file.size };
  });
}
