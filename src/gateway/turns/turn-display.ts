import { setTimeout as delay } from 'node:timers/promises';
import type { AgentEvent, TurnResult } from '../../core/agent.ts';
import type { Activity } from '../../core/channel.ts';
import { outcomeOf } from '../../core/tool.ts';
import { LiveMessage } from '../outbox/live-message.ts';
import type { ChatSession } from '../session.ts';
import { CallWaits } from './call-waits.ts';
import { RetryNotice } from './retry-notice.ts';
import { answerKey, endKey, type RunningTurn } from './running-turn.ts';
import { StatusLine } from './status-line.ts';
import { traceEvent } from './turn-trace.ts';

const defaultRetryNoticeMs = 5000;
const typingEveryMs = 4_000;
/** How long the activity of a tool waits for the words before it. */
const lookEveryMs = 20;
const maxLooks = 50;

/** Everything people see of a turn: its answers as they grow, its activity, and why it ended. */
export class TurnDisplay {
  readonly #session: ChatSession;
  readonly #turn: RunningTurn;
  readonly #retrying: RetryNotice;
  readonly #line: StatusLine;
  readonly #waits: CallWaits;
  readonly #typing: NodeJS.Timeout;
  #live: LiveMessage | undefined;
  /** Answers of the model so far; each is a message of its own. */
  #answers: number;
  #delivering: Promise<void> = Promise.resolve();
  /** Never rejects. */
  #showing: Promise<void> = Promise.resolve();

  constructor(session: ChatSession, turn: RunningTurn, answers: number) {
    this.#session = session;
    this.#turn = turn;
    this.#answers = answers;
    const { place, deps } = session;
    this.#retrying = new RetryNotice(deps.settings.retryNoticeMs ?? defaultRetryNoticeMs, (reason) => this.#sayRetry(reason));
    this.#line = new StatusLine(session, turn.id);
    const callOf = (run: string): string | undefined => (run.startsWith(`${turn.id}/`) ? run.slice(turn.id.length + 1) : undefined);
    this.#waits = new CallWaits(session, turn.id, callOf, (activity) => this.#show(activity));
    deps.outbox.typing(place);
    this.#typing = setInterval(() => deps.outbox.typing(place), typingEveryMs);
    this.#show({ kind: 'turn-started', turn: turn.id });
  }

  hear(event: AgentEvent): void {
    const turn = this.#turn.id;
    traceEvent(turn, event);
    if (event.type === 'waiting') this.#retrying.failed(event.reason);
    else if (event.type === 'asking') this.#turn.modelAskedAt = new Date();
    else if (event.type !== 'text-discarded') {
      this.#retrying.answered();
      this.#turn.modelAskedAt = undefined;
    }
    switch (event.type) {
      case 'text':
        this.#live ??= this.#liveMessage();
        this.#live.push(event.text);
        break;
      case 'text-discarded':
        this.#live?.restart();
        break;
      case 'step-finished':
        this.#say(event.text);
        break;
      case 'tool-started':
        this.#show({ kind: 'tool-started', turn, call: event.callId, tool: event.name, input: event.input });
        break;
      case 'tool-progress':
        this.#show({ kind: 'tool-output', turn, call: event.callId, text: event.text });
        break;
      case 'tool-ended':
        this.#show({ kind: 'tool-ended', turn, call: event.callId, outcome: outcomeOf(event.result), text: event.result.text });
        break;
    }
  }

  /** Resolves when people can read everything so far, or it takes too long. */
  shown(): Promise<void> {
    return this.#showing;
  }

  /** Stores the last words of the turn. Rejects when an answer could not be stored. */
  async conclude(result: TurnResult): Promise<void> {
    const { place, deps } = this.#session;
    const say = (text: string): Promise<void> => deps.outbox.deliver(place, endKey(this.#turn.id), text);
    await this.#delivering;
    await this.#live?.finish('');
    if (this.#turn.isParked) return;
    if (result.kind === 'limit') await say(`I took ${result.steps} steps and stopped. Send a message to continue.`);
    if (result.kind === 'failed') await say(`I could not answer. ${result.reason}${result.hint ? ` ${result.hint}` : ''}`);
  }

  async end(): Promise<void> {
    this.#retrying.stop();
    this.#waits.end();
    await this.#line.end();
    clearInterval(this.#typing);
    this.#show({ kind: 'turn-ended', turn: this.#turn.id });
    await this.#showing;
  }

  #sayRetry(reason: string): void {
    const { place, deps, logError } = this.#session;
    deps.outbox
      .deliver(place, `turn/${this.#turn.id}/retry`, `The model has not answered yet, so I am retrying. ${reason}`)
      .catch(logError);
  }

  #liveMessage(): LiveMessage {
    const { place, deps } = this.#session;
    return new LiveMessage(deps.outbox, place, answerKey(this.#turn.id, this.#answers));
  }

  /** The text of the model before it calls tools, or at the end. */
  #say(text: string): void {
    const key = answerKey(this.#turn.id, this.#answers);
    const live = this.#live ?? this.#liveMessage();
    this.#live = undefined;
    this.#answers += 1;
    const { parts } = this.#session.id;
    this.#delivering = this.#delivering.then(() => live.finish(text, { session: parts }));
    // `conclude` rejects with it.
    this.#delivering.catch(() => undefined);
    this.#showing = this.#showing.then(() => this.#isSent(key));
  }

  /** Everything in the order in which it happens, also where it takes different ways. */
  #show(activity: Activity): void {
    const { channel, place } = this.#session;
    this.#showing = this.#showing.then(() => channel.activity?.(place, activity));
  }

  async #isSent(key: string): Promise<void> {
    const { channel, deps } = this.#session;
    if (!channel.activity) return;
    try {
      await this.#delivering;
      for (let look = 0; look < maxLooks; look++) {
        const entry = await deps.outbox.find(`${key}/1`);
        if (!entry || entry.state === 'sent' || entry.state === 'dropped') return;
        await delay(lookEveryMs);
      }
    } catch {
      // `conclude` rejects with it; activity is shown all the same.
    }
  }
}
