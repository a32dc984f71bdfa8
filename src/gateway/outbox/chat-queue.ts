import type { Channel, Outgoing, Place, RateLimit } from '../../core/channel.ts';
import type { OutboxEntry, OutboxLedger } from '../../core/conversation.ts';
import { HermeticError } from '../../core/errors.ts';
import { answered } from '../../lib/answered.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import { textAfter } from '../../lib/split-text.ts';
import { Drafts } from './drafts.ts';
import { dropNotice, unknownArrival } from './drop-notice.ts';
import type { Pace, Waiting } from './pace.ts';
import { markedAsRepeat } from './repeat-mark.ts';

export interface OutboxTimes {
  /** Before the second attempt, when the platform does not say; before every further one twice as long. */
  firstRetryMs: number;
  maxRetryMs: number;
  /** A platform that has not answered by then is not waited for. */
  answerMs: number;
  /** A message that fails so long after it was added is dropped. */
  keepTryingMs: number;
}

export interface LineOptions {
  place: Place;
  ledger: OutboxLedger;
  /** undefined when this platform is not connected: its messages wait. */
  channel(): Channel | undefined;
  times: OutboxTimes;
  /** Of the platform, at all places together. */
  pace: Pace;
  /** Ends everything at once. */
  stop: AbortSignal;
  onDropped(entry: OutboxEntry, failure: string): void;
  onTrouble(error: unknown): void;
  /** There is nothing left to do, and nothing to remember. */
  onIdle(): void;
}

/** The outcome of one attempt. `retryAfterMs`: as the platform said. */
type Outcome =
  | { kind: 'sent'; id: string }
  | { kind: 'failed'; failure: string; retryAfterMs: number | undefined; inDoubt: boolean }
  | { kind: 'dropped'; failure: string; inDoubt?: boolean };

/** How often a message that may have arrived is repeated. A copy too many is better than no answer; copies without end are not. */
const maxRepeats = 3;
const maxEdits = 4;
const maxWaitMs = 60 * 60 * 1000;

