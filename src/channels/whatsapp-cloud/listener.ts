import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Accept, Incoming } from '../../core/channel.ts';
import type { Deliveries } from '../../core/set-aside.ts';
import { settlesWithin, within } from '../../lib/deadline.ts';
import type { Health } from '../health.ts';
import { type Delivery, Intake } from '../intake.ts';
import type { RecentMessages } from '../recent-messages.ts';
import { tooOld, undelivered } from './failures.ts';
import type { LastIncoming } from './last-incoming.ts';
import { maxAgeDays, maxAgeMs } from './limits.ts';
import { chatIn, parseMessage, readAs, surroundings } from './parse.ts';

export interface ListenerParts {
  phoneNumberId: string;
  recent: RecentMessages;
  last: LastIncoming;
  accept: Accept;
  health: Health;
  log: (sentence: string) => void;
  deliveries: Deliveries | undefined;
  signal: AbortSignal;
  /** How long Meta is kept waiting. What is not accepted by then comes again. */
  answerMs?: number;
}

const usualAnswerMs = 5000;
const farewellMs = 1000;
/** More are not begun: they come again. */
const maxOpen = 2000;
const maxKeptText = 100_000;

const body = z.object({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(z.object({ changes: z.array(z.object({ field: z.string(), value: z.unknown() })) })),
});

const happenings = z.object({
  messages: z.array(z.unknown()).optional(),
  statuses: z.array(z.unknown()).optional(),
});

const failure = z.object({ status: z.literal('failed'), errors: z.array(z.object({ code: z.unknown(), title: z.unknown() })).min(1) });

/** Turns what Meta delivers into messages. */
export class Listener {
  readonly #parts: ListenerParts;
  readonly #intake: Intake;
  /** What is being accepted. The same message that comes again meanwhile waits with it. */
  readonly #open = new Map<string, Promise<boolean>>();
  /** Deliveries that Meta waits for. */
  readonly #answering = new Set<Promise<boolean>>();
  readonly #released = new AbortController();
  #hasToldOfAge = false;

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#intake = new Intake({ ...parts, name: 'WhatsApp Cloud' });
  }

  /** Resolves with whether all of it was accepted, and need not come again. */
  async deliver(bytes: Buffer): Promise<boolean> {
    if (this.#parts.signal.aborted || this.#open.size >= maxOpen) return false;
    const taken = this.#takeAll(this.#deliveriesIn(bytes)).catch(() => false);
    const answer = within({ ms: this.#parts.answerMs ?? usualAnswerMs, signal: this.#released.signal }, taken, () => false);
    this.#answering.add(answer);
    return await answer.finally(() => this.#answering.delete(answer));
  }

  /** Resolves when what is being accepted was, or after a while: then it comes again. */
  async farewell(): Promise<void> {
    await settlesWithin(farewellMs, Promise.all([this.#intake.idle(), ...this.#answering]));
    this.#released.abort();
  }

  async #takeAll(deliveries: readonly Delivery[]): Promise<boolean> {
    const fresh = deliveries.filter(({ id }) => !this.#open.has(id));
    const tries = this.#triesOf(fresh.map(({ id }) => id));
    for (const delivery of fresh) {
      const taking = this.#take(delivery, tries);
      this.#open.set(delivery.id, taking);
    }
    return (await Promise.all(deliveries.map(({ id }) => this.#open.get(id)))).every((isDone) => isDone !== false);
  }

  async #take(delivery: Delivery, tries: Promise<ReadonlyMap<string, number | undefined>>): Promise<boolean> {
    try {
      let isDone = true;
      await this.#intake.inOrder(delivery.chat, async (accept) => {
        const tried = (await tries).get(delivery.id);
        // undefined: it was set aside.
        if (tried !== undefined) isDone = await accept(delivery, tried);
      });
      return isDone;
    } finally {
      this.#open.delete(delivery.id);
      // So that what was accepted is forgotten.
      if (this.#open.size === 0) void this.#parts.deliveries?.trying([], []).catch(() => undefined);
    }
  }

  /** Counted before they are looked at. Without the store nothing is accepted either, and nothing is lost. */
  async #triesOf(ids: readonly string[]): Promise<ReadonlyMap<string, number | undefined>> {
    const counted = ids.length > 0 ? this.#parts.deliveries?.trying(ids, [...this.#open.keys()]) : undefined;
    return (await counted?.catch(() => undefined)) ?? new Map(ids.map((id) => [id, 0]));
  }

  #deliveriesIn(bytes: Buffer): Delivery[] {
    const text = bytes.toString();
    return orUnreadable(text, () => {
      const { entry } = readAs(body, jsonOf(text));
      const changes = entry.flatMap((one) => one.changes).filter(({ field }) => field === 'messages');
      return changes.flatMap(({ value }) => orUnreadable(JSON.stringify(value), () => this.#messagesIn(value)));
    });
  }

  #messagesIn(value: unknown): Delivery[] {
    const around = readAs(surroundings, value);
    // Another number of the same app.
    if (around.metadata.phone_number_id !== this.#parts.phoneNumberId) return [];
    const { messages = [], statuses = [] } = readAs(happenings, value);
    for (const status of statuses) this.#noteFailure(status);
    return messages.map((message) => ({
      id: idOf(message),
      chat: chatIn(message),
      read: () => {
        const incoming = parseMessage(message, around, (chat, id) => this.#parts.recent.find(chat, id));
        if (!incoming || this.#isTooOld(incoming)) return undefined;
        this.#remember(incoming);
        return incoming;
      },
      content: () => JSON.stringify(message).slice(0, maxKeptText),
    }));
  }

  /** Says so once, so that replays cannot fill the log. */
  #isTooOld({ at }: Incoming): boolean {
    const isTooOld = Date.now() - at.getTime() > maxAgeMs;
    if (isTooOld && !this.#hasToldOfAge) this.#parts.log(tooOld(maxAgeDays));
    this.#hasToldOfAge ||= isTooOld;
    return isTooOld;
  }

  #remember(incoming: Incoming): void {
    const { recent, last } = this.#parts;
    const { id, place, from } = incoming;
    last.add(place.chat, id);
    if (incoming.kind === 'message') recent.add(place.chat, id, { from: from.name, text: incoming.text });
  }

  /** Nothing else can be done about it: the message was taken. */
  #noteFailure(status: unknown): void {
    const failed = failure.safeParse(status);
    const [first] = failed.data?.errors ?? [];
    if (first) this.#parts.log(undelivered(first.code, first.title));
  }
}

/** The error of the parser would quote it. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('It is not JSON.');
  }
}

function idOf(message: unknown): string {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === 'string' && id !== '' ? id.slice(0, 1000) : `message ${digestOf(JSON.stringify(message))}`;
}

/** What is signed by Meta, and not what it says it sends, would come again for days. */
function orUnreadable(text: string, read: () => Delivery[]): Delivery[] {
  try {
    return read();
  } catch (error) {
    const fail = (): never => {
      throw error;
    };
    return [{ id: `delivery ${digestOf(text)}`, chat: '', read: fail, content: () => text.slice(0, maxKeptText) }];
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
