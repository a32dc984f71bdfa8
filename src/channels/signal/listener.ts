import { createHash } from 'node:crypto';
import type { Accept } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Deliveries } from '../../core/set-aside.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import { type Delivery, Intake } from '../intake.ts';
import type { RecentMessages } from '../recent-messages.ts';
import type { Daemon } from './daemon.ts';
import type { EventCursor } from './event-cursor.ts';
import { reasonOf } from './failures.ts';
import { hasAccount } from './introduction.ts';
import { accountOf, chatOf, type ParseFacts, parseEvent } from './parse.ts';
import type { Revisions } from './revisions.ts';
import type { Self } from './self.ts';
import type { Speaker } from './speaker.ts';

export interface ListenerParts {
  daemon: Daemon;
  self: Self;
  speaker: Speaker;
  revisions: Revisions;
  recent: RecentMessages;
  cursor: EventCursor;
  noteToSelf: boolean;
  accept: Accept;
  health: Health;
  log: (sentence: string) => void;
  deliveries: Deliveries | undefined;
  signal: AbortSignal;
}

const pauses = { firstMs: 250, maxMs: 30_000, isSpread: true };
/** A connection that lasts so long is no part of a row of failures. */
const steadyMs = 10_000;
const farewellMs = 1000;
const maxNames = 10_000;

/** Turns what the daemon delivers into messages. */
export class Listener {
  readonly #parts: ListenerParts;
  readonly #intake: Intake;
  readonly #facts: ParseFacts;
  /** The daemon was started for one account, which may be another one. */
  #isAlone = false;

  constructor(parts: ListenerParts) {
    const { self, speaker, revisions, recent, noteToSelf } = parts;
    this.#parts = parts;
    this.#intake = new Intake({ ...parts, name: 'Signal' });
    this.#facts = {
      self,
      noteToSelf,
      names: new BoundedMap(maxNames),
      recent,
      isOurs: (timestamp) => speaker.isOurs(timestamp),
      originalOf: (timestamp) => revisions.originalOf(timestamp),
    };
  }

  /**
   * Listens until the signal. `onTried` is called when the first try has succeeded or failed. Rejects only before that, with `channel/unusable`, when
   * it can never work.
   */
  async run(onTried: () => void): Promise<void> {
    const { health, signal } = this.#parts;
    let failures = 0;
    let isFirst = true;
    while (!signal.aborted) {
      if (failures > 0) await pause(backoffMs(failures, pauses), signal);
      if (signal.aborted) break;
      const beganAt = Date.now();
      let isOpen = false;
      try {
        await this.#listen(() => {
          isOpen = true;
          onTried();
        });
      } catch (error) {
        if (signal.aborted) break;
        const isUnusable = error instanceof HermeticError && error.code === 'channel/unusable';
        if (isFirst && isUnusable) throw error;
        // A connection that ends once is replaced at once; that alone is no failure.
        if (!isOpen)
          health.report('connection', error instanceof CallError ? reasonOf(error) : isUnusable ? error.message : 'Signal: no connection.');
        onTried();
      }
      isFirst = false;
      failures = Date.now() - beganAt > steadyMs ? 1 : failures + 1;
    }
    await settlesWithin(farewellMs, this.#intake.idle());
    await settlesWithin(farewellMs, this.#parts.cursor.kept());
  }

  async #listen(onOpen: () => void): Promise<void> {
    const { daemon, self, cursor, health, signal } = this.#parts;
    this.#isAlone = !(await hasAccount(daemon, self, signal));
    await daemon.serveEvents({
      after: cursor.resume(),
      signal,
      onOpen: () => {
        health.report('account', undefined);
        health.report('connection', undefined);
        onOpen();
      },
      onEvent: (content, id) => this.#take(content, id),
    });
  }

  /** Security: whatever arrives, nothing is thrown. */
  #take(content: string, id: string | undefined): void {
    const accepted = this.#parts.cursor.begin(id);
    const delivery = this.#deliveryOf(content);
    if (!delivery) {
      accepted();
      return;
    }
    void this.#accept(delivery).then((isDone) => {
      if (isDone) accepted();
    });
  }

  async #accept(delivery: Delivery): Promise<boolean> {
    if (!this.#facts.noteToSelf) return await this.#intake.take(delivery, 0);
    let isDone = false;
    await this.#intake.inOrder(delivery.chat, async (accept) => {
      // What we are sending may come back before we know under which time it was sent.
      await this.#parts.speaker.settled();
      isDone = await accept(delivery, 0);
    });
    return isDone;
  }

  /** undefined for what nobody said, and for what was said to another account. */
  #deliveryOf(content: string): Delivery | undefined {
    const id = createHash('sha256').update(content).digest('hex');
    try {
      const event: unknown = JSON.parse(content);
      if (!this.#isForUs(accountOf(event))) return undefined;
      const chat = chatOf(event, this.#parts.self);
      if (chat === undefined) return undefined;
      return { id, chat, read: () => parseEvent(event, this.#facts), content: () => content };
    } catch (error) {
      const read = (): never => {
        throw error;
      };
      return { id, chat: '', read, content: () => content };
    }
  }

  #isForUs(account: string | undefined): boolean {
    const { self, health } = this.#parts;
    const isOurs = account === undefined || account === self.account || account === self.uuid;
    if (!isOurs && this.#isAlone) health.report('account', 'signal-cli was started for another account than signal.account.');
    return isOurs;
  }
}
