import { randomUUID } from 'node:crypto';
import type { Action, Answer, Approver, Finding, Source } from '../core/approval.ts';
import { HermeticError } from '../core/errors.ts';
import type { ApprovalLedger, QuestionBeginning, QuestionEntry, Settlement } from '../core/store.ts';
import { digestOf } from '../lib/canonical-json.ts';
import { errorText } from '../lib/error-text.ts';
import { shortCode } from '../lib/short-code.ts';
import { type Answerer, mayAnswer } from './approvers.ts';
import { grantsOf } from './grants.ts';
import { answerEvent, endedEvent, grantEvent, questionEvent } from './records.ts';
import { Waiting } from './waiting.ts';

const codeLength = 6;

export interface QuestionsOptions {
  ledger: ApprovalLedger;
  /** `approvals.approvers`. */
  approvers: readonly string[];
  /** Takes secrets out of what goes to the log. The question itself is kept as it is: people see what they answer for. */
  redact(text: string): string;
}

/** An action, and where it would run. */
export interface Request {
  actions: readonly Action[];
  findings: readonly Finding[];
  parts: readonly string[];
  session: string;
  run: string;
  sandbox: string;
  backend: string;
  source: Source;
  person: string | undefined;
}

/** A way to ask a person directly, beside the database; undefined when there is none. */
export interface Asking {
  approver: Approver | undefined;
  /** The person it reaches; undefined when what it resolves with does not count. */
  answerer: Answerer | undefined;
  timeoutMs: number;
  /** Takes up a question that a program asked which is gone: same request, same run. */
  resume: boolean;
}

/** A question that is settled. */
export interface Settled extends QuestionEntry {
  /** Why no one could be asked. */
  unreachable?: string | undefined;
}

/** The result of an attempt to answer. Only `settled` has changed anything. */
export type Attempt = { kind: 'settled' | 'stale' | 'foreign'; question: QuestionEntry } | { kind: 'unknown' };

const codeAttempts = 8;

