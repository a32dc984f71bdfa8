import type { Activity } from '../../core/channel.ts';
import { waitText } from '../../core/waits.ts';
import type { ChatSession } from '../session.ts';

const lookEveryMs = 1000;

/** Shows on the card of each call of a turn what it waits for. For a channel with activities. */
export class CallWaits {
  readonly #session: ChatSession;
  readonly #turn: string;
  readonly #callOf: (run: string) => string | undefined;
  readonly #show: (activity: Activity) => void;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #shown = new Map<string, string>();

  /** `callOf`: the call of the turn that has this durable name, as its activities call it; undefined for others. */
  constructor(session: ChatSession, turn: string, callOf: (run: string) => string | undefined, show: (activity: Activity) => void) {
    this.#session = session;
    this.#turn = turn;
    this.#callOf = callOf;
    this.#show = show;
    if (session.channel.activity) this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const turn = this.#turn;
    for (const { run, waitsFor } of this.#session.tools.status().running) {
      const call = run === undefined ? undefined : this.#callOf(run);
      if (call === undefined) continue;
      const text = waitsFor && waitText(waitsFor);
      if (this.#shown.get(call) === text) continue;
      if (text === undefined) this.#shown.delete(call);
      else this.#shown.set(call, text);
      this.#show({ kind: 'tool-waiting', turn, call, text });
    }
  }
}
