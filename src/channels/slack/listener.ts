import type { Accept, Incoming } from '../../core/channel.ts';
import type { Deliveries } from '../../core/set-aside.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { settlesWithin, within } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import { type Delivery, Intake } from '../intake.ts';
import type { ReadMark } from '../read-mark.ts';
import { mentionedUsers } from './entities.ts';
import { isTransient } from './failures.ts';
import { channelId, isId, messageId, microseconds, userId } from './ids.ts';
import type { KnownChats } from './known-chats.ts';
import { Lookups } from './lookups.ts';
import { MissedMessages } from './missed.ts';
import {
  type Conventions,
  isSpoken,
  listOf,
  parseCommand,
  parseMessage,
  parsePress,
  recordOf,
  type SlackMessage,
  threadOf,
} from './parse.ts';
import { Refusals } from './refusals.ts';
import type { Envelope } from './wire.ts';
import type { Workspace, Workspaces } from './workspaces.ts';

export interface ListenerParts {
  workspaces: Workspaces;
  conventions: Conventions;
  accept: Accept;
  health: Health;
  log: (sentence: string) => void;
  deliveries: Deliveries | undefined;
  mark: ReadMark;
  chats: KnownChats;
  signal: AbortSignal;
}

const farewellMs = 1_000;
/** Slack waits three seconds, and then shows that something went wrong. */
const deadlineMs = 2_500;
const membershipMs = 2_000;
const maxRemembered = 5_000;
/** Names in a text that are looked up. */
const maxNames = 20;
const notThere = 'I am not in this conversation, so I cannot answer here. Invite me, or write to me directly.';