/**
 * Questions to people, in the database. An answer settles the question with its id, once, whichever process it comes from, and the process
 * that waits notices within a fraction of a second.
 */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #waiting = new Waiting();
  /** Why no one could be asked, by the id of the question, until the process that waits for it has read it. */
  readonly #unreachable = new Map<string, string>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Resolves with the question when it is settled: by a person, by the clock, or because the signal came. Rejects when its state cannot be read. */
  async ask(request: Request, asking: Asking, signal: AbortSignal): Promise<Settled> {
    const earlier = asking.resume ? await this.#findEarlier(request) : undefined;
    const question = earlier ?? (await this.#begin(request, asking.timeoutMs));
    const over = new AbortController();
    const waiter = this.#waiting.enter(question.id);
    const bothSignals = AbortSignal.any([signal, over.signal]);
    if (asking.approver && question.state === 'open') {
      void this.#through(asking.approver, question, asking.answerer, bothSignals).then(
        () => waiter.wake(),
        (error: unknown) => waiter.fail(error),
      );
    }
    try {
      for (;;) {
        const now = await this.#current(question.id);
        if (now.state !== 'open') return { ...now, unreachable: this.#unreachable.get(now.id) };
        if (signal.aborted) await this.#end(now, 'withdrawn', 'interrupted');
        else if (Date.now() >= now.expiresAt.getTime()) await this.#end(now, 'expired', 'no answer in time');
        else await waiter.nap(now.expiresAt.getTime() - Date.now(), signal);
      }
    } finally {
      over.abort();
      this.#waiting.leave(question.id);
      this.#unreachable.delete(question.id);
    }
  }

  /** Security: `answerer` says who it is; the caller has made sure of that. Nothing that an agent can call may reach it. */
  async answer(idOrCode: string, answer: Answer, answerer: Answerer): Promise<Attempt> {
    const question = await this.#options.ledger.find(idOrCode);
    if (!question) return { kind: 'unknown' };
    if (!mayAnswer(answerer, question.person, this.#options.approvers)) return { kind: 'foreign', question };
    const settled = await this.#settle(question, answer, answerer.from);
    if (!settled && question.state === 'open') await this.#expireIfDue(question);
    return { kind: settled ? 'settled' : 'stale', question: await this.#current(question.id) };
  }

  /** Whether people in this session are being asked about one of these findings, or were and did not allow it. */
  async areForPeople(parts: readonly string[], findings: readonly Finding[]): Promise<boolean> {
    const asked = await this.#options.ledger.list({ session: parts });
    const isLeft = ({ state, answer }: QuestionEntry): boolean => state === 'open' || state === 'expired' || answer?.kind === 'deny';
    const found = asked.filter(isLeft).flatMap((question) => question.findings);
    return found.some(({ rule, program }) => findings.some((one) => one.rule === rule && one.program === program));
  }

  /** True once, for the caller that then runs the action. */
  async claim(question: QuestionEntry, events: Settlement['events']): Promise<boolean> {
    return await this.#options.ledger.claim(question.id, new Date(), events);
  }

  /** Takes back what this session has asked, and what it was allowed and has not begun. For `/stop`, a new turn, the end of a session. */
  async withdraw(parts: readonly string[], why: string): Promise<number> {
    const { ledger } = this.#options;
    const found = [...(await ledger.list({ session: parts, state: 'open' })), ...(await ledger.list({ session: parts, unclaimed: true }))];
    let count = 0;
    for (const question of found) {
      const at = new Date();
      if (await ledger.withdraw(question.id, at, [endedEvent(question, 'withdrawn', why, at)])) count += 1;
      this.#waiting.wake(question.id);
    }
    return count;
  }

  /** Those that wait for an answer. Expired ones are settled by looking. */
  async open(): Promise<QuestionEntry[]> {
    const { ledger } = this.#options;
    for (const question of await ledger.list({ state: 'open' })) await this.#expireIfDue(question);
    return await ledger.list({ state: 'open' });
  }

  async #begin(request: Request, timeoutMs: number): Promise<QuestionEntry> {
    const { ledger, redact } = this.#options;
    const askedAt = new Date();
    const expiresAt = new Date(askedAt.getTime() + timeoutMs);
    const digest = requestDigest(request);
    for (let attempt = 0; attempt < codeAttempts; attempt++) {
      const question: QuestionBeginning = { ...request, id: randomUUID(), code: shortCode(codeLength), digest, askedAt, expiresAt };
      if (await ledger.ask(question, [questionEvent(question, redact)])) return await this.#current(question.id);
    }
    throw new HermeticError('store/failed', 'No code is left for another question.');
  }

  async #findEarlier(request: Request): Promise<QuestionEntry | undefined> {
    const { parts: session, run } = request;
    const same = await this.#options.ledger.list({ session, run, digest: requestDigest(request) });
    // A refusal, or silence, stays in force for as long as the run does.
    return same.find((one) => one.state !== 'withdrawn' && one.claimedAt === undefined && !this.#waiting.has(one.id));
  }

  /** Asks a person directly. Security: no way to ask, and no answer, is a no. */
  async #through(approver: Approver, question: QuestionEntry, answerer: Answerer | undefined, signal: AbortSignal): Promise<void> {
    let answer: Answer | undefined;
    try {
      answer = await approver.ask(question, signal);
    } catch (error) {
      if (!signal.aborted) this.#unreachable.set(question.id, errorText(error));
      return await this.#end(question, 'withdrawn', `no one could be asked: ${errorText(error)}`);
    }
    if (signal.aborted) return;
    // Security: what comes back this way is said by the person who asked.
    if (answer === undefined || answerer === undefined) await this.#end(question, 'expired', 'no answer in time');
    else await this.#settle(question, answer, answerer.from);
  }

  async #settle(question: QuestionEntry, answer: Answer, from: string): Promise<boolean> {
    const { ledger, redact } = this.#options;
    const at = new Date();
    const grants = grantsOf(question, answer, from, at);
    const events = [answerEvent(question, answer, from, at, redact), ...grants.map(grantEvent)];
    const settled = await ledger.settle(question.id, { state: 'answered', at, answer, answeredFrom: from, grants, events });
    this.#waiting.wake(question.id);
    return settled;
  }

  async #end(question: QuestionEntry, state: 'expired' | 'withdrawn', why: string): Promise<void> {
    const at = new Date();
    await this.#options.ledger.settle(question.id, { state, at, events: [endedEvent(question, state, why, at)] });
    this.#waiting.wake(question.id);
  }

  async #expireIfDue(question: QuestionEntry): Promise<void> {
    if (Date.now() >= question.expiresAt.getTime()) await this.#end(question, 'expired', 'no answer in time');
  }

  async #current(id: string): Promise<QuestionEntry> {
    const found = await this.#options.ledger.find(id);
    if (!found) throw new HermeticError('store/failed', 'A question is gone from the state database.');
    return found;
  }
}

/** Security: the answer is good for exactly this, and for nothing that differs in any of it. */
function requestDigest({ actions, parts, run, sandbox, backend }: Request): string {
  return digestOf({ actions, parts, run, sandbox, backend });
}
