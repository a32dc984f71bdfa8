import type { Activity } from '../../core/channel.ts';
import type { CallOutcome } from '../../core/tool.ts';
import type { WebCall, WebEvent } from '../../core/web-log.ts';

const maxCalls = 60;
const maxOutput = 64 * 1024;
/** Events a page may be behind before it is told how things are instead of how they came about. */
const maxWaiting = 500;

/** Of a call that runs when its turn ends. */
export const unfinished: CallOutcome = { kind: 'failed', reason: 'interrupted' };

/** One page that looks at a chat. */
export class Follower {
  /** The log has something this page has not seen. */
  isBehind = true;
  #events: WebEvent[] = [];
  #wake: () => void = () => undefined;

  get waiting(): number {
    return this.#events.length;
  }

  tell(event: WebEvent): void {
    const last = this.#events.at(-1);
    const joined = last && joinedOutput(last, event);
    if (joined) this.#events[this.#events.length - 1] = joined;
    else this.#events.push(event);
    this.#wake();
  }

  /** Instead of everything it was not told yet. */
  tellOnly(event: WebEvent): void {
    this.#events = [event];
    this.#wake();
  }

  changed(): void {
    this.isBehind = true;
    this.#wake();
  }

  take(): WebEvent[] {
    return this.#events.splice(0);
  }

  /** Resolves when there is something to tell, or at the signal. */
  async woken(signal: AbortSignal): Promise<void> {
    if (this.isBehind || this.#events.length > 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#wake = () => undefined;
  }
}

function joinedOutput(last: WebEvent, next: WebEvent): WebEvent | undefined {
  if (last.kind !== 'activity' || next.kind !== 'activity') return undefined;
  const [before, more] = [last.activity, next.activity];
  if (before.kind !== 'tool-output' || more.kind !== 'tool-output' || keyOf(before) !== keyOf(more)) return undefined;
  return { ...next, activity: { ...more, text: (before.text + more.text).slice(-maxOutput) } };
}

/** Some providers count their calls anew in every turn. */
function keyOf({ turn, call }: Pick<WebCall, 'turn' | 'call'>): string {
  return `${turn}/${call}`;
}

/** The current activity of a chat, and the pages that follow it. */
export class LiveChat {
  readonly #followers = new Set<Follower>();
  readonly #calls = new Map<string, WebCall>();
  /** Of a chat that was there before: what is known of it. */
  #loading: Promise<void> | undefined;
  #turn: string | undefined;
  #position: number | undefined;

  get isIdle(): boolean {
    return this.#followers.size === 0 && this.#turn === undefined;
  }

  /** Puts what is remembered before what was seen here, once. */
  load(remembered: () => Promise<readonly WebCall[]>): Promise<void> {
    this.#loading ??= remembered().then((calls) => {
      const seen = [...this.#calls];
      this.#calls.clear();
      // This page has seen the running calls.
      for (const call of calls) this.#calls.set(keyOf(call), call.state === 'running' ? { ...call, state: 'interrupted' } : call);
      for (const [key, call] of seen) this.#calls.set(key, call);
    });
    // The next page tries again.
    this.#loading.catch(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Calls of a turn that run. */
  runningIn(turn: string): WebCall[] {
    return [...this.#calls.values()].filter((call) => call.turn === turn && call.state === 'running');
  }

  /** A call as it is now. */
  call(which: Pick<WebCall, 'turn' | 'call'>): WebCall | undefined {
    return this.#calls.get(keyOf(which));
  }

  join(): Follower {
    const follower = new Follower();
    follower.tell(this.now());
    this.#followers.add(follower);
    return follower;
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
  }

  now(): WebEvent {
    return { kind: 'now', turn: this.#turn, calls: [...this.#calls.values()] };
  }

  /** The log has changed; `position` is that of the message. */
  changed(position: number): void {
    this.#position = Math.max(position, this.#position ?? 0);
    for (const follower of this.#followers) follower.changed();
  }

  tell(event: WebEvent): void {
    for (const follower of this.#followers) {
      if (follower.waiting < maxWaiting) follower.tell(event);
      else follower.tellOnly(this.now());
    }
  }

  act(activity: Activity): void {
    this.#note(activity);
    this.tell({ kind: 'activity', activity, after: this.#position });
  }

  #note(activity: Activity): void {
    if (activity.kind === 'turn-started') {
      this.#turn = activity.turn;
    } else if (activity.kind === 'turn-ended') {
      if (this.#turn === activity.turn) this.#turn = undefined;
      for (const call of this.#calls.values()) if (call.turn === activity.turn && call.state === 'running') this.#end(call, unfinished, '');
    } else if (activity.kind === 'tool-started') {
      const { call, turn, tool, input } = activity;
      this.#calls.set(keyOf(activity), { call, turn, tool, input, output: '', state: 'running', after: this.#position });
      const oldest = this.#calls.keys().next();
      if (this.#calls.size > maxCalls && !oldest.done) this.#calls.delete(oldest.value);
    } else {
      const call = this.#calls.get(keyOf(activity));
      if (call && activity.kind === 'tool-output')
        this.#calls.set(keyOf(call), { ...call, output: (call.output + activity.text).slice(-maxOutput) });
      if (call?.state === 'running' && activity.kind === 'tool-waiting') this.#calls.set(keyOf(call), { ...call, waiting: activity.text });
      if (call && activity.kind === 'tool-ended') this.#end(call, activity.outcome, activity.text);
    }
  }

  #end(call: WebCall, { kind, exitCode, reason }: CallOutcome, text: string): void {
    this.#calls.set(keyOf(call), {
      ...call,
      waiting: undefined,
      state: kind,
      exitCode,
      reason,
      output: call.output || text.slice(-maxOutput),
    });
  }
}
