import { setTimeout as delay } from 'node:timers/promises';
import type { Button, Channel, IncomingPress, Outgoing, OutgoingFile, Place } from '../../core/channel.ts';
import type { OutboxEntry, OutboxItem, OutboxLedger } from '../../core/conversation.ts';
import { splitText } from '../../lib/split-text.ts';
import { ChatQueue, type OutboxTimes } from './chat-queue.ts';
import { Pace } from './pace.ts';
import { maxMarkableText } from './repeat-mark.ts';

export interface OutboxOptions {
  ledger: OutboxLedger;
  /** By platform. May change at any time. */
  channels: ReadonlyMap<string, Channel>;
  times?: Partial<OutboxTimes & { lookEveryMs: number }>;
  /** Called with a message that will never arrive. */
  onDropped?: (entry: OutboxEntry, failure: string) => void;
  /** Called with a failure of its own, such as a store that cannot be written. It goes on by itself. */
  onTrouble?: (error: unknown) => void;
}

export interface Delivery {
  /** On the first message. */
  replyTo?: string | undefined;
  /** On the last message. */
  buttons?: readonly (readonly Button[])[] | undefined;
  file?: OutgoingFile | undefined;
  /** The conversation that is told in its next turn when it cannot be delivered. */
  session?: readonly string[] | undefined;
  /** Keys of drafts that the messages take the place of, one after the other. */
  drafts?: readonly string[] | undefined;
}

/** Every platform takes so much: the limit while a platform is not connected. */
const minChannelTextLimit = 2000;
/** A notice that waits longer for its turn is left out: what was pressed counts all the same. */
const noticeMs = 5000;
/** How often the state of a message is looked at. */
const firstLookMs = 20;
const longestLookMs = 1000;

const defaultTimes = {
  firstRetryMs: 1000,
  maxRetryMs: 5 * 60 * 1000,
  answerMs: 5 * 60 * 1000,
  keepTryingMs: 3 * 24 * 60 * 60 * 1000,
  lookEveryMs: 5000,
};

/**
 * Sends the messages of the ledger: in order at one place, all places at once. A message that was added is sent even if the process dies right
 * after; one that was sent is not sent again.
 *
 * A message that was being sent when the process died, or about which a channel failed with neither `channel/busy` nor `channel/refused`, may
 * or may not be there. A channel with `sendsOncePerKey` is given it again and shows it once. Elsewhere it is sent again, marked as a possible
 * repeat, up to three times; when the last one ends in doubt too it is dropped. A message that takes the place of a known one is never in
 * doubt, because changing it again does no harm.
 *
 * One process sends from a ledger; others may add, which is noticed after `lookEveryMs`.
 */
