import type { ChannelNotes } from '../../core/channel-notes.ts';
import { isId, messageId, messageIdAt, microseconds } from './ids.ts';

/** What was said longer ago is not read after a pause. */
const maxAgeMs = 24 * 60 * 60 * 1000;
/** The clocks of Slack and of this machine differ. */
const maxAheadMs = 10 * 60 * 1000;
const noteKey = 'read';

/**
 * How far messages were accepted, in all conversations: every message with an earlier id was. Ids are times, so one is enough to find out after a
 * crash what was missed; some of it may come twice, under the same id.
 */
export class ReadMark {
  readonly #notes: ChannelNotes | undefined;
  readonly #open = new Set<bigint>();
  readonly #holds = new Set<{ at: bigint }>();
  /** The latest one that was accepted. */
  #top: bigint;
  #written: bigint;
  #writing: Promise<void> | undefined;

  private constructor(notes: ChannelNotes | undefined, value: bigint) {
    this.#notes = notes;
    this.#top = value;
    this.#written = value;
  }

  /** The first time, reading begins now. */
  static async load(notes: ChannelNotes | undefined): Promise<ReadMark> {
    const kept = (await notes?.read())?.get(noteKey);
    const now = BigInt(Date.now()) * 1000n;
    const earliest = now - BigInt(maxAgeMs) * 1000n;
    const value = isId(kept, messageId) ? microseconds(kept) : now;
    if (kept === undefined) await notes?.write({ [noteKey]: messageIdAt(value) });
    return new ReadMark(notes, value > earliest ? value : earliest);
  }

  /** Everything up to here was accepted. */
  get value(): string {
    return messageIdAt(this.#value());
  }

  begin(id: string): void {
    this.#open.add(microseconds(id));
  }

  accepted(id: string): void {
    const time = microseconds(id);
    this.#open.delete(time);
    // Whatever a message says about its time, what is said from now on is not skipped.
    if (time > this.#top && time <= BigInt(Date.now() + maxAheadMs) * 1000n) this.#top = time;
    this.#writeSoon();
  }

  /** Stays where it is until the result is called: it is not known yet what was said before. */
  hold(): () => void {
    const held = { at: this.#value() };
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

  #value(): bigint {
    let value = this.#top;
    for (const time of this.#open) if (time <= value) value = time - 1n;
    for (const { at } of this.#holds) if (at < value) value = at;
    return value;
  }

  /** One write at a time, of the latest value. What is not written is read again, which is no harm. */
  #writeSoon(): void {
    const value = this.#value();
    if (this.#writing || !this.#notes || value === this.#written) return;
    this.#writing = this.#notes
      .write({ [noteKey]: messageIdAt(value) })
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
