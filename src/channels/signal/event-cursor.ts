import type { ChannelNotes } from '../../core/channel-notes.ts';

const noteKey = 'events';
/** An event that no daemon knows: it then delivers all that it remembers. */
const unknownEvent = '0';

interface Open {
  id: string;
  isDone: boolean;
}

/**
 * How far the events of the daemon were accepted: each one up to `kept`. A daemon that numbers its events remembers some of them, and delivers those
 * after a number again; some may come twice. Where events have no numbers it does nothing.
 */
export class EventCursor {
  readonly #notes: ChannelNotes | undefined;
  #open: Open[] = [];
  /** The last event that arrived, or that an earlier program accepted. */
  #last: string | undefined;
  #accepted: string | undefined;
  #written: string | undefined;
  #writing: Promise<void> | undefined;

  private constructor(notes: ChannelNotes | undefined, kept: string | undefined) {
    this.#notes = notes;
    this.#last = kept;
    this.#accepted = kept;
    this.#written = kept;
  }

  /** The first time, reading begins now; should this program die before it accepts anything, the next one reads what there was. */
  static async load(notes: ChannelNotes | undefined): Promise<EventCursor> {
    const kept = (await notes?.read())?.get(noteKey);
    if (kept === undefined) await notes?.write({ [noteKey]: unknownEvent });
    return new EventCursor(notes, kept);
  }

  /** For a connection: after which event to begin. What was received in this program is not asked for again: it is being accepted. */
  resume(): string | undefined {
    const last = this.#last;
    // What happens from now on must not be lost with the connection.
    this.#last ??= unknownEvent;
    return last;
  }

  /** An event arrived. The result is to be called when it was accepted. */
  begin(id: string | undefined): () => void {
    if (id === undefined) return () => undefined;
    const open: Open = { id, isDone: false };
    this.#last = id;
    this.#open.push(open);
    return () => {
      open.isDone = true;
      this.#advance();
    };
  }

  /** Resolves when it is kept. */
  async kept(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #advance(): void {
    const waiting = this.#open.findIndex(({ isDone }) => !isDone);
    const done = this.#open.splice(0, waiting === -1 ? this.#open.length : waiting);
    this.#accepted = done.at(-1)?.id ?? this.#accepted;
    this.#writeSoon();
  }

  /** One write at a time, of the latest value. What is not written is delivered again, which is no harm. */
  #writeSoon(): void {
    const accepted = this.#accepted;
    if (this.#writing || !this.#notes || accepted === undefined || accepted === this.#written) return;
    this.#writing = this.#notes
      .write({ [noteKey]: accepted })
      .then(
        () => {
          this.#written = accepted;
        },
        () => undefined,
      )
      .finally(() => {
        this.#writing = undefined;
        if (this.#written === accepted) this.#writeSoon();
      });
  }
}
