import { setTimeout as delay } from 'node:timers/promises';
import type { Accept, Incoming } from '../../core/channel.ts';
import type { Deliveries } from '../../core/set-aside.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { Health } from '../health.ts';
import { type Delivery, Intake } from '../intake.ts';
import type { Arrival } from './encryption.ts';
import { type Entry, Journal } from './journal.ts';
import type { NoteCache } from './note-cache.ts';

export interface ArrivalParts {
  cache: NoteCache;
  health: Health;
  log: (sentence: string) => void;
  deliveries: Deliveries | undefined;
  /** Throws when it cannot be read; undefined when it is nothing for us. */
  parse(arrival: Arrival): Incoming | undefined;
  signal: AbortSignal;
}

const pauses = { firstMs: 250, maxMs: 30_000 };
const farewellMs = 1_000;

/** Keeps what arrives and has it accepted. */
export class Arrivals {
  readonly #parts: ArrivalParts;
  readonly #journal: Journal;
  /** Those that arrived since the start, and were not on the disk yet. */
  readonly #fresh = new Set<string>();
  #intake: Intake | undefined;

  constructor(parts: ArrivalParts) {
    this.#parts = parts;
    this.#journal = new Journal(parts.cache);
  }

  /** From now on everything is accepted, first what arrived before. Called before there is a connection. */
  async listen(accept: Accept): Promise<void> {
    const { health, log, deliveries, signal } = this.#parts;
    this.#intake = new Intake({ name: 'WhatsApp', accept, health, log, deliveries, signal });
    const entries = this.#journal.keys().map((key) => ({ key, entry: this.#journal.get(key) }));
    const tries = await deliveries
      ?.trying(
        entries.map(({ key }) => key),
        [],
      )
      .catch(() => undefined);
    for (const { key, entry } of entries) {
      const tried = tries ? tries.get(key) : 0;
      // undefined: it was set aside.
      if (tried === undefined) this.#journal.remove(key);
      else if (entry) this.#offer(key, entry, tried);
    }
  }

  /** Writes it into the journal. It is accepted with the first `keep` after the returned function was called. */
  arrived(arrival: Arrival): () => void {
    const entry = this.#entryOf(arrival);
    const key = entry && this.#journal.add(entry);
    return () => {
      if (key !== undefined) this.#fresh.add(key);
    };
  }

  /** Resolves when everything is on the disk. Rejects with the signal only. */
  async keep(): Promise<void> {
    const { cache, health, signal } = this.#parts;
    for (let failures = 0; ; failures += 1) {
      const due = [...this.#fresh];
      try {
        await cache.flush();
        if (failures > 0) health.report('keys', undefined);
        this.#accept(due);
        return;
      } catch (error) {
        health.report('keys', `Incoming messages cannot be stored: ${errorText(error)}`);
        await delay(backoffMs(failures + 1, pauses), undefined, { signal });
      }
    }
  }

  #accept(keys: readonly string[]): void {
    if (!this.#intake) return;
    for (const key of keys) {
      const entry = this.#fresh.delete(key) ? this.#journal.get(key) : undefined;
      if (entry) this.#offer(key, entry, 0);
    }
  }

  /** Resolves when what is being accepted was, or after a while. */
  async farewell(): Promise<void> {
    if (this.#intake) await settlesWithin(farewellMs, this.#intake.idle());
    await settlesWithin(farewellMs, this.#parts.cache.flush()).catch(() => undefined);
  }

  #entryOf(arrival: Arrival): Entry | undefined {
    const { id = '', from = '' } = arrival.attrs;
    try {
      const incoming = this.#parts.parse(arrival);
      return incoming && { id, chat: incoming.place.chat, incoming, unreadable: undefined };
    } catch (error) {
      const content = JSON.stringify({ ...arrival.attrs, plain: arrival.plain.map((bytes) => Buffer.from(bytes).toString('base64')) });
      return { id, chat: from, incoming: undefined, unreadable: { reason: errorText(error), content } };
    }
  }

  #offer(key: string, { chat, incoming, unreadable }: Entry, tried: number): void {
    const delivery: Delivery = {
      id: key,
      chat,
      read: () => {
        if (unreadable) throw new Error(unreadable.reason);
        return incoming;
      },
      content: () => unreadable?.content ?? JSON.stringify(incoming),
    };
    void this.#intake?.take(delivery, tried).then((isDone) => {
      if (isDone) this.#journal.remove(key);
    });
  }
}
