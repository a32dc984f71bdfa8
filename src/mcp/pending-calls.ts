import { randomUUID } from 'node:crypto';
import type { Answer, Approver, Question } from '../core/approval.ts';
import type { ToolResult } from '../core/tool.ts';

/** A call that has been made, and where it stands. */
export type CallState = { kind: 'done'; result: ToolResult } | { kind: 'asks'; id: string; question: Question };

/** What the client sent with one round of a call. */
export interface Round {
  signal: AbortSignal;
  progress(text: string): void;
}

interface PendingCall {
  /** Resolves when it has come to its end. Never rejects. */
  readonly over: Promise<void>;
  state(): Promise<CallState>;
  answer(answer: Answer | undefined): void;
  join(round: Round): void;
}

export type StartCall = (approver: Approver, round: Round) => Promise<ToolResult>;

const lateMs = 60_000;

/**
 * Calls that wait for a person. The protocol asks by ending a request with a question; the next request brings the answer. The call itself
 * goes on in between, so what was asked about is what will run.
 */
export class PendingCalls {
  readonly #calls = new Map<string, PendingCall>();

  /** Resolves when the call is done or asks something. */
  begin(start: StartCall, round: Round): Promise<CallState> {
    const call = new RunningCall(start, round);
    return this.#settle(call, randomUUID());
  }

  /** Security: an id is known only to whom the question was put, and good for one answer. undefined when nothing waits under it. */
  resume(id: string, answer: Answer | undefined, round: Round): Promise<CallState> | undefined {
    const call = this.#calls.get(id);
    if (!call) return undefined;
    this.#calls.delete(id);
    call.join(round);
    call.answer(answer);
    return this.#settle(call, randomUUID());
  }

  async #settle(call: PendingCall, id: string): Promise<CallState> {
    const state = await call.state();
    if (state.kind === 'done') return state;
    this.#calls.set(id, call);
    // An unanswered question ends its call in time; a client that comes back later is told so for a while.
    void call.over.then(() => setTimeout(() => this.#calls.delete(id), lateMs).unref());
    return { ...state, id };
  }
}

class RunningCall implements PendingCall {
  readonly over: Promise<void>;
  readonly #result: Promise<ToolResult>;
  readonly #controller = new AbortController();
  readonly #questions: { question: Question; settle(answer: Answer | undefined): void }[] = [];
  readonly #ended = new AbortController();
  #round: Round;
  #asked = Promise.withResolvers<void>();

  constructor(start: StartCall, round: Round) {
    this.#round = round;
    this.join(round);
    const approver: Approver = { ask: (question, signal) => this.#ask(question, signal) };
    this.#result = start(approver, { signal: this.#controller.signal, progress: (text) => this.#round.progress(text) });
    const end = (): void => this.#ended.abort();
    this.over = this.#result.then(end, end);
  }

  /** Ending the round ends the call. */
  join(round: Round): void {
    this.#round = round;
    if (round.signal.aborted) this.#controller.abort();
    else round.signal.addEventListener('abort', () => this.#round === round && this.#controller.abort(), { once: true });
  }

  /** Rejects when the call is over: then no client hears of what a process asks that it left running. */
  #ask(question: Question, signal: AbortSignal): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      const end = (): void => reject(new Error('the call is over'));
      if (this.#ended.signal.aborted) return end();
      this.#ended.signal.addEventListener('abort', end, { once: true });
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
      this.#questions.push({ question, settle: resolve });
      this.#asked.resolve();
    });
  }

  answer(answer: Answer | undefined): void {
    this.#questions.shift()?.settle(answer);
    if (this.#questions.length === 0) this.#asked = Promise.withResolvers();
  }

  async state(): Promise<CallState> {
    const done = this.#result.then((result): CallState => ({ kind: 'done', result }));
    const asks = this.#asked.promise.then((): CallState | undefined => {
      const question = this.#questions[0]?.question;
      return question && { kind: 'asks', id: '', question };
    });
    return (await Promise.race([done, asks])) ?? (await done);
  }
}
