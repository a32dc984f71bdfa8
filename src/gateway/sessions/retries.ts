import type { InboxEntry, InboxLedger } from '../../core/conversation.ts';
import { isStoreFault, maxEnds, maxTries, type SetAside } from '../../core/set-aside.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { errorText } from '../../lib/error-text.ts';
import { hermetic } from '../../lib/own-command.ts';
import type { Outbox } from '../outbox/outbox.ts';

const pauses = { firstMs: 250, maxMs: 60_000 };
const stallPauses = { firstMs: 250, maxMs: 10_000 };

export interface RetryParts {
  inbox: InboxLedger;
  outbox: Outbox;
  setAside(found: Omit<SetAside, 'at'>): Promise<void>;
  wake(): void;
  logError(error: unknown): void;
}

/** Retries the messages of one session that failed, a little later each time, and gives up after a few tries. Other messages do not wait. */
export class Retries {
  readonly #parts: RetryParts;
  /** Messages that are tried again when their timer fires. */
  readonly #pausing = new Map<number, NodeJS.Timeout>();
  readonly #counted = new Set<number>();
  /** Looks at everything that waits again after the store took nothing. */
  #stalled: NodeJS.Timeout | undefined;
  #stalls = 0;

  constructor(parts: RetryParts) {
    this.#parts = parts;
  }

  get isAtRest(): boolean {
    return this.#pausing.size === 0 && !this.#stalled;
  }

  /** Whether it may be tried now. A message that was tried too often, by this or earlier programs, is set aside. */
  async mayTry(entry: InboxEntry): Promise<boolean> {
    if (this.#pausing.has(entry.seq)) return false;
    if (entry.tries < maxEnds) return true;
    await this.giveUp(entry, 'The gateway ended each time it was tried.');
    return false;
  }

  /** Counts a try before it is made. */
  async trying({ seq }: InboxEntry): Promise<void> {
    await this.#parts.inbox.trying(seq);
    this.#counted.add(seq);
  }

  async failed(entry: InboxEntry, error: unknown): Promise<void> {
    if (isStoreFault(error)) throw error;
    this.#parts.logError(error);
    if (!this.#counted.delete(entry.seq)) await this.#parts.inbox.trying(entry.seq);
    const tries = entry.tries + 1;
    if (tries >= maxTries) return await this.giveUp(entry, errorText(error), tries);
    const again = (): void => {
      this.#pausing.delete(entry.seq);
      this.#parts.wake();
    };
    this.#pausing.set(entry.seq, setTimeout(again, backoffMs(tries, pauses)));
  }

  /**
   * A look at what waits failed: the next one comes by itself when the store is at fault. Throws the error, of those
   * of the store in a row the first.
   */
  readonly stalled = (error: unknown): void => {
    if (!isStoreFault(error)) throw error;
    this.#stalls += 1;
    clearTimeout(this.#stalled);
    const again = (): void => {
      this.#stalled = undefined;
      this.#parts.wake();
    };
    this.#stalled = setTimeout(again, backoffMs(this.#stalls, stallPauses));
    if (this.#stalls === 1) throw error;
  };

  /** A look at what waits came to its end. */
  readonly looked = (): void => {
    this.#stalls = 0;
  };

  stop(): void {
    clearTimeout(this.#stalled);
    for (const timer of this.#pausing.values()) clearTimeout(timer);
    this.#pausing.clear();
  }

  /** Sets it aside, and says so in its chat. */
  async giveUp({ seq, session, incoming, ...entry }: InboxEntry, reason: string, tries = entry.tries): Promise<void> {
    const { setAside, outbox, logError } = this.#parts;
    await setAside({ source: 'inbox', id: String(seq), session, reason, content: JSON.stringify(incoming), tries });
    if (incoming.kind === 'press') return;
    const text = `I could not process this message and will not retry it. The operator can see it with \`${hermetic} doctor\` (inbox ${seq}).`;
    await outbox.deliver(incoming.place, `aside/${seq}`, text, { replyTo: incoming.id }).catch(logError);
  }
}
