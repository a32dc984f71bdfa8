import {
  type APIChannel,
  ChannelType,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
  type GatewayGuildCreateDispatchData,
} from 'discord-api-types/v10';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { isId } from './ids.ts';
import type { ChannelFacts } from './parse.ts';

/** More threads than these are forgotten; their messages count as those of a channel until Discord names them again. */
const maxKnown = 50_000;

interface KnownThread {
  parent: string;
  owner: string | undefined;
}

/** Which channels are threads, and which role is the bot's own, as Discord tells it before it sends messages of them. */
export class KnownChannels {
  readonly #threads = new BoundedMap<string, KnownThread>(maxKnown);
  readonly roles = new Map<string, string>();

  /** What is known of a channel; `server` is undefined in a chat with one person. */
  factsOf(channel: string, server: string | undefined, self: string): ChannelFacts {
    const thread = this.#threads.get(channel);
    return { isDirect: server === undefined, server, parent: thread?.parent, isOurs: thread?.owner === self };
  }

  take(event: GatewayDispatchPayload, self: string): void {
    switch (event.t) {
      case GatewayDispatchEvents.GuildCreate:
        this.#takeServer(event.d, self);
        break;
      case GatewayDispatchEvents.ThreadCreate:
      case GatewayDispatchEvents.ThreadUpdate:
        this.#learn(event.d);
        break;
      case GatewayDispatchEvents.ThreadListSync:
        for (const thread of event.d.threads ?? []) this.#learn(thread);
        break;
      case GatewayDispatchEvents.ThreadDelete:
        this.#threads.delete(event.d.id);
        break;
      default:
    }
  }

  #takeServer({ id, threads, roles }: GatewayGuildCreateDispatchData, self: string): void {
    for (const thread of threads ?? []) this.#learn(thread);
    const own = (roles ?? []).find((role) => role.tags?.bot_id === self);
    if (own) this.roles.set(id, own.id);
  }

  #learn({ id, parent_id: parent, owner_id: owner }: { id: string; parent_id?: string | null; owner_id?: string }): void {
    if (typeof id !== 'string' || typeof parent !== 'string') return;
    this.#threads.set(id, { parent, owner });
  }
}

/** The channels and threads of a server in which messages can be, each with the last of them. */
export function talkedIn({ channels, threads }: GatewayGuildCreateDispatchData): { id: string; last: string }[] {
  const all: readonly Pick<APIChannel, 'id' | 'type'>[] = [...(channels ?? []), ...(threads ?? [])];
  return all.flatMap((channel) => {
    const last = (channel as { last_message_id?: unknown }).last_message_id;
    // The last message of a forum is the last thread in it.
    const isForum = channel.type === ChannelType.GuildForum || channel.type === ChannelType.GuildMedia;
    return !isForum && isId(last) && isId(channel.id) ? [{ id: channel.id, last }] : [];
  });
}
