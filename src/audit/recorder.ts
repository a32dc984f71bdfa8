import type { AuditEvent, AuditLog } from '../core/audit.ts';

/** A synced write blocks the whole program, so it waits until the result has been sent to the caller. */
const noteDelayMs = 20;

/**
 * Writes what happens to the log, in order. Security: what could not be written is kept, and until it is written nothing new may
 * happen, because `settled` and `record` reject.
 */
export class Recorder {
  readonly #open: () => Promise<AuditLog>;
  #unwritten: AuditEvent[] = [];
  #writing: Promise<void> = Promise.resolve();
  #later: NodeJS.Timeout | undefined;

  constructor(open: () => Promise<AuditLog>) {
    this.#open = open;
  }

  /** Before something is done. It is on disk when this resolves. */
  async record(event: AuditEvent): Promise<void> {
    const own = [event];
    await this.#write(() => [...this.#unwritten, ...own]);
  }

  /** Records something that was done, without waiting; never fails. On disk a moment later, or with the next record. */
  note(event: AuditEvent): void {
    this.#unwritten.push(event);
    this.#later ??= setTimeout(() => void this.settled().catch(() => undefined), noteDelayMs);
  }

  /** Resolves when everything that was noted is on disk. */
  async settled(): Promise<void> {
    await this.#write(() => this.#unwritten);
  }

  #write(select: () => readonly AuditEvent[]): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    const work = this.#writing.then(async () => {
      const events = select();
      if (events.length === 0) return;
      const noted = this.#unwritten.length;
      await (await this.#open()).append(events);
      this.#unwritten = this.#unwritten.slice(noted);
    });
    this.#writing = work.catch(() => undefined);
    return work;
  }
}
