import type { Place } from '../../core/channel.ts';
import type { Delivery, Outbox } from './outbox.ts';

interface LivePace {
  /** A text is not updated more often than people could see. */
  lookEveryMs: number;
  /** With many chats in which something is said it is updated less often: so much for each. */
  lookEveryMsPerChat: number;
  /** A text that is finished by then is sent once, as it is. */
  firstAfterMs: number;
}

const humanPace: LivePace = { lookEveryMs: 200, lookEveryMsPerChat: 2, firstAfterMs: 700 };
/** Left of a message that turned out not to be needed, where none can be taken back. */
const nothing = '…';

const draftKey = (key: string, index: number): string => `${key}/draft/${index + 1}`;

/**
 * A text that grows while people read it. What is there so far is shown in drafts: messages that go through the outbox, so that they come after
 * what was said before, and are then changed in place as often as the platform allows. In the end the outbox changes them to the final text,
 * which is in its ledger as soon as `finish` resolves. Where messages cannot be changed there are no drafts.
 *
 * After a crash `finish` of another one with the same key, in the next process, finds the drafts by their keys and takes their place.
 */
export class LiveMessage {
  readonly #outbox: Outbox;
  readonly #place: Place;
  readonly #key: string;
  readonly #pace: LivePace;
  #text = '';
  #drafts = 0;
  #timer: NodeJS.Timeout | undefined;
  #drafting: Promise<void> = Promise.resolve();
  #isFinished = false;

  constructor(outbox: Outbox, place: Place, key: string, pace = humanPace) {
    this.#outbox = outbox;
    this.#place = place;
    this.#key = key;
    this.#pace = pace;
  }

  push(text: string): void {
    this.#text += text;
    if (this.#isFinished || this.#timer) return;
    const { lookEveryMs, lookEveryMsPerChat } = this.#pace;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        // A draft that cannot be shown is no reason to fail: the text comes in the end.
        this.#drafting = this.#drafting.then(() => this.#draft()).catch(() => undefined);
      },
      Math.max(lookEveryMs, lookEveryMsPerChat * this.#outbox.busyPlaces),
    );
  }

  /** The text so far is void. */
  restart(): void {
    this.#text = '';
  }

  /** Leaves exactly this text, once. A blank text leaves the drafts as they are. */
  async finish(text: string, more: Omit<Delivery, 'drafts'> = {}): Promise<void> {
    this.#isFinished = true;
    clearTimeout(this.#timer);
    await this.#drafting;
    const drafts = await this.#known();
    if (text.trim() === '' && drafts.length > 0) await this.#outbox.abandon(this.#place, drafts);
    await this.#outbox.deliver(this.#place, this.#key, text, { ...more, drafts });
    if (text.trim() === '') return;
    const needless = drafts.slice(this.#pieces(text).length);
    await this.#outbox.withdraw(needless);
    for (const draft of needless) this.#outbox.show(this.#place, draft, nothing, true);
  }

  async #draft(): Promise<void> {
    if (this.#outbox.traits(this.#place)?.editEveryMs === undefined || this.#isFinished) return;
    for (const [index, piece] of this.#pieces(this.#text).entries()) {
      const key = draftKey(this.#key, index);
      if (index < this.#drafts) this.#outbox.show(this.#place, key, piece);
      else if (!(await this.#addDraft(key, piece, index === 0))) return;
    }
  }

  async #addDraft(key: string, text: string, isFirst: boolean): Promise<boolean> {
    const dueAt = isFirst ? new Date(Date.now() + this.#pace.firstAfterMs) : undefined;
    const isNew = await this.#outbox.add(this.#place, [{ key, message: { text }, isDraft: true, dueAt }]);
    this.#drafts += 1;
    // An earlier process had the same key: what is there may be the final text, and is not changed to an unfinished one.
    if (!isNew) this.#isFinished = true;
    return isNew;
  }

  #pieces(text: string): string[] {
    return this.#outbox.pieces(this.#place, text);
  }

  async #known(): Promise<string[]> {
    const keys: string[] = [];
    for (;;) {
      const key = draftKey(this.#key, keys.length);
      if (!(await this.#outbox.find(key))) return keys;
      keys.push(key);
    }
  }
}
