import type { Accept, Incoming } from '../core/channel.ts';
import { type Deliveries, isStoreFault, maxEnds, maxTries } from '../core/set-aside.ts';
import { backoffMs } from '../lib/backoff.ts';
import { CallSlots } from '../lib/call-slots.ts';
import { errorText } from '../lib/error-text.ts';
import { Lanes } from '../lib/lanes.ts';
import { pause } from '../lib/pause.ts';
import type { Health } from './health.ts';

export interface IntakeParts {
  /** What the platform is called. */
  name: string;
  accept: Accept;
  health: Health;
  log: (sentence: string) => void;
  deliveries: Deliveries | undefined;
  /** Nothing is accepted after it. */
  signal: AbortSignal;
}

/** Something that a platform delivered. */
export interface Delivery {
  /** What the platform calls it. */
  id: string;
  /** In whose order it is accepted. */
  chat: string;
  /** Throws when it is not what the platform says it sends; undefined when it is nothing of a person. */
  read(): Incoming | undefined;
  /** As it arrived. */
  content(): string;
}

const pauses = { firstMs: 250, maxMs: 30_000 };
/** So many deliveries wait in memory. A platform that can keep the next ones until there is room is left to. */
const maxHeld = 1_000;
/** Chats of which what was missed is read at once: each has a part of it in memory. */
const maxReading = 8;

/**
 * Accepts what a platform delivers, again and again until that succeeds, or until it has failed so often, and not for want of storage, that it is
 * set aside. Chats do not wait for each other; what is said in one keeps its order.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #lanes = new Lanes<string>();
  readonly #failing = new Set<string>();
  readonly #reading = new CallSlots(maxReading);
  #held = 0;
  #full: PromiseWithResolvers<void> | undefined;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    parts.signal.addEventListener('abort', () => this.#full?.resolve(), { once: true });
  }

  /** Memory has no room for another delivery: none is to be taken before `room`, so that chats keep their order. */
  isFull(): boolean {
    const { name, log } = this.#parts;
    if (!this.#full && this.#held >= maxHeld) {
      this.#full = Promise.withResolvers();
      log(`${this.#held} messages of ${name} wait to be stored. The next ones stay at ${name} until there is room for them.`);
    }
    return this.#full !== undefined;
  }

  /** Resolves at once unless it is full; otherwise when half of what is held was accepted, or with the signal. */
  async room(): Promise<void> {
    await this.#full?.promise;
  }

  /** `tried`: how often it was tried before, by this program or by earlier ones. Resolves with whether it was accepted or set aside: false only with the signal. */
  async take(delivery: Delivery, tried: number): Promise<boolean> {
    let isDone = false;
    await this.inOrder(delivery.chat, async (accept) => {
      isDone = await accept(delivery, tried);
    });
    return isDone;
  }

  /** The same for a delivery of which something has to be found out first. `accept` is `take` without waiting in line. */
  async inOrder(chat: string, work: (accept: Intake['take']) => Promise<void>): Promise<void> {
    this.#held += 1;
    try {
      await this.#lanes.run(chat, () => work((delivery, tried) => this.#accept(delivery, tried)));
    } finally {
      this.#held -= 1;
      if (this.#held <= maxHeld / 2) this.#hasRoom();
    }
  }

  /** Reads what was said while nothing was delivered, before what comes to the chat later. */
  async missed(chat: string, read: (accept: Intake['take']) => Promise<void>): Promise<void> {
    await this.#lanes.run(chat, () => this.#reading.run(() => read((delivery, tried) => this.#accept(delivery, tried))));
  }

  #hasRoom(): void {
    this.#full?.resolve();
    this.#full = undefined;
  }

  /** Resolves when nothing is being accepted. */
  async idle(): Promise<void> {
    await this.#lanes.idle();
  }

  async #accept(delivery: Delivery, tried: number): Promise<boolean> {
    const { health, signal, deliveries } = this.#parts;
    let attempt: Attempt = { tries: tried, isUnreadable: false, reason: 'The gateway ended each time it was tried.' };
    for (let failures = 0; !signal.aborted; failures += 1) {
      if (failures > 0 && !attempt.isUnreadable) await pause(backoffMs(failures, pauses), signal);
      if (signal.aborted) return false;
      try {
        const isHopeless = attempt.tries >= (failures > 0 ? maxTries : maxEnds);
        if (isHopeless && deliveries) await setAside(delivery, attempt, deliveries);
        // Where nothing is kept, what cannot be read is dropped: waiting does not change it.
        else if (!isHopeless || !attempt.isUnreadable) await this.#offer(delivery);
        if (this.#failing.delete(delivery.id) && this.#failing.size === 0) health.report('storage', undefined);
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        attempt = this.#afterFailure(delivery.id, attempt, error, failures === 0);
      }
    }
    return false;
  }

  async #offer(delivery: Delivery): Promise<void> {
    const incoming = readDelivery(delivery);
    if (incoming) await this.#parts.accept(incoming);
  }

  #afterFailure(id: string, { tries }: Attempt, error: unknown, isFirst: boolean): Attempt {
    const { name, health, log } = this.#parts;
    const reason = errorText(error);
    if (isFirst) log(`A message of ${name} could not be accepted, and is tried again: ${reason}`);
    const isUnreadable = error instanceof Unreadable;
    if (!isUnreadable) {
      this.#failing.add(id);
      health.report('storage', `Incoming messages cannot be stored: ${reason}`);
    }
    return { tries: isStoreFault(error) ? tries : tries + 1, isUnreadable, reason };
  }
}

interface Attempt {
  /** Of all programs. */
  tries: number;
  /** Waiting changes nothing about it. */
  isUnreadable: boolean;
  /** Why the last one failed. */
  reason: string;
}

/** A delivery that is not what the platform says it sends. */
class Unreadable extends Error {}

function readDelivery(delivery: Delivery): Incoming | undefined {
  try {
    return delivery.read();
  } catch (error) {
    throw new Unreadable(`It cannot be read: ${errorText(error)}`);
  }
}

async function setAside({ id, content }: Delivery, { tries, reason }: Attempt, deliveries: Deliveries): Promise<void> {
  await deliveries.setAside({ id, reason, content: content(), tries });
}
