import type { Deliveries } from '../../core/set-aside.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { CallSlots } from '../../lib/call-slots.ts';
import { errorText } from '../../lib/error-text.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Delivery, Intake } from '../intake.ts';
import type { ReadMark } from '../read-mark.ts';
import { isTransient, reasonOf, SlackCallError } from './failures.ts';
import { isId, messageId, messageIdAt, microseconds } from './ids.ts';
import type { KnownChats } from './known-chats.ts';
import { isSpoken, listOf, recordOf, type SlackMessage } from './parse.ts';
import type { Workspace, Workspaces } from './workspaces.ts';

export interface MissedParts {
  workspaces: Workspaces;
  intake: Intake;
  deliveries: Deliveries | undefined;
  mark: ReadMark;
  chats: KnownChats;
  log: (sentence: string) => void;
  signal: AbortSignal;
  deliveryOf(workspace: Workspace, channel: string, message: SlackMessage): Promise<Delivery>;
}

type Found = SlackMessage & { ts: string };

const pageSize = 200;
const maxPages = 5;
/** Slack limits how often it may be asked. */
const maxCalls = 4;
const maxTries = 8;
const pauses = { firstMs: 500, maxMs: 30_000 };
/** Nothing can be read there any more. */
const goneCodes: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'thread_not_found',
  'message_not_found',
]);

/** Reads what was said while there was no connection: Slack tries three times to deliver it, and then no more. */
export class MissedMessages {
  readonly #parts: MissedParts;
  readonly #slots = new CallSlots(maxCalls);
  /** Conversations that are being read, and what of them was accepted. */
  readonly #reading = new Map<string, Set<string>>();
  readonly #trying = new Set<string>();

  constructor(parts: MissedParts) {
    this.#parts = parts;
  }

  /** In every conversation that is known, before what is delivered there from now on. */
  readAll(): void {
    const threads = new Map<string, string[]>();
    for (const { team, channel, thread } of this.#parts.chats.all) {
      const key = keyOf(team, channel);
      const known = threads.get(key) ?? [];
      threads.set(key, thread === undefined ? known : [...known, thread]);
    }
    for (const [key, known] of threads) {
      const [team = '', channel = ''] = key.split('/');
      const workspace = this.#parts.workspaces.find(team);
      if (workspace) this.#read(workspace, channel, known);
    }
  }

  /** What was accepted of a conversation that is being read: grows. */
  reading(team: string, channel: string): ReadonlySet<string> | undefined {
    return this.#reading.get(keyOf(team, channel));
  }

  #read(workspace: Workspace, channel: string, threads: readonly string[]): void {
    const { mark, intake, log } = this.#parts;
    const key = keyOf(workspace.team, channel);
    const after = messageIdAt(mark.value);
    const release = mark.hold();
    const accepted = new Set<string>();
    this.#reading.set(key, accepted);
    const reading = intake.inOrder(key, async (accept) => {
      const found = await this.#find(workspace, channel, threads, after);
      if (!found || !(await this.#acceptAll(found, workspace, channel, accepted, accept))) return;
      if (this.#reading.get(key) === accepted) this.#reading.delete(key);
      release();
    });
    reading.catch((error: unknown) => log(`What was said on Slack meanwhile could not be read: ${errorText(error)}`));
  }

  /** False when the signal ended it. */
  async #acceptAll(
    found: readonly Found[],
    workspace: Workspace,
    channel: string,
    accepted: Set<string>,
    accept: Intake['take'],
  ): Promise<boolean> {
    const { mark, deliveries } = this.#parts;
    const idOf = ({ ts }: Found): string => `${keyOf(workspace.team, channel)}/${ts}`;
    const ids = found.map(idOf);
    for (const id of ids) this.#trying.add(id);
    const tries = await deliveries?.trying(ids, [...this.#trying]).catch(() => undefined);
    for (const message of found) {
      const tried = tries ? tries.get(idOf(message)) : 0;
      // undefined: it was set aside.
      const isDone = tried === undefined || (await accept(await this.#parts.deliveryOf(workspace, channel, message), tried));
      if (!isDone) return false;
      accepted.add(message.ts);
      mark.accepted(microseconds(message.ts));
    }
    for (const id of ids) this.#trying.delete(id);
    return true;
  }

  /** The oldest first. undefined when the signal ended it. */
  async #find(workspace: Workspace, channel: string, known: readonly string[], after: string): Promise<Found[] | undefined> {
    const said = await this.#pages(workspace, 'conversations.history', { channel, oldest: after });
    if (!said) return undefined;
    const isLater = (id: unknown): boolean => isId(id, messageId) && microseconds(id) > microseconds(after);
    const answered = said.filter((message) => isLater(message.latest_reply)).map(({ ts }) => ts);
    const all = new Map(said.map((message) => [message.ts, message]));
    for (const thread of new Set([...known, ...answered])) {
      const replies = await this.#pages(workspace, 'conversations.replies', { channel, ts: thread, oldest: after });
      if (!replies) return undefined;
      for (const reply of replies) if (reply.ts !== thread) all.set(reply.ts, reply);
    }
    const missed = [...all.values()].filter((message) => isLater(message.ts) && isSpoken(message));
    return missed.toSorted((one, other) => (microseconds(one.ts) < microseconds(other.ts) ? -1 : 1));
  }

  /** None when Slack does not let us read them. undefined when the signal ended it. */
  async #pages(
    workspace: Workspace,
    method: string,
    wanted: { channel: string; oldest: string; ts?: string },
  ): Promise<Found[] | undefined> {
    const found: Found[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const answer = await this.#page(workspace, method, { ...wanted, limit: pageSize, ...(cursor !== undefined && { cursor }) });
      if (!answer) return this.#parts.signal.aborted ? undefined : found;
      found.push(...listOf(answer.messages).filter((message): message is Found & Record<string, unknown> => isId(message.ts, messageId)));
      const { next_cursor: next } = recordOf(answer.response_metadata);
      if (typeof next !== 'string' || next === '') return found;
      cursor = next;
    }
    this.#parts.log(`More was said in a conversation on Slack meanwhile than is read: only ${found.length} messages are.`);
    return found;
  }

  async #page(
    workspace: Workspace,
    method: string,
    wanted: { channel: string; ts?: string } & Record<string, unknown>,
  ): Promise<Record<string, unknown> | undefined> {
    const { signal, log, chats } = this.#parts;
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await this.#slots.run(() => workspace.client.call<Record<string, unknown>>(method, wanted, { signal }));
      } catch (error) {
        if (!(error instanceof CallError)) return undefined;
        if (error instanceof SlackCallError && goneCodes.has(error.code)) {
          chats.forget({ team: workspace.team, channel: wanted.channel, thread: wanted.ts });
          return undefined;
        }
        if (!isTransient(error) || failures === maxTries) {
          log(`What was said in a conversation on Slack meanwhile could not be read. ${reasonOf(error)}`);
          return undefined;
        }
        await pause(error.retryAfterMs ?? backoffMs(failures, pauses), signal);
      }
    }
    return undefined;
  }
}

function keyOf(team: string, channel: string): string {
  return `${team}/${channel}`;
}