/** Sends the messages of one place, one after the other, and updates drafts while no message waits. */
export class ChatQueue {
  readonly #options: LineOptions;
  readonly #drafts: Drafts;
  #isRunning = false;
  #isStale = false;
  /** A message may be waiting in the ledger, and one that is no draft. */
  #mayHaveMessages = false;
  #mayHaveLasting = false;
  #drainUntil: number | undefined;
  #endPause: (() => void) | undefined;
  /** Towards these counts what has its turn. */
  #limits: readonly RateLimit[] = [];
  /** What waits for its turn. */
  #waiting: { saying: Waiting; end(): void } | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: LineOptions) {
    this.#options = options;
    this.#drafts = new Drafts(options, {
      turn: (channel) => this.#turn(channel, 'growth'),
      refused: (error) => this.#tellPace(error),
    });
  }

  /** Something was added that is no draft. */
  wake(): void {
    if (this.#waiting?.saying === 'draft') this.#waiting.end();
    this.look();
  }

  /** Looks whether something was added. */
  look(): void {
    this.#mayHaveMessages = true;
    this.#mayHaveLasting = true;
    if (this.#waiting?.saying === 'growth') this.#waiting.end();
    if (this.#waiting?.saying === 'draft') void this.#endForLasting(this.#waiting);
    this.#goOn();
  }

  /**
   * Ends the wait of a draft when something waits that is none. Otherwise the draft keeps its place among those that
   * wait.
   */
  async #endForLasting(waiting: { end(): void }): Promise<void> {
    // What cannot be read now is read at the next look.
    const lasting = await this.#options.ledger.headOfLasting(this.#options.place).catch(() => undefined);
    if (lasting) waiting.end();
  }

  #goOn(): void {
    this.#isStale = true;
    this.#endPause?.();
    if (this.#isRunning || this.#drainUntil !== undefined) return;
    this.#isRunning = true;
    this.#ended = this.#run();
  }

  show(key: string, text: string, isLast: boolean): void {
    this.#drafts.show(key, text, isLast);
    this.#goOn();
  }

  forget(key: string): void {
    this.#drafts.forget(key);
    this.#goOn();
  }

  /** Sends what can be sent until then, and starts nothing more. Resolves when nothing is under way. */
  async drain(until: number): Promise<void> {
    this.#drainUntil = until;
    this.#endPause?.();
    this.#waiting?.end();
    await this.#ended;
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#isStale = false;
      const waitMs = await this.#step().catch((error: unknown) => {
        this.#options.onTrouble(error);
        return this.#options.times.firstRetryMs;
      });
      if (this.#options.stop.aborted) break;
      if (this.#isStale || waitMs === 0) continue;
      if (waitMs === undefined || Date.now() + waitMs > (this.#drainUntil ?? Number.POSITIVE_INFINITY)) break;
      await this.#pause(waitMs);
    }
    this.#isRunning = false;
    if (this.#drafts.isEmpty) this.#options.onIdle();
  }

  /** Does one thing. Resolves with how long to wait for the next, or undefined when there is none. */
  async #step(): Promise<number | undefined> {
    const { place, ledger } = this.#options;
    const channel = this.#options.channel();
    if (!channel || (channel.traitsAt && !channel.traitsAt(place))) return undefined;
    const entry = this.#mayHaveMessages ? await this.#head() : undefined;
    if (!entry) return this.#drainUntil === undefined && !this.#drafts.isEmpty ? await this.#drafts.refresh(channel) : undefined;
    // Another process has it. Later messages wait for the next look.
    if (entry.state === 'sending') return undefined;
    const dueInMs = entry.dueAt.getTime() - Date.now();
    const waitMs = Math.max(dueInMs, this.#drafts.editableInMs(entry.replaces, channel));
    if (waitMs > 0) return Math.min(waitMs, maxWaitMs);
    const replaced = entry.replaces === undefined ? undefined : await ledger.find(entry.replaces);
    // What was never sent is removed without a call.
    if (entry.isRemoval && replaced?.sentId === undefined) return await this.#sendNow(channel, entry, replaced);
    const isDraining = this.#drainUntil !== undefined;
    using turn = await this.#turn(channel, await this.#sayingOf(entry, replaced));
    if (turn) return await this.#sendNow(channel, entry, replaced);
    return isDraining ? undefined : 0;
  }

  async #sayingOf(entry: OutboxEntry, replaced: OutboxEntry | undefined): Promise<Waiting> {
    if (!entry.isDraft || !this.#mayHaveLasting) return sayingOf(entry, replaced);
    // What lasts must not wait for the turn of a draft before it.
    this.#mayHaveLasting = false;
    // Until it is known that there is none.
    let mayHaveMore = true;
    try {
      const lasting = await this.#options.ledger.headOfLasting(entry.place);
      mayHaveMore = lasting !== undefined;
      return sayingOf(lasting ?? entry, undefined);
    } finally {
      this.#mayHaveLasting ||= mayHaveMore;
    }
  }

  async #head(): Promise<OutboxEntry | undefined> {
    this.#mayHaveMessages = false;
    // Until it is known that there is none.
    let mayHaveMore = true;
    try {
      const entry = await this.#options.ledger.head(this.#options.place);
      mayHaveMore = entry !== undefined;
      return entry;
    } finally {
      this.#mayHaveMessages ||= mayHaveMore;
    }
  }

  /** Waits until the platform takes it. Resolves with undefined when there may be something else to say, or the program stops. */
  async #turn(channel: Channel, saying: Waiting): Promise<Disposable | undefined> {
    const { place, pace, stop } = this.#options;
    const isProgress = saying === 'draft' || saying === 'growth';
    // Something was added since the ledger was read.
    if (saying === 'growth' ? this.#mayHaveMessages : saying === 'draft' && this.#mayHaveLasting) return undefined;
    const limits = channel.limits?.(place, saying) ?? [];
    this.#limits = limits;
    const withinMs = this.#drainUntil === undefined ? undefined : isProgress ? 0 : this.#drainUntil - Date.now();
    const waiting = new AbortController();
    this.#waiting = { saying, end: () => waiting.abort() };
    try {
      return await pace.turn(saying, limits, { signal: AbortSignal.any([waiting.signal, stop]), withinMs });
    } finally {
      this.#waiting = undefined;
    }
  }

  #tellPace({ retryAfterMs, isOfPlace }: HermeticError): void {
    if (retryAfterMs === undefined || isOfPlace) return;
    const { pace, place } = this.#options;
    pace.refused(JSON.stringify([place.workspace, place.chat]), this.#limits, retryAfterMs);
  }

  async #sendNow(channel: Channel, entry: OutboxEntry, replaced: OutboxEntry | undefined): Promise<number | undefined> {
    const { ledger, stop } = this.#options;
    // It may have waited for others. What has not begun when the program stops is in no doubt.
    if (stop.aborted || Date.now() > (this.#drainUntil ?? Number.POSITIVE_INFINITY)) return undefined;
    // From here on to the end of `#settle` nothing may throw: an entry that stays in this state holds up its place.
    if (!(await ledger.begin(entry.seq))) return 0;
    const message = { ...entry.message, text: this.#drafts.textOf(entry) };
    await this.#settle(entry, message.text, await this.#hand(channel, entry, message, replaced));
    return 0;
  }

  async #hand(channel: Channel, entry: OutboxEntry, message: Outgoing, replaced: OutboxEntry | undefined): Promise<Outcome> {
    if (entry.isRemoval) return await this.#remove(channel, entry, replaced);
    if (replaced?.sentId === undefined) {
      const mayBeThere = replaced !== undefined && replaced.doubts > 0;
      if (!mayBeThere || !channel.traits.sendsOncePerKey) return await this.#send(channel, entry, message, mayBeThere);
      const found = await this.#attempt((signal) => channel.send(this.#options.place, { ...replaced.message, key: replaced.key }, signal));
      return found.kind === 'sent' ? await this.#hand(channel, entry, message, { ...replaced, sentId: found.id }) : found;
    }
    const edited = await this.#edit(channel, entry.attempts, replaced, message);
    if (edited.kind !== 'dropped') return edited;
    const shown = this.#drafts.shown(replaced.key);
    if (shown === undefined || !message.text.startsWith(shown)) return await this.#send(channel, entry, message, edited.inDoubt);
    // The platform changes its message no more: what it shows is the beginning.
    const rest = textAfter(message.text, shown.length);
    if (rest.trim() === '' && !message.buttons) return { kind: 'sent', id: replaced.sentId };
    return await this.#send(channel, entry, rest.trim() === '' ? message : { ...message, text: rest }, edited.inDoubt);
  }

  /** Where it cannot be taken out of the chat, next to nothing is left of it. Doing it twice does no harm. */
  async #remove(channel: Channel, { attempts }: OutboxEntry, replaced: OutboxEntry | undefined): Promise<Outcome> {
    if (replaced?.sentId === undefined) return { kind: 'sent', id: '' };
    const { sentId } = replaced;
    const outcome = await this.#attempt(async (signal) => {
      if (!channel.remove) throw new HermeticError('channel/refused', 'The platform removes no messages.');
      await channel.remove(this.#options.place, sentId, signal);
      return sentId;
    });
    if (outcome.kind === 'dropped') return await this.#edit(channel, attempts, replaced, { text: '…' });
    return outcome.kind === 'failed' ? { ...outcome, inDoubt: false } : outcome;
  }

  /** Changing a message twice to the same text does no harm, so there is never a doubt. */
  async #edit(channel: Channel, attempts: number, { key, sentId = '' }: OutboxEntry, message: Outgoing): Promise<Outcome> {
    if (!channel.edit) return { kind: 'dropped', failure: 'it cannot be edited' };
    if (this.#drafts.shown(key) === message.text && !message.buttons) return { kind: 'sent', id: sentId };
    const outcome = await this.#attempt(async (signal) => {
      await channel.edit?.(this.#options.place, sentId, message, signal);
      return sentId;
    });
    if (outcome.kind !== 'failed') return outcome;
    // A channel that fails in unknown ways again and again is like one that cannot edit: the text has to arrive.
    if (outcome.inDoubt && attempts >= maxEdits) return { kind: 'dropped', failure: outcome.failure, inDoubt: true };
    return { ...outcome, inDoubt: false };
  }

  /** `mayBeThere`: some of the text may be in the chat under another key. */
  async #send(channel: Channel, entry: OutboxEntry, message: Outgoing, mayBeThere = false): Promise<Outcome> {
    const { sendsOncePerKey } = channel.traits;
    if (entry.doubts > maxRepeats && !sendsOncePerKey) return { kind: 'dropped', failure: unknownArrival };
    const isRepeat = mayBeThere || (entry.doubts > 0 && !sendsOncePerKey);
    const text = isRepeat ? markedAsRepeat(message, channel.traits) : message.text;
    return await this.#attempt((signal) => channel.send(this.#options.place, { ...message, text, key: entry.key }, signal));
  }

  async #attempt(work: (signal: AbortSignal) => Promise<string>): Promise<Outcome> {
    // It was not handed to the platform.
    if (this.#options.stop.aborted) return { kind: 'failed', failure: 'the program stopped', retryAfterMs: 0, inDoubt: false };
    const answer = await answered(work, this.#options.stop, this.#options.times.answerMs);
    if (answer.kind === 'done') return { kind: 'sent', id: answer.value };
    const { error } = answer;
    const failure = errorText(error);
    const code = error instanceof HermeticError && answer.kind === 'failed' ? error.code : undefined;
    if (code === 'channel/refused') return { kind: 'dropped', failure };
    if (code === 'channel/busy') this.#tellPace(error as HermeticError);
    const retryAfterMs = code === 'channel/busy' ? (error as HermeticError).retryAfterMs : undefined;
    return { kind: 'failed', failure, retryAfterMs, inDoubt: code !== 'channel/busy' };
  }

  async #settle(entry: OutboxEntry, text: string, outcome: Outcome): Promise<void> {
    const { ledger, times, onDropped } = this.#options;
    const now = new Date();
    if (outcome.kind === 'sent') {
      await this.#recorded(() => ledger.sent(entry.seq, outcome.id, now));
      this.#drafts.sent(entry, outcome.id, text);
      return;
    }
    const isOld = now.getTime() - entry.addedAt.getTime() > times.keepTryingMs;
    // A draft that may be there is not worth being there twice.
    if (outcome.kind === 'dropped' || isOld || (entry.isDraft && outcome.inDoubt)) {
      const { kind, failure, inDoubt } = outcome;
      // Security: errors that are not the platform's own words may name addresses and tokens.
      const notice = dropNotice(entry, kind === 'dropped' && !inDoubt ? failure : 'the platform did not take it in time');
      await this.#recorded(() => ledger.drop(entry.seq, failure, now, { inDoubt, notice }));
      this.#drafts.dropped(entry);
      if (!entry.isDraft) onDropped(entry, outcome.failure);
      return;
    }
    const dueAt = new Date(now.getTime() + (outcome.retryAfterMs ?? retryMs(entry.attempts, times)));
    await this.#recorded(() => ledger.retry(entry.seq, dueAt, outcome.failure, outcome.inDoubt));
  }

  /** Records the outcome, however long that takes: until then no other message is sent here. */
  async #recorded(write: () => Promise<void>): Promise<void> {
    for (let attempt = 0; !this.#options.stop.aborted || attempt === 0; attempt++) {
      try {
        return await write();
      } catch (error) {
        this.#options.onTrouble(error);
        await this.#pause(retryMs(attempt, this.#options.times));
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#endPause = woken.resolve;
    await settlesWithin({ ms: Math.min(ms, maxWaitMs), signal: this.#options.stop }, woken.promise);
    this.#endPause = undefined;
  }
}

function sayingOf({ message, isDraft }: OutboxEntry, replaced: OutboxEntry | undefined): Waiting {
  if (message.buttons?.length) return 'question';
  if (isDraft) return 'draft';
  return replaced?.sentId === undefined ? 'message' : 'change';
}

function retryMs(attempts: number, { firstRetryMs, maxRetryMs }: OutboxTimes): number {
  return backoffMs(attempts + 1, { firstMs: firstRetryMs, maxMs: maxRetryMs, isSpread: true });
}
