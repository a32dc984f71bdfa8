import type { Channel, Place } from '../../core/channel.ts';
import type { OutboxEntry, OutboxLedger } from '../../core/conversation.ts';
import { HermeticError } from '../../core/errors.ts';
import { answered } from '../../lib/answered.ts';

interface Draft {
  wanted: string;
  /** undefined when it is unknown. */
  shown: string | undefined;
  id: string | undefined;
  /** When the platform last had to do with it. */
  touchedAt: number;
  failures: number;
  /** It is not changed any more, until something takes its place. */
  isFrozen: boolean;
  /** Nothing will take its place. */
  isLast: boolean;
}

export interface DraftsOptions {
  place: Place;
  ledger: OutboxLedger;
  times: { answerMs: number };
  stop: AbortSignal;
}

/** How changes keep the pace of the platform. */
export interface Paced {
  /** Resolves when the platform takes a change, with undefined when there may be something else to say. */
  turn(channel: Channel): Promise<Disposable | undefined>;
  /** The platform takes no more for now. */
  refused(error: HermeticError): void;
}

const maxFailures = 3;
const fresh: Draft = { wanted: '', shown: undefined, id: undefined, touchedAt: 0, failures: 0, isFrozen: false, isLast: false };

/**
 * Messages of one place that are changed while people read them. Nothing here survives the process: what is to last goes through the ledger,
 * in the line that also calls this, so that no change of a draft can arrive after what took its place.
 */
export class Drafts {
  readonly #options: DraftsOptions;
  readonly #paced: Paced;
  readonly #drafts = new Map<string, Draft>();
  #pausedUntil = 0;

  constructor(options: DraftsOptions, paced: Paced) {
    this.#options = options;
    this.#paced = paced;
  }

  get isEmpty(): boolean {
    return this.#drafts.size === 0;
  }

  show(key: string, text: string, isLast: boolean): void {
    const draft = this.#drafts.get(key);
    if (draft) Object.assign(draft, { wanted: text, isLast: draft.isLast || isLast });
    else this.#drafts.set(key, { ...fresh, wanted: text, isLast });
  }

  forget(key: string): void {
    this.#drafts.delete(key);
  }

  shown(key: string): string | undefined {
    return this.#drafts.get(key)?.shown;
  }

  /** A draft is sent as it is by now. */
  textOf(entry: OutboxEntry): string {
    return (entry.isDraft ? this.#drafts.get(entry.key)?.wanted : undefined) ?? entry.message.text;
  }

  /** How long until the message with this key may be changed; for one without, until any message may be sent. */
  editableInMs(key: string | undefined, channel: Channel): number {
    const draft = key === undefined ? undefined : this.#drafts.get(key);
    const editableAt = draft ? draft.touchedAt + (channel.traits.editEveryMs ?? 0) : 0;
    return Math.max(editableAt, this.#pausedUntil) - Date.now();
  }

  sent(entry: OutboxEntry, id: string, text: string): void {
    const draft = this.#drafts.get(entry.key);
    if (draft) Object.assign(draft, { shown: text, id, touchedAt: Date.now() });
    else if (entry.isDraft) this.#drafts.set(entry.key, { ...fresh, wanted: text, shown: text, id, touchedAt: Date.now() });
    if (entry.replaces !== undefined) this.#drafts.delete(entry.replaces);
  }

  dropped(entry: OutboxEntry): void {
    const draft = this.#drafts.get(entry.key);
    if (draft) draft.isFrozen = true;
    if (entry.replaces !== undefined) this.#drafts.delete(entry.replaces);
  }

  /** Changes one draft. Resolves with how long to wait for the next, or undefined when all are as they should be. */
  async refresh(channel: Channel): Promise<number | undefined> {
    let soonest: number | undefined;
    for (const [key, draft] of this.#drafts) {
      const isDone = draft.isFrozen || draft.wanted === draft.shown;
      if (isDone && draft.isLast) this.#drafts.delete(key);
      if (isDone) continue;
      const entry = draft.id === undefined ? await this.#options.ledger.find(key) : undefined;
      if (entry?.state === 'waiting' || entry?.state === 'sending') continue;
      draft.id ??= entry?.sentId;
      if (draft.id === undefined || !channel.edit) {
        draft.isFrozen = true;
        return 0;
      }
      const waitMs = this.editableInMs(key, channel);
      if (waitMs <= 0) {
        using turn = await this.#paced.turn(channel);
        // It may be gone by then.
        if (turn && this.#drafts.get(key) === draft) await this.#edit(channel, draft, draft.id);
        return 0;
      }
      soonest = Math.min(waitMs, soonest ?? waitMs);
    }
    return soonest;
  }

  async #edit(channel: Channel, draft: Draft, id: string): Promise<void> {
    const { place, stop, times } = this.#options;
    const text = draft.wanted;
    const answer = await answered(async (signal) => await channel.edit?.(place, id, { text }, signal), stop, times.answerMs);
    draft.touchedAt = Date.now();
    if (answer.kind === 'done') {
      Object.assign(draft, { shown: text, failures: 0 });
      return;
    }
    const error = answer.error instanceof HermeticError ? answer.error : undefined;
    const code = error?.code;
    draft.failures += 1;
    if (error?.code === 'channel/busy') {
      this.#paced.refused(error);
      this.#pausedUntil = draft.touchedAt + (error.retryAfterMs ?? 0);
    } else if (code !== 'channel/refused') draft.shown = undefined;
    if (code === 'channel/refused' || draft.failures >= maxFailures) draft.isFrozen = true;
  }
}
