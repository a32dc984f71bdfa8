import type { Accept, Incoming } from '../core/channel.ts';
import { type Deliveries, isStoreFault, maxEnds, maxTries } from '../core/set-aside.ts';
import { backoffMs } from '../lib/backoff.ts';
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

/**
 * Accepts what a platform delivers, again and again until that succeeds, or until it has failed so often, and not for want of storage, that it is
 * set aside. Chats do not wait for each other; what is said in one keeps its order.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #lanes = new Lanes<string>();
  readonly #failing = new Set<string>();

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** `tried`: how often it was tried before, by this program or by earlier ones. Resolves with whether it was accepted or set aside: false only with the signal. */
  async take(delivery: Delivery, tried: number): Promise<boolean> {
    return await this.#lanes.run(delivery.chat, () => this.#accept(delivery, tried));
  }

  /** Runs before what comes to the chat later, such as reading what was said while nothing was delivered. `accept` is `take` without waiting in line. */
  async inOrder(chat: string, work: (accept: (delivery: Delivery, tried: number) => Promise<boolean>) => Promise<void>): Promise<void> {
    await this.#lanes.run(chat, () => work((delivery, tried) => this.#accept(delivery, tried)));
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
