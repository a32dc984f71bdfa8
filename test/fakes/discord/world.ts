import { type APIMessage, type APIUser, ChannelType, MessageType } from 'discord-api-types/v10';

/** A file as it was sent or uploaded. */
export interface FakeFile {
  name: string;
  data: Uint8Array;
}

export interface FakeChannel {
  id: string;
  name?: string;
  type: ChannelType;
  guild_id?: string;
  parent_id?: string;
  owner_id?: string;
  last_message_id?: string;
}

/** A message as Discord keeps it. */
export type FakeMessage = Omit<APIMessage, 'nonce'> & { guild_id?: string; member?: { nick?: string; roles: string[] }; nonce?: string };

/** What the bot sent. */
export interface BotMessage {
  message: FakeMessage;
  /** Every source it had. */
  versions: string[];
  file: FakeFile | undefined;
  flags: number;
  body: Record<string, unknown>;
}

export interface Said {
  from?: APIUser;
  channel: string;
  content?: string;
  replyTo?: string;
  files?: readonly FakeFile[];
  mentions?: readonly APIUser[];
  nick?: string;
  /** Anything else of a message, over what is made of the rest. */
  more?: Record<string, unknown>;
}

const user = (id: string, name: string, more: Partial<APIUser> = {}): APIUser => ({
  id,
  username: name.toLowerCase(),
  discriminator: '0',
  global_name: name,
  avatar: null,
  ...more,
});

export const bot = user('4242', 'Hermetic', { bot: true });
export const ada = user('1001', 'Ada');
export const bob = user('1002', 'Bob');
export const guild = '9000';
export const botRole = '9100';
const epoch = 1_420_070_400_000;

/** The channels of a bot and everything said in them, apart from how it is asked for. */
export class DiscordWorld {
  readonly channels = new Map<string, FakeChannel>();
  readonly messages = new Map<string, FakeMessage>();
  readonly sent: BotMessage[] = [];
  readonly files = new Map<string, FakeFile>();
  readonly typing: string[] = [];
  /** Interactions that wait for an answer, by id. */
  readonly openInteractions = new Map<string, string>();
  readonly interactionAnswers: { id: string; type: number; content: string | undefined; flags: number | undefined }[] = [];
  /** How many sessions may begin today. */
  sessionsLeft = 999;
  readonly notices: string[] = [];
  commands: unknown[] = [];
  /** The roles of people, as far as they are members of the server. */
  readonly members = new Map<string, string[]>();
  mayMakeThreads = true;
  /** The bot may read messages. */
  applicationFlags = 1 << 19;
  readonly #dispatch: (event: string, data: unknown) => void;
  readonly #root: () => string;
  #count = 0;

  constructor(dispatch: (event: string, data: unknown) => void, root: () => string) {
    this.#dispatch = dispatch;
    this.#root = root;
  }

  /** Grows with time, as Discord's ids do. */
  nextId(): string {
    this.#count += 1;
    return String((BigInt(Date.now() - epoch) << 22n) + BigInt(this.#count));
  }

  direct(id: string): void {
    this.channels.set(id, { id, type: ChannelType.DM });
  }

  textChannel(id: string): void {
    this.channels.set(id, { id, type: ChannelType.GuildText, guild_id: guild });
  }

  thread(id: string, parent: string, owner: string, name = 'a thread'): void {
    const thread: FakeChannel = { id, name, type: ChannelType.PublicThread, guild_id: guild, parent_id: parent, owner_id: owner };
    this.channels.set(id, thread);
    this.#dispatch('THREAD_CREATE', thread);
  }

  /** Somebody says something. */
  says({ from = ada, channel, content = '', replyTo, files = [], mentions = [], nick, more = {} }: Said): FakeMessage {
    const replied = replyTo === undefined ? undefined : this.messages.get(replyTo);
    const isInServer = this.channels.get(channel)?.guild_id !== undefined;
    const message = this.#make(channel, from, content, {
      ...(isInServer && { member: { roles: this.members.get(from.id) ?? [] } }),
      mentions: mentions as never,
      attachments: files.map((file) => this.attachment(file)) as never,
      ...(replyTo !== undefined && { type: MessageType.Reply, referenced_message: (replied ?? null) as never }),
      ...(nick !== undefined && { member: { nick, roles: this.members.get(from.id) ?? [] } }),
      ...more,
    });
    this.#dispatch('MESSAGE_CREATE', message);
    return message;
  }

  deliverAgain(): void {
    const last = [...this.messages.values()].filter(({ author }) => author.id !== bot.id).at(-1);
    this.#dispatch('MESSAGE_CREATE', last);
  }

  botSends(channel: string, body: Record<string, unknown>, file: FakeFile | undefined): FakeMessage {
    const nonce = typeof body.nonce === 'string' ? body.nonce : undefined;
    const earlier = this.sent.find(({ message }) => nonce !== undefined && message.nonce === nonce && message.channel_id === channel);
    if (earlier && body.enforce_nonce) return earlier.message;
    const reference = body.message_reference as { message_id?: string } | undefined;
    const replied = reference?.message_id === undefined ? undefined : this.messages.get(reference.message_id);
    const content = String(body.content ?? '');
    const message = this.#make(channel, bot, content, {
      components: (body.components ?? []) as never,
      attachments: (file ? [this.attachment(file)] : []) as never,
      ...(nonce !== undefined && { nonce }),
      ...(replied && {
        type: MessageType.Reply,
        message_reference: { message_id: replied.id } as never,
        referenced_message: replied as never,
      }),
    });
    this.sent.push({ message, versions: [content], file, flags: Number(body.flags ?? 0), body });
    this.#dispatch('MESSAGE_CREATE', message);
    return message;
  }

  presses(channel: string, message: string, data: string, from = ada): string {
    return this.#interacts(channel, from, { type: 3, data: { component_type: 2, custom_id: data }, message: this.messages.get(message) });
  }

  #interacts(channel: string, from: APIUser, what: Record<string, unknown>): string {
    const id = this.nextId();
    const token = `interaction-secret-${id}`;
    this.openInteractions.set(id, token);
    const place = this.channels.get(channel);
    const roles = this.members.get(from.id) ?? [];
    this.#dispatch('INTERACTION_CREATE', {
      ...{ id, application_id: bot.id, token, version: 1, channel: place, channel_id: channel },
      ...what,
      ...(place?.guild_id === undefined ? { user: from } : { guild_id: place.guild_id, member: { user: from, roles } }),
    });
    return id;
  }

  /** Somebody gives a command from the menu. */
  gives(channel: string, name: string, text: string | undefined, from = ada): string {
    const options = text === undefined ? [] : [{ type: 3, name: 'text', value: text }];
    return this.#interacts(channel, from, { type: 2, data: { id: '77', name, type: 1, options } });
  }

  attachment(file: FakeFile) {
    const id = this.nextId();
    this.files.set(id, file);
    return { id, filename: file.name, size: file.data.length, url: `${this.#root()}/attachments/${id}`, proxy_url: '' };
  }

  #make(channel: string, author: APIUser, content: string, more: Partial<FakeMessage>): FakeMessage {
    const place = this.channels.get(channel);
    if (!place) throw new Error(`no channel ${channel}`);
    const id = this.nextId();
    const message = {
      id,
      channel_id: channel,
      author,
      content,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      mentions: [],
      mention_roles: [],
      attachments: [],
      embeds: [],
      pinned: false,
      type: MessageType.Default,
      ...(place.guild_id !== undefined && { guild_id: place.guild_id }),
      ...more,
    } as FakeMessage;
    this.messages.set(id, message);
    place.last_message_id = id;
    return message;
  }
}
