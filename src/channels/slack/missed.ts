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
import type { KnownChat, KnownChats } from './known-chats.ts';
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

/** With the message it ends with. */
interface Range {
  oldest: string;
  latest?: string;
  inclusive?: boolean;
}

const pageSize = 200;
/** So many are in memory at once, of a conversation and of each of its threads. */
const partPages = 5;
/** And so many are read of a conversation. */
const maxPages = 100;
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

  /** In these conversations and threads and all that are known, before what is delivered there from now on. */
  readAll(more: Iterable<KnownChat>): void {
    const threads = new Map<string, Set<string>>();
    for (const { team, channel, thread } of [...this.#parts.chats.all, ...more]) {
      const key = keyOf(team, channel);
      const known = threads.get(key) ?? new Set();
      threads.set(key, thread === undefined ? known : known.add(thread));
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

  #read(workspace: Workspace, channel: string, threads: ReadonlySet<string>): void {
    const { mark, intake, log, signal } = this.#parts;
    const key = keyOf(workspace.team, channel);
    const after = messageIdAt(mark.value);
    const release = mark.hold();
    const accepted = new Set<string>();
    this.#reading.set(key, accepted);
    const reading = intake.missed(key, async (accept) => {
      for await (const part of this.#found(workspace, channel, threads, after)) {
        if (!(await this.#acceptAll(part, workspace, channel, accepted, accept))) return;
      }
      if (signal.aborted) return;
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

  /** The oldest first, in parts that fit into memory. With the signal it ends early. */
  async *#found(workspace: Workspace, channel: string, known: ReadonlySet<string>, after: string): AsyncGenerator<Found[]> {
    const threads = new Set(known);
    // Where pages end that did not fit into memory, the newest first.
    const ends: string[] = [];
    for (let from = after; ; ) {
      const [end] = ends.splice(-partPages);
      const later = ends.length;
      const said = await this.#said(workspace, { channel, ...rangeOf(from, end) }, ends);
      if (!said) return;
      let until = ends.length > later ? said[0]?.ts : end;
      for (const message of said) if (isLater(message.latest_reply, from)) threads.add(message.ts);
      const all = new Map(said.map((message) => [message.ts, message]));
      for (const thread of threads) {
        const replies = await this.#replies(workspace, { channel, ts: thread, ...rangeOf(from, until) });
        if (!replies) return;
        for (const reply of replies.found) if (reply.ts !== thread) all.set(reply.ts, reply);
        if (replies.hasMore) until = replies.found.at(-1)?.ts;
      }
      const isInPart = ({ ts }: Found): boolean => isLater(ts, from) && (until === undefined || !isLater(ts, until));
      const missed = [...all.values()].filter((message) => isInPart(message) && isSpoken(message));
      yield missed.toSorted((one, other) => (microseconds(one.ts) < microseconds(other.ts) ? -1 : 1));
      if (until === undefined || !isLater(until, from)) return;
      // A thread with many answers makes the part shorter.
      if (end !== undefined && end !== until && ends.length === later) ends.push(end);
      from = until;
    }
  }

  /**
   * The oldest of what was said in a conversation. Slack gives the newest page first: the ends of pages that do not fit
   * into memory are added to `ends`.
   * undefined when the signal ended it.
   */
  async #said(workspace: Workspace, wanted: Range & { channel: string }, ends: string[]): Promise<Found[] | undefined> {
    const pages: Found[][] = [];
    let count = 0;
    for await (const page of this.#pages(workspace, 'conversations.history', wanted)) {
      count += page.length;
      pages.push(page);
      const [newest] = pages.length > partPages ? (pages.shift() ?? []) : [];
      if (newest) ends.push(newest.ts);
      if (count < maxPages * pageSize) continue;
      this.#parts.log(`More was said in a conversation on Slack meanwhile than is read: only the last ${count} messages are.`);
      break;
    }
    return this.#parts.signal.aborted ? undefined : pages.flat();
  }

  /** The oldest of what was said in a thread: Slack gives the oldest page first. undefined when the signal ended it. */
  async #replies(
    workspace: Workspace,
    wanted: Range & { channel: string; ts: string },
  ): Promise<{ found: Found[]; hasMore: boolean } | undefined> {
    const found: Found[] = [];
    let count = 0;
    for await (const page of this.#pages(workspace, 'conversations.replies', wanted)) {
      count += 1;
      if (count > partPages) return { found, hasMore: true };
      found.push(...page);
    }
    return this.#parts.signal.aborted ? undefined : { found, hasMore: false };
  }

  /** None when Slack does not let us read them. With the signal it ends early. */
  async *#pages(workspace: Workspace, method: string, wanted: Range & { channel: string; ts?: string }): AsyncGenerator<Found[]> {
    for (let cursor: unknown; cursor === undefined || (typeof cursor === 'string' && cursor !== ''); ) {
      const answer = await this.#page(workspace, method, { ...wanted, limit: pageSize, ...(cursor !== undefined && { cursor }) });
      if (!answer) return;
      yield listOf(answer.messages).filter((message): message is Found & Record<string, unknown> => isId(message.ts, messageId));
      cursor = recordOf(answer.response_metadata).next_cursor ?? '';
    }
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

function rangeOf(oldest: string, latest: string | undefined): Range {
  return { oldest, ...(latest !== undefined && { latest, inclusive: true }) };
}

function isLater(id: unknown, than: string): boolean {
  return isId(id, messageId) && microseconds(id) > microseconds(than);
}
