import type { AuditEvent, AuditLog } from '../core/audit.ts';
import type { Sync } from '../core/conversation.ts';
import { Lane } from '../lib/lanes.ts';

/** Writing takes the thread, so it waits until the result has been delivered. */
const noteDelayMs = 20;

/**
 * Writes what happens to the log, in order. Security: what could not be written is kept, and until it is written nothing new may
 * happen, because `settled` and `record` reject.
 */
export class Recorder {
  readonly #open: () => Promise<AuditLog>;
  #unwritten: AuditEvent[] = [];
  readonly #lane = new Lane();
  #later: NodeJS.Timeout | undefined;

  constructor(open: () => Promise<AuditLog>) {
    this.#open = open;
  }

  /** Before something is done. It is in the log when this resolves, and with `now` on disk. */
  async record(event: AuditEvent, sync: Sync = 'now'): Promise<void> {
    const own = [event];
    await this.#write(() => [...this.#unwritten, ...own], sync);
  }

  /** Records something that was done, without waiting; never fails. On disk a moment later, or with the next record. */
  note(event: AuditEvent): void {
    this.#unwritten.push(event);
    this.#later ??= setTimeout(() => void this.#write(() => this.#unwritten, 'later').catch(() => undefined), noteDelayMs);
  }

  /** Resolves when everything that was noted is in the log. Closing the store puts it on disk. */
  async settled(): Promise<void> {
    await this.#write(() => this.#unwritten, 'now');
  }

  #write(select: () => readonly AuditEvent[], sync: Sync): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    return this.#lane.run(async () => {
      const events = select();
      if (events.length === 0) return;
      const noted = this.#unwritten.length;
      await (await this.#open()).append(events, sync);
      this.#unwritten = this.#unwritten.slice(noted);
    });
  }
}
