import type { ChannelNotes } from '../core/channel-notes.ts';

/** The number of a message that is said at this time, in milliseconds. */
type NumberAt = (time: number) => bigint;

/** What was said longer ago is not read after a pause. */
const maxAgeMs = 24 * 60 * 60 * 1000;
/** The clocks of a platform and of this machine differ. */
const maxAheadMs = 10 * 60 * 1000;
const noteKey = 'read';

/**
 * How far messages were accepted, in all chats of a platform whose ids grow with time: every message with a smaller one was. So one number is enough
 * to find out after a crash what was missed; some of it may come twice, under the same id.
 */
export class ReadMark {
  readonly #notes: ChannelNotes | undefined;
  readonly #numberAt: NumberAt;
  readonly #open = new Set<bigint>();
  readonly #holds = new Set<{ at: bigint }>();
  /** The largest one that was accepted. */
  #top: bigint;
  #written: bigint;
  #writing: Promise<void> | undefined;

  private constructor(notes: ChannelNotes | undefined, numberAt: NumberAt, value: bigint) {
    this.#notes = notes;
    this.#numberAt = numberAt;
    this.#top = value;
    this.#written = value;
  }

  /** The first time, reading begins now. */
  static async load(notes: ChannelNotes | undefined, numberAt: NumberAt): Promise<ReadMark> {
    const kept = (await notes?.read())?.get(noteKey);
    const now = Date.now();
    const value = kept !== undefined && /^\d{1,20}$/.test(kept) ? BigInt(kept) : numberAt(now);
    const earliest = numberAt(now - maxAgeMs);
    if (kept === undefined) await notes?.write({ [noteKey]: String(value) });
    return new ReadMark(notes, numberAt, value > earliest ? value : earliest);
  }

  /** Everything up to here was accepted. */
  get value(): bigint {
    let value = this.#top;
    for (const number of this.#open) if (number <= value) value = number - 1n;
    for (const { at } of this.#holds) if (at < value) value = at;
    return value;
  }

  begin(number: bigint): void {
    this.#open.add(number);
  }

  accepted(number: bigint): void {
    this.#open.delete(number);
    // A message may claim any time. It must not make us skip messages that arrive from now on.
    if (number > this.#top && number <= this.#numberAt(Date.now() + maxAheadMs)) this.#top = number;
    this.#writeSoon();
  }

  /** Stays where it is until the result is called: it is not known yet what was said before. */
  hold(): () => void {
    const held = { at: this.value };
    this.#holds.add(held);
    return () => {
      this.#holds.delete(held);
      this.#writeSoon();
    };
  }

  /** Resolves when it is kept. */
  async kept(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** One write at a time, of the latest value. What is not written is read again, which is no harm. */
  #writeSoon(): void {
    if (this.#writing || !this.#notes || this.value === this.#written) return;
    const { value } = this;
    this.#writing = this.#notes
      .write({ [noteKey]: String(value) })
      .then(
        () => {
          this.#written = value;
        },
        () => undefined,
      )
      .finally(() => {
        this.#writing = undefined;
        if (this.#written === value) this.#writeSoon();
      });
  }
}
