import { randomUUID } from 'node:crypto';
import type { RouteLike } from '@discordjs/rest';
import {
  type APIGuildMember,
  type APIInteraction,
  type APIMessage,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
  type GatewayReadyDispatchData,
  Routes,
} from 'discord-api-types/v10';
import type { Accept, Incoming, IncomingMessage } from '../../core/channel.ts';
import type { Deliveries } from '../../core/set-aside.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import { type Delivery, Intake } from '../intake.ts';
import type { ReadMark } from '../read-mark.ts';
import type { RememberedChats } from '../remembered-chats.ts';
import { KnownChannels, talkedIn } from './channel-facts.ts';
import type { DiscordClient } from './client.ts';
import { isId } from './ids.ts';
import type { Interactions } from './interactions.ts';
import type { OwnThreads } from './own-threads.ts';
import { type Delivered, parseInteraction, parseMessage, type Self } from './parse.ts';
import type { Speaker } from './speaker.ts';

export interface ListenerParts {
  client: DiscordClient;
  /** Messages in channels are answered in threads of their own. */
  threads: OwnThreads | undefined;
  speaker: Speaker;
  interactions: Interactions;
  accept: Accept;
  health: Health;
  log: (sentence: string) => void;
  deliveries: Deliveries | undefined;
  mark: ReadMark;
  /** The chats with one person, which Discord does not list. */
  direct: RememberedChats;
  signal: AbortSignal;
}

const pageSize = 100;
const pauses = { firstMs: 500, maxMs: 30_000 };
const farewellMs = 1_000;
/** Of a channel: what was said after `after` was read up to `last`. */
interface Reading {
  after: bigint;
  last: bigint;
}

/** The author's roles as they are now. Messages that are read later come without them. */
type MemberOf = (message: APIMessage) => Promise<Pick<Delivered, 'member'>>;