export class Outbox {
  readonly #ledger: OutboxLedger;
  readonly #options: OutboxOptions;
  readonly #times: OutboxTimes & { lookEveryMs: number };
  readonly #lines = new Map<string, ChatQueue>();
  /** By platform. */
  readonly #paces = new Map<string, Pace>();
  readonly #stopped = new AbortController();
  readonly #dropListeners = new Set<(entry: OutboxEntry, failure: string) => void>();
  #isOpen = false;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#ledger = options.ledger;
    this.#times = { ...defaultTimes, ...options.times };
  }

  /** Begins with what an earlier process left. What is added before waits until now. */
  async start(): Promise<void> {
    await this.#ledger.recover(new Date());
    this.#isOpen = true;
    await this.look();
    this.#looking = setInterval(() => this.look().catch((error) => this.#options.onTrouble?.(error)), this.#times.lookEveryMs);
  }

  /** All of them in this order, or none when there is one under any of these keys. */
  async add(place: Place, items: readonly OutboxItem[]): Promise<boolean> {
    const isNew = await this.#ledger.add(place, items, new Date());
    const line = this.#line(place);
    if (items.every(({ isDraft }) => isDraft)) line?.look();
    else line?.wake();
    return isNew;
  }

  /**
   * Sends a text in as many messages as it takes, under `key/1` and so on, once however often this is called. Is settled when it is stored;
   * there is nothing to wait for.
   */
  async deliver(place: Place, key: string, text: string, more: Delivery = {}): Promise<void> {
    const messages = this.#messages(place, text, more);
    const { session, drafts } = more;
    const items = messages.map((message, index) => ({ key: `${key}/${index + 1}`, message, replaces: drafts?.[index], session }));
    if (items.length > 0) await this.add(place, items);
  }

  /** The messages delivered under this key, in order. */
  async delivered(key: string): Promise<OutboxEntry[]> {
    const entries: OutboxEntry[] = [];
    for (;;) {
      const entry = await this.find(`${key}/${entries.length + 1}`);
      if (!entry) return entries;
      entries.push(entry);
    }
  }

  /**
   * The fate of the messages that were delivered under this key: all sent, one dropped with the reason, or neither
   * when the signal comes first.
   */
  async outcome(key: string, signal: AbortSignal): Promise<{ kind: 'sent' | 'waiting' } | { kind: 'dropped'; failure: string }> {
    for (let lookMs = firstLookMs; !signal.aborted; lookMs = Math.min(2 * lookMs, longestLookMs)) {
      const outcomes = await this.#outcomes(key);
      const dropped = outcomes.find(({ state }) => state === 'dropped');
      if (dropped) return { kind: 'dropped', failure: dropped.failure ?? '' };
      if (outcomes.every(({ state }) => state === 'sent')) return { kind: 'sent' };
      await delay(lookMs, undefined, { signal }).catch(() => undefined);
    }
    return { kind: 'waiting' };
  }

  async #outcomes(key: string): Promise<Pick<OutboxEntry, 'state' | 'failure'>[]> {
    const outcomes: Pick<OutboxEntry, 'state' | 'failure'>[] = [];
    for (;;) {
      const outcome = await this.#ledger.outcome(`${key}/${outcomes.length + 1}`);
      if (!outcome) return outcomes;
      outcomes.push(outcome);
    }
  }

  /** Resolves with the reason when a message of what was delivered under this key is dropped; with undefined when the signal comes first. */
  async dropped(key: string, signal: AbortSignal): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const listener = (entry: OutboxEntry, failure: string): void => {
      if (entry.key.slice(0, entry.key.lastIndexOf('/')) === key) resolve(failure);
    };
    const stop = (): void => resolve(undefined);
    this.#dropListeners.add(listener);
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return undefined;
      const entry = (await this.delivered(key)).find(({ state }) => state === 'dropped');
      return entry ? (entry.failure ?? '') : await promise;
    } finally {
      this.#dropListeners.delete(listener);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Whether everything at this place is sent or dropped. */
  async isEmpty(place: Place): Promise<boolean> {
    return (await this.#ledger.head(place)) === undefined;
  }

  find(key: string): Promise<OutboxEntry | undefined> {
    return this.#ledger.find(key);
  }

  /** Changes the draft under this key, as soon as its platform lets it. `isLast`: nothing will take its place. */
  show(place: Place, key: string, text: string, isLast = false): void {
    this.#line(place)?.show(key, text, isLast);
  }

  /** Leaves these drafts as they are; one that was not sent never will be. */
  async abandon(place: Place, keys: readonly string[]): Promise<void> {
    await this.withdraw(keys);
    for (const key of keys) this.#line(place)?.forget(key);
  }

  /** What was not sent under these keys never will be. */
  async withdraw(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#ledger.withdraw(keys, 'it was abandoned', new Date());
  }

  /** The messages a text comes in at this place. */
  pieces(place: Place, text: string): string[] {
    return splitText(text, maxMarkableText(this.traits(place) ?? { maxTextLength: minChannelTextLimit }).text);
  }

  /** Whether something waits only because a platform takes it no sooner. */
  get isHeldUp(): boolean {
    return [...this.#paces.values()].some(({ isHeldUp }) => isHeldUp);
  }

  /** How many places have something that waits or grows. */
  get busyPlaces(): number {
    return this.#lines.size;
  }

  traits(place: Place): Channel['traits'] | undefined {
    const channel = this.#options.channels.get(place.platform);
    return channel?.traitsAt?.(place) ?? channel?.traits;
  }

  /** Shows that an answer is being written, if the platform takes that now. */
  typing(place: Place): void {
    const channel = this.#options.channels.get(place.platform);
    if (!channel?.typing || !this.#pace(place.platform).takeNow(channel.limits?.(place, 'sign') ?? [])) return;
    void channel.typing(place);
  }

  /** Confirms a button press to the person who pressed it, as soon as the platform takes that. Never rejects. */
  async noticed(press: IncomingPress, text?: string): Promise<void> {
    const { place } = press;
    const channel = this.#options.channels.get(place.platform);
    if (!channel?.noticed) return;
    const signal = AbortSignal.any([AbortSignal.timeout(noticeMs), this.#stopped.signal]);
    using turn = await this.#pace(place.platform).turn('notice', channel.limits?.(place, 'notice') ?? [], { signal });
    if (turn) await channel.noticed(press, text);
  }

  /** Looks for messages that other processes added, and for channels that came. */
  async look(): Promise<void> {
    for (const place of await this.#ledger.places()) this.#line(place)?.look();
  }

  /** Sends what can be sent in that time. What is not sent, and what is added from now on, stays for the next start. */
  async stop(graceMs = 5000): Promise<void> {
    this.#isOpen = false;
    clearInterval(this.#looking);
    const timer = setTimeout(() => this.#stopped.abort(), graceMs);
    await Promise.all([...this.#lines.values()].map((line) => line.drain(Date.now() + graceMs)));
    clearTimeout(timer);
    this.#stopped.abort();
  }

  #messages(place: Place, text: string, { replyTo, buttons, file, drafts = [] }: Delivery): Outgoing[] {
    const limit = maxMarkableText(this.traits(place) ?? { maxTextLength: minChannelTextLimit });
    const messages: Outgoing[] = this.pieces(place, text).map((piece) => ({ text: piece }));
    const [first] = messages;
    // A message that exists gets no file.
    const takesFile = first && messages.length === 1 && first.text.length <= limit.caption && drafts.length === 0;
    if (file && takesFile) first.file = file;
    else if (file) messages.push({ text: '', file });
    if (messages[0] && replyTo !== undefined) messages[0].replyTo = replyTo;
    const last = messages.at(-1);
    if (last && buttons) last.buttons = buttons;
    return messages;
  }

  #pace(platform: string): Pace {
    const pace = this.#paces.get(platform) ?? new Pace();
    this.#paces.set(platform, pace);
    return pace;
  }

  #line(place: Place): ChatQueue | undefined {
    if (!this.#isOpen) return undefined;
    const { platform, workspace, chat, thread } = place;
    const key = JSON.stringify([platform, workspace ?? null, chat, thread ?? null]);
    const line =
      this.#lines.get(key) ??
      new ChatQueue({
        place,
        ledger: this.#ledger,
        channel: () => this.#options.channels.get(platform),
        times: this.#times,
        pace: this.#pace(platform),
        stop: this.#stopped.signal,
        onDropped: (entry, failure) => {
          this.#options.onDropped?.(entry, failure);
          for (const listener of this.#dropListeners) listener(entry, failure);
        },
        onTrouble: (error) => this.#options.onTrouble?.(error),
        onIdle: () => this.#lines.delete(key),
      });
    this.#lines.set(key, line);
    return line;
  }
}
