import type { Activity } from '../../core/channel.ts';
import type { WebCall, WebLog } from '../../core/web-log.ts';

/** The output of a call is stored at most this often. */
const outputEveryMs = 2000;

/** Writes down the calls of tools, one after the other, so that a page finds them after a restart. */
export class CallMemory {
  readonly #log: WebLog;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #writing: Promise<void> = Promise.resolve();

  constructor(log: WebLog) {
    this.#log = log;
  }

  /** `find`: the call as it is when it is written. */
  note(chat: string, activity: Activity, find: (which: { turn: string; call: string }) => WebCall | undefined): void {
    if (!('call' in activity) || activity.kind === 'tool-waiting') return;
    const key = JSON.stringify([chat, activity.turn, activity.call]);
    const save = (): void => {
      clearTimeout(this.#timers.get(key));
      this.#timers.delete(key);
      const now = find(activity);
      // A card that cannot be stored must not end the turn: it is missing after a restart.
      if (now) this.#writing = this.#writing.then(() => this.#log.saveCall(chat, now)).catch(() => undefined);
    };
    if (activity.kind !== 'tool-output') save();
    else if (!this.#timers.has(key)) this.#timers.set(key, setTimeout(save, outputEveryMs));
  }

  /** Resolves when everything is written. */
  async end(): Promise<void> {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    await this.#writing;
  }
}
