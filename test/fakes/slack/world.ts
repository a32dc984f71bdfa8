export interface FakeFile {
  name: string;
  data: Uint8Array;
}

export interface StoredFile extends FakeFile {
  id: string;
  team: string;
  mimetype?: string;
  /** Where it is to be had, when not at its usual address. */
  address?: string;
  external?: boolean;
  shares: { public?: Record<string, { ts: string }[]>; private?: Record<string, { ts: string }[]> };
}

export interface FakeMessage extends Record<string, unknown> {
  type: 'message';
  channel: string;
  ts: string;
  user: string;
  text: string;
  bot_id?: string;
  thread_ts?: string;
  blocks?: unknown;
}

/** What the bot sent. */
export interface BotMessage {
  message: FakeMessage;
  /** All blocks it had. */
  versions: unknown[];
  file: FakeFile | undefined;
}

export interface Said {
  from?: string;
  channel: string;
  /** As a person wrote it. */
  text?: string;
  /** As Slack writes it. */
  source?: string;
  thread?: string;
  files?: readonly FakeFile[];
  /** Anything else of a message. */
  more?: Record<string, unknown>;
}

export interface FakeWorkspace {
  team: string;
  name: string;
  token: string;
  bot: string;
  botId: string;
  isRevoked?: boolean;
}

export const home: FakeWorkspace = {
  team: 'THOME1',
  name: 'Home',
  token: 'xoxb-1-secret-that-nobody-may-see',
  bot: 'UBOT1',
  botId: 'BBOT1',
};
export const ada = 'UADA1';
export const bob = 'UBOB1';

export const encoded = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Delivers an envelope; its id, or undefined when nobody listens. */
export type Deliver = (type: string, payload: Record<string, unknown>, mayAnswer?: boolean) => string | undefined;

/** Workspaces and everything said in them, apart from how it is asked for. */
export class SlackWorld {
  readonly workspaces: FakeWorkspace[] = [home];
  readonly channels = new Map<string, string>();
  readonly messages: FakeMessage[] = [];
  readonly sent: BotMessage[] = [];
  readonly files = new Map<string, StoredFile>();
  readonly names = new Map<string, string>([
    [ada, 'Ada'],
    [bob, 'Bob'],
  ]);
  readonly notices: { channel: string; user: string; text: string; thread: string | undefined }[] = [];
  /** By message, the envelopes that it was delivered in. */
  readonly envelopes = new Map<string, string[]>();
  readonly #deliver: Deliver;
  readonly #root: () => string;
  #last = 0n;
  #count = 0;

  constructor(deliver: Deliver, root: () => string) {
    this.#deliver = deliver;
    this.#root = root;
  }

  /** Grows with time. */
  nextTs(): string {
    const now = BigInt(Date.now()) * 1000n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    const text = String(this.#last);
    return `${text.slice(0, -6)}.${text.slice(-6)}`;
  }

  nextId(prefix: string): string {
    this.#count += 1;
    return `${prefix}${String(this.#count).padStart(6, '0')}`;
  }

  channel(id: string, team = home.team): void {
    this.channels.set(id, team);
  }

  workspaceOf(channel: string): FakeWorkspace {
    const team = this.channels.get(channel);
    const found = this.workspaces.find((one) => one.team === team);
    if (!found) throw new Error(`no channel ${channel}`);
    return found;
  }

  /** Somebody says something. */
  says(said: Said): FakeMessage {
    const message = this.makes(said);
    this.deliver(message);
    return message;
  }

  /** It is said, and nobody is told. */
  makes({ from = ada, channel, text = '', source = encoded(text), thread, files = [], more = {} }: Said): FakeMessage {
    const { team } = this.workspaceOf(channel);
    const message: FakeMessage = {
      type: 'message',
      channel,
      channel_type: channel.startsWith('D') ? 'im' : 'channel',
      user: from,
      team,
      text: source,
      ts: this.nextTs(),
      ...(thread !== undefined && { thread_ts: thread }),
      ...(files.length > 0 && { subtype: 'file_share', files: files.map((file) => this.#fileFacts(this.store(file, team))) }),
      ...more,
    };
    this.messages.push(message);
    return message;
  }

  deliver(message: FakeMessage, type = 'message'): void {
    const { team, bot } = this.workspaceOf(message.channel);
    const event = { ...message, type, event_ts: message.ts };
    const authorizations = [{ enterprise_id: null, team_id: team, user_id: bot, is_bot: true }];
    const payload = { token: 'verification-secret', team_id: team, api_app_id: 'A1', event, type: 'event_callback', authorizations };
    const envelope = this.#deliver('events_api', { ...payload, event_id: this.nextId('Ev') });
    if (envelope !== undefined) this.envelopes.set(message.ts, [...(this.envelopes.get(message.ts) ?? []), envelope]);
  }

  deliverAgain(): void {
    const last = this.messages.findLast(({ bot_id: bot }) => bot === undefined);
    if (last) this.deliver(last);
  }

  presses(channel: string, message: string, data: string, from = ada): void {
    const { team } = this.workspaceOf(channel);
    const found = this.messages.find((one) => one.channel === channel && one.ts === message);
    this.#deliver('interactive', {
      type: 'block_actions',
      token: 'verification-secret',
      user: { id: from, username: from.toLowerCase(), name: this.names.get(from) ?? from, team_id: team },
      team: { id: team, domain: 'home' },
      channel: { id: channel, name: 'x' },
      container: { type: 'message', message_ts: message, channel_id: channel, is_ephemeral: false },
      message: { ...found, team },
      trigger_id: this.nextId('trigger.'),
      response_url: `${this.#root()}/response/secret`,
      actions: [{ type: 'button', action_id: 'button-0-0', block_id: 'x', value: data, action_ts: this.nextTs() }],
    });
  }

  commands(channel: string, text: string, from = ada): string | undefined {
    return this.#deliver(
      'slash_commands',
      {
        token: 'verification-secret',
        team_id: this.workspaceOf(channel).team,
        channel_id: channel,
        user_id: from,
        user_name: this.names.get(from) ?? from,
        command: '/hermetic',
        text,
        response_url: `${this.#root()}/response/secret`,
        trigger_id: this.nextId('trigger.'),
      },
      true,
    );
  }

  botSends(workspace: FakeWorkspace, channel: string, body: Record<string, unknown>, file?: StoredFile): FakeMessage {
    const message: FakeMessage = {
      type: 'message',
      channel,
      user: workspace.bot,
      bot_id: workspace.botId,
      text: String(body.text ?? ''),
      ts: this.nextTs(),
      blocks: body.blocks ?? [],
      ...(typeof body.thread_ts === 'string' && { thread_ts: body.thread_ts }),
      ...(file && { files: [this.#fileFacts(file)] }),
    };
    this.messages.push(message);
    this.sent.push({ message, versions: [message.blocks], file });
    this.deliver(message);
    return message;
  }

  store(file: FakeFile, team: string): StoredFile {
    const stored: StoredFile = { ...file, id: this.nextId('F'), team, shares: {} };
    this.files.set(stored.id, stored);
    return stored;
  }

  fileFacts(file: StoredFile) {
    const facts = this.#fileFacts(file);
    return { ...facts, shares: file.shares, ...(file.external && { is_external: true }) };
  }

  #fileFacts({ id, name, data, mimetype = 'application/octet-stream', address }: StoredFile) {
    const url = address ?? `${this.#root()}/files-pri/${id}`;
    return { id, name, mimetype, size: data.length, mode: 'hosted', url_private: url, url_private_download: url };
  }
}
