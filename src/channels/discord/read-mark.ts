import type { ChannelNotes } from '../../core/channel-notes.ts';

/** Discord's ids begin with the milliseconds since 2015. */
const epoch = 1_420_070_400_000;
/** What was said longer ago is not read after a pause, as Telegram does it. */
const maxAgeMs = 24 * 60 * 60 * 1000;
const noteKey = 'read';

export function idAt(time: number): bigint {
  return BigInt(Math.max(0, time - epoch)) << 22n;
}

/**
 * How far messages were accepted, in all channels: every message with a smaller id was. Ids grow with time, so one number is enough to find out after
 * a crash what was missed; some of it may come twice, under the same id.
 */
export class ReadMark {
  readonly #notes: ChannelNotes | undefined;
  readonly #open = new Set<bigint>();
  readonly #holds = new Set<{ at: bigint }>();
  /** The largest one that was accepted. */
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
    const now = Date.now();
    const value = kept !== undefined && /^\d{1,20}$/.test(kept) ? BigInt(kept) : idAt(now);
    const mark = new ReadMark(notes, value > idAt(now - maxAgeMs) ? value : idAt(now - maxAgeMs));
    if (kept === undefined) await notes?.write({ [noteKey]: String(value) });
    return mark;
  }

  get value(): bigint {
    let value = this.#top;
    for (const id of this.#open) if (id <= value) value = id - 1n;
    for (const { at } of this.#holds) if (at < value) value = at;
    return value;
  }

  begin(id: string): void {
    this.#open.add(BigInt(id));
  }

  accepted(id: string): void {
    const number = BigInt(id);
    this.#open.delete(number);
    if (number > this.#top) this.#top = number;
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