/** Turns what Slack delivers into messages, and after a pause reads what was missed. */
export class Listener {
  readonly #parts: ListenerParts;
  readonly #intake: Intake;
  readonly #lookups: Lookups;
  readonly #missed: MissedMessages;
  readonly #refusals: Refusals;
  /** By message, the kind of event that it first came as: a mention comes as two. */
  readonly #kinds = new BoundedMap<string, unknown>(maxRemembered);

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#intake = new Intake({ ...parts, name: 'Slack' });
    this.#lookups = new Lookups(parts);
    this.#missed = new MissedMessages({ ...parts, intake: this.#intake, deliveryOf: (...given) => this.#deliveryOf(...given) });
    this.#refusals = new Refusals({ ...parts, intake: this.#intake, readMissed: (chats) => this.#missed.readAll(chats) });
  }

  connected(wasDeaf: boolean): void {
    if (wasDeaf) this.#missed.readAll([]);
  }

  /** Security: never throws, whatever is in it. */
  take(envelope: Envelope): void {
    const { type, payload, answer } = envelope;
    const content = recordOf(payload);
    try {
      if (type === 'events_api') this.#takeEvent(content, envelope);
      else if (type === 'interactive' && content.type === 'block_actions') this.#takePress(content, envelope);
      else if (type === 'slash_commands') this.#run(this.#takeCommand(content, envelope));
      else answer();
    } catch (error) {
      this.#parts.log(`Something that Slack delivered was ignored: ${errorText(error)}`);
      answer();
    }
  }

  /** Resolves when what is being accepted was, or after a while. */
  async farewell(): Promise<void> {
    const { mark, chats } = this.#parts;
    await settlesWithin(farewellMs, this.#intake.idle());
    await settlesWithin(farewellMs, Promise.all([mark.kept(), chats.kept()]));
  }

  #takeEvent(payload: Record<string, unknown>, { id: envelope, answer, refuse }: Envelope): void {
    const event: SlackMessage & { channel?: unknown } = recordOf(payload.event);
    const isMessage = event.type === 'message' || event.type === 'app_mention';
    const workspace = this.#workspaceOf([...listOf(payload.authorizations).map(({ team_id: team }) => team), payload.team_id]);
    if (!isMessage || !workspace) {
      answer();
      return;
    }
    const { team } = workspace;
    const channel = isId(event.channel, channelId) ? event.channel : '';
    this.#lookups.learn(team, channel, event);
    if (!isSpoken(event)) {
      answer();
      return;
    }
    if (this.#refusals.isFull) {
      if (channel !== '') this.#refusals.refused({ team, channel, thread: threadOrNothing(event) });
      refuse();
      return;
    }
    const { mark } = this.#parts;
    const ts = isId(event.ts, messageId) && channel !== '' ? event.ts : undefined;
    if (ts !== undefined) mark.begin(microseconds(ts));
    const missed = this.#missed.reading(team, channel);
    const accepting = this.#intake.inOrder(chatKey(team, channel), async (accept) => {
      // It may be among what was missed, which is accepted before.
      const isKnown = ts !== undefined && (missed?.has(ts) || this.#cameAsAnother(`${chatKey(team, channel)}/${ts}`, event.type));
      const isDone = isKnown || (await accept(await this.#deliveryOf(workspace, channel, event, envelope), 0));
      if (!isDone) return;
      if (ts !== undefined) mark.accepted(microseconds(ts));
      answer();
    });
    this.#run(accepting);
  }

  #cameAsAnother(message: string, kind: unknown): boolean {
    const first = this.#kinds.get(message);
    if (first !== undefined) return first !== kind;
    this.#kinds.set(message, kind);
    return false;
  }

  /** Finds out what the message itself does not say. Never rejects. */
  async #deliveryOf(workspace: Workspace, channel: string, message: SlackMessage, id?: string): Promise<Delivery> {
    const { team } = workspace;
    const { conventions } = this.#parts;
    const thread = threadOrNothing(message);
    const root = thread === undefined ? undefined : await this.#lookups.root(workspace, channel, thread);
    const text = typeof message.text === 'string' ? message.text : '';
    const users = [message.user, root?.user, ...mentionedUsers(text + (root?.text ?? ''))].filter((one) => isId(one, userId));
    const names = await this.#lookups.names(workspace, [...new Set(users)].slice(0, maxNames));
    return {
      id: isId(message.ts, messageId) ? `${chatKey(team, channel)}/${message.ts}` : (id ?? ''),
      chat: chatKey(team, channel),
      read: () => this.#remembered(parseMessage(message, { workspace, channel, root, names, conventions })),
      content: () => JSON.stringify({ team, channel, ...message }),
    };
  }

  /** So that what is said there while no gateway runs is found later. */
  #remembered(incoming: Incoming | undefined): Incoming | undefined {
    if (incoming?.kind !== 'message') return incoming;
    const { workspace: team = '', chat: channel, thread } = incoming.place;
    this.#parts.chats.heard({ team, channel, thread: undefined });
    if (thread !== undefined && incoming.isAddressed) this.#parts.chats.heard({ team, channel, thread });
    return incoming;
  }

  #takePress(payload: Record<string, unknown>, { id: envelope, answer, refuse }: Envelope): void {
    const workspace = this.#workspaceOf([recordOf(payload.message).team, recordOf(payload.team).id, recordOf(payload.user).team_id]);
    if (!workspace) {
      answer();
      return;
    }
    // Slack then shows to the person that it did not work.
    if (this.#refusals.isFull) {
      refuse();
      return;
    }
    const { team } = workspace;
    const channel = recordOf(payload.channel).id;
    const delivery: Delivery = {
      id: `press ${envelope}`,
      chat: chatKey(team, channel),
      read: () => parsePress(payload, team),
      content: () => withoutSecrets(payload),
    };
    this.#run(this.#acceptInTime(delivery, () => answer()));
  }

  async #takeCommand(payload: Record<string, unknown>, { id: envelope, answer, refuse }: Envelope): Promise<void> {
    const workspace = this.#workspaceOf([payload.team_id]);
    if (!workspace) return answer();
    if (this.#refusals.isFull) return refuse();
    const { team } = workspace;
    const { channel_id: channel, user_id: user, user_name: name } = payload;
    if (isId(channel, channelId) && !(await this.#isThere(workspace, channel))) {
      return answer({ response_type: 'ephemeral', text: notThere });
    }
    const names = new Map(typeof user === 'string' && typeof name === 'string' && name !== '' ? [[user, name]] : []);
    const delivery: Delivery = {
      id: `command ${envelope}`,
      chat: chatKey(team, channel),
      read: () => parseCommand(payload, team, names, this.#parts.conventions.commands),
      content: () => withoutSecrets(payload),
    };
    // Shows the others what was asked.
    await this.#acceptInTime(delivery, () => answer({ response_type: 'in_channel' }));
  }

  /** A command can be given anywhere, also where the bot is not. */
  async #isThere(workspace: Workspace, channel: string): Promise<boolean> {
    const chat = { team: workspace.team, channel, thread: undefined };
    const { chats, signal } = this.#parts;
    if (chats.has(chat)) return true;
    try {
      await workspace.client.call('conversations.history', { channel, limit: 1 }, { timeoutMs: membershipMs, signal });
      chats.heard(chat);
      return true;
    } catch (error) {
      return !(error instanceof CallError) || isTransient(error);
    }
  }

  /** Slack does not deliver it again, so nothing is lost when it is told before. */
  async #acceptInTime(delivery: Delivery, answer: () => void): Promise<void> {
    if (await within(deadlineMs, this.#intake.take(delivery, 0), () => true)) answer();
  }

  #workspaceOf(teams: readonly unknown[]): Workspace | undefined {
    for (const team of teams) {
      const found = this.#parts.workspaces.find(team);
      if (found) return found;
    }
    return undefined;
  }

  #run(work: Promise<void>): void {
    work.catch((error: unknown) => this.#parts.log(`Something that Slack delivered was not accepted: ${errorText(error)}`));
  }
}

/** Deliveries wait for those of the same conversation only. */
function chatKey(team: string, channel: unknown): string {
  return `${team}/${isId(channel, channelId) ? channel : ''}`;
}

function threadOrNothing(message: SlackMessage): string | undefined {
  try {
    return threadOf(message, String(message.ts));
  } catch {
    return undefined;
  }
}

/** Security: with these anyone can answer in our name. */
function withoutSecrets(payload: Record<string, unknown>): string {
  return JSON.stringify({ ...payload, token: undefined, response_url: undefined, response_urls: undefined, trigger_id: undefined });
}