/** Turns what Discord delivers into messages, and after a new session reads what was missed. */
export class Listener {
  readonly #parts: ListenerParts;
  readonly #intake: Intake;
  readonly #channels = new KnownChannels();
  /** Channels of which what was missed is being read, and how far. */
  readonly #reading = new Map<string, Reading>();
  /** Servers of which it is not known yet what was missed. Called when it is, each lets the mark go on. */
  readonly #undescribed = new Map<string, () => void>();
  /** Lets the mark go on that stays before the first event that was not taken. */
  #catchUp: (() => void) | undefined;
  #self: Self = { id: '', roles: this.#channels.roles };

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#intake = new Intake({ ...parts, name: 'Discord' });
  }

  ready({ user, guilds }: GatewayReadyDispatchData): void {
    this.#self = { id: user.id, roles: this.#channels.roles };
    this.#awaitServers(Array.isArray(guilds) ? guilds.flatMap((server) => (isId(server?.id) ? [server.id] : [])) : []);
    for (const channel of this.#parts.direct.names) this.#readMissed(channel, undefined);
    this.resumed();
  }

  /** Events that were not taken come again, or are being read. */
  resumed(): void {
    this.#catchUp?.();
    this.#catchUp = undefined;
  }

  /**
   * False when there is no room for it. Never throws: nothing that Discord sends may end the program or the
   * connection.
   */
  take(event: GatewayDispatchPayload): boolean {
    const isSaid = event.t === GatewayDispatchEvents.MessageCreate || event.t === GatewayDispatchEvents.InteractionCreate;
    if (isSaid && this.#intake.isFull()) {
      this.#catchUp ??= this.#parts.mark.hold();
      return false;
    }
    try {
      this.#take(event);
    } catch (error) {
      this.#parts.log(`Discord sent something that cannot be read (${event.t}): ${errorText(error)}`);
    }
    return true;
  }

  /** Resolves when events are taken again. */
  async room(): Promise<void> {
    await this.#intake.room();
  }

  #take(event: GatewayDispatchPayload): void {
    this.#channels.take(event, this.#self.id);
    if (event.t === GatewayDispatchEvents.GuildCreate) {
      const { value } = this.#parts.mark;
      for (const { id, last } of talkedIn(event.d)) if (BigInt(last) > value) this.#readMissed(id, event.d.id);
      this.#described(event.d.id);
    } else if (event.t === GatewayDispatchEvents.GuildDelete) {
      // An outage ends with a description; a server that the bot is no longer in has none.
      if (event.d.unavailable !== true) this.#described(event.d.id);
    } else if (event.t === GatewayDispatchEvents.MessageCreate) this.#takeMessage(event.d as Delivered);
    else if (event.t === GatewayDispatchEvents.InteractionCreate) this.#takeInteraction(event.d);
  }

  /** Discord describes servers one after the other. What is said meanwhile elsewhere must not move the mark beyond what was missed there. */
  #awaitServers(servers: readonly string[]): void {
    const earlier = [...this.#undescribed.values()];
    this.#undescribed.clear();
    for (const server of servers) this.#undescribed.set(server, this.#parts.mark.hold());
    for (const release of earlier) release();
  }

  #described(server: string): void {
    this.#undescribed.get(server)?.();
    this.#undescribed.delete(server);
  }

  /** Resolves when what is being accepted was, or after a while. */
  async farewell(): Promise<void> {
    await settlesWithin(farewellMs, this.#intake.idle());
    await settlesWithin(farewellMs, Promise.all([this.#parts.mark.kept(), this.#parts.direct.kept()]));
  }

  #takeMessage(message: Delivered): void {
    const { mark } = this.#parts;
    if (!isId(message.id) || !isId(message.channel_id)) {
      void this.#intake.take({ ...this.#deliveryOf(message), id: randomUUID(), chat: '' }, 0);
      return;
    }
    if (message.guild_id === undefined) this.#parts.direct.heard(message.channel_id);
    mark.begin(BigInt(message.id));
    const reading = this.#reading.get(message.channel_id);
    const delivery = this.#deliveryOf(message);
    // It may be among what was missed, which is accepted before.
    const read = (): Incoming | undefined => (reading && wasRead(reading, message.id) ? undefined : delivery.read());
    void this.#intake.take({ ...delivery, read }, 0).then((isDone) => {
      if (isDone) mark.accepted(BigInt(message.id));
    });
  }

  #deliveryOf(message: Delivered): Delivery {
    return {
      id: message.id,
      chat: message.channel_id,
      read: () => this.#read(message),
      content: () => JSON.stringify(message),
    };
  }

  #read(message: Delivered): IncomingMessage | undefined {
    const { threads } = this.#parts;
    const facts = this.#channels.factsOf(message.channel_id, message.guild_id, this.#self.id);
    const incoming = parseMessage(message, this.#self, { ...facts, beginsThread: threads !== undefined && !facts.isDirect });
    if (incoming?.place.thread === message.id) threads?.expect(message.id, incoming.text);
    return incoming;
  }

  #takeInteraction(interaction: APIInteraction): void {
    const { id, application_id: application, token, guild_id: server } = interaction;
    if (!isId(id) || !isId(application) || typeof token !== 'string') throw new Error('an interaction without an id');
    const channel = interaction.channel?.id ?? '';
    const acknowledged = Promise.withResolvers<void>();
    this.#parts.interactions.add(id, { application, token, acknowledged: acknowledged.promise });
    let command: string | undefined;
    const delivery: Delivery = {
      id: `interaction ${id}`,
      chat: channel,
      read: () => {
        const incoming = parseInteraction(interaction, this.#channels.factsOf(channel, server, this.#self.id));
        if (incoming?.kind === 'message') command = incoming.text;
        return incoming;
      },
      // Security: with the token anyone can answer in our name.
      content: () => JSON.stringify({ ...interaction, token: undefined }),
    };
    void this.#intake.take(delivery, 0).then(async (isDone) => {
      if (isDone) await this.#parts.speaker.acknowledge(id, token, command);
      acknowledged.resolve();
    });
  }

  /** What was said in a channel since the mark, before what is delivered from now on. */
  #readMissed(channel: string, server: string | undefined): void {
    const { mark } = this.#parts;
    const release = mark.hold();
    const reading: Reading = { after: mark.value, last: mark.value };
    this.#reading.set(channel, reading);
    const memberOf = this.#members(server);
    void this.#intake.missed(channel, async (accept) => {
      for (let last: string | undefined = String(reading.after); last !== undefined; ) {
        const page = await this.#pageAfter(channel, last);
        if (!page || !(await this.#acceptAll(page, server, memberOf, accept))) return;
        const newest = page.at(-1)?.id;
        if (newest !== undefined) reading.last = BigInt(newest);
        last = page.length < pageSize ? undefined : newest;
      }
      if (this.#reading.get(channel) === reading) this.#reading.delete(channel);
      release();
      const isLast = this.#reading.size === 0 && this.#undescribed.size === 0;
      // The others are accepted, so their tries need not be kept.
      if (isLast) await this.#parts.deliveries?.trying([], []).catch(() => undefined);
    });
  }

  /** False when the signal ended it. */
  async #acceptAll(page: readonly APIMessage[], server: string | undefined, memberOf: MemberOf, accept: Intake['take']): Promise<boolean> {
    const { mark, deliveries } = this.#parts;
    const ids = page.map(({ id }) => id);
    const tries = await deliveries?.trying(ids, 'all').catch(() => undefined);
    for (const message of page) {
      const tried = tries ? tries.get(message.id) : 0;
      const delivered = server === undefined ? message : { ...message, guild_id: server, ...(await memberOf(message)) };
      // undefined: it was set aside.
      const isDone = tried === undefined || (await accept(this.#deliveryOf(delivered), tried));
      if (!isDone) return false;
      mark.accepted(BigInt(message.id));
    }
    return true;
  }

  /** The oldest first; none when Discord does not let us read them. undefined when the signal ended it. */
  async #pageAfter(channel: string, after: string): Promise<APIMessage[] | undefined> {
    const query = new URLSearchParams({ after, limit: String(pageSize) });
    const page = await this.#get<APIMessage[]>(Routes.channelMessages(channel), query);
    const messages = Array.isArray(page) ? page.filter((message) => isId(message?.id)) : [];
    return this.#parts.signal.aborted ? undefined : messages.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
  }

  /** Asks once for each author. */
  #members(server: string | undefined): MemberOf {
    const known = new Map<string, Pick<Delivered, 'member'>>();
    return async ({ author }) => {
      if (server === undefined || !isId(author?.id) || author.bot) return {};
      const member = known.get(author.id) ?? { member: await this.#get<APIGuildMember>(Routes.guildMember(server, author.id)) };
      known.set(author.id, member);
      return member;
    };
  }

  /** As often as it takes. undefined when Discord refuses it, or with the signal. */
  async #get<Result>(route: RouteLike, query?: URLSearchParams): Promise<Result | undefined> {
    const { client, signal } = this.#parts;
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await client.call<Result>('GET', route, { signal, ...(query && { query }) });
      } catch (error) {
        if (error instanceof CallError && error.isRefused) return undefined;
        const retryAfterMs = error instanceof CallError ? error.retryAfterMs : undefined;
        await pause(Math.max(retryAfterMs ?? backoffMs(failures, pauses), pauses.firstMs), signal);
      }
    }
    return undefined;
  }
}

function wasRead({ after, last }: Reading, message: string): boolean {
  return BigInt(message) > after && BigInt(message) <= last;
}
