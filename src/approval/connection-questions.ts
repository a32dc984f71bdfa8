import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOrigin, ConnectAction, Permission, SessionGuard } from '../core/approval.ts';
import {
  type AskingOptions,
  type ConnectionAnswer,
  type ConnectionAsker,
  type ConnectionRequest,
  type Destination,
  destinationText,
} from '../core/egress.ts';
import { Latest } from '../lib/latest.ts';

/** A command or a script that may want connections which no rule allows. */
export interface ConnectingCall {
  /** Its text, which people are shown. */
  command: string;
  cwd: string;
  origin: CallOrigin;
  /** Withdraws its questions. */
  signal: AbortSignal;
}

export interface ConnectionQuestionsOptions {
  guard: SessionGuard;
  /** `network.ask`. */
  isAsking(): boolean;
}

/** Hosts that one command wants within this time are one question. */
const gatherMs = 400;
const maxGathered = 8;
/** Of one session at the same time. */
const maxOpen = 3;
const maxInTurn = 10;

type Refused = ConnectionAnswer & { allowed: false };

/** A question that is open, or about to be asked. */
interface OpenQuestion {
  call: ConnectingCall;
  requests: ConnectionRequest[];
  isAsked: boolean;
  /** Programs that wait for the answer. */
  waiting: number;
  /** It was allowed once, and the next attempt of the turn has the yes. */
  isKept: boolean;
  permission: Promise<Permission>;
}

/** What people have said in one turn. */
class TurnAnswers {
  questions = 0;
  readonly #refused = new Map<string, Refused>();
  /** Allowed once, when the program that wanted it waited no longer. */
  readonly #unused = new Set<string>();

  /** The rest of the parent domain is not asked about any more. */
  refuse({ host }: Destination, answer: Refused): void {
    this.#refused.set(parentOf(host), answer);
  }

  refusalOf({ host }: Destination): Refused | undefined {
    return [...this.#refused].find(([parent]) => host === parent || host.endsWith(`.${parent}`))?.[1];
  }

  keep(destination: Destination): void {
    this.#unused.add(destinationText(destination));
  }

  use(destination: Destination): boolean {
    return this.#unused.delete(destinationText(destination));
  }
}

/**
 * Asks people about the hosts that no rule of the network names, for one session: few questions, each host once, and each yes for the command
 * that it was given for. Security: any failure is a no.
 */
export class ConnectionQuestions {
  readonly #options: ConnectionQuestionsOptions;
  readonly #open = new Set<OpenQuestion>();
  readonly #turns = new Latest<TurnAnswers>();
  /** The destinations of a call whose grant is in the log. */
  readonly #recorded = new WeakMap<ConnectingCall, Set<string>>();

  constructor(options: ConnectionQuestionsOptions) {
    this.#options = options;
  }

  /** Decides about the connections of this call, and of the processes that it left running. */
  askerFor(call: ConnectingCall): ConnectionAsker {
    return async (request, options) => {
      try {
        return await this.#answer(call, request, options);
      } catch {
        return unlisted;
      }
    };
  }

  async #answer(call: ConnectingCall, request: ConnectionRequest, options: AskingOptions): Promise<ConnectionAnswer> {
    if (await this.#isGranted(call, request, options)) return { allowed: true, until: 'revoked' };
    if (options.isCheck || !this.#options.isAsking() || !canAsk(call.origin)) return unlisted;
    const turn = this.#turnOf(call);
    for (;;) {
      if (call.signal.aborted) return unlisted;
      if (turn.use(request)) return { allowed: true, until: 'command-ends', isAnswer: true };
      const refused = turn.refusalOf(request);
      if (refused) return refused;
      const question = this.#questionAbout(call, request) ?? this.#begin(call, request, turn);
      if (!question) return { allowed: false, reason: 'too-many-questions' };
      options.onWaiting?.();
      const permission = await this.#wait(question, options.left);
      if (question.call === call) return answerTo(question, permission) ?? turn.refusalOf(request) ?? unlisted;
      // Security: the answer was for another command, maybe of another person. Only a grant of it says something about this one.
      if (await this.#isGranted(call, request, options)) return { allowed: true, until: 'revoked', isAnswer: true };
    }
  }

  /** The grant is in the log once for each call and destination. */
  async #isGranted(call: ConnectingCall, request: ConnectionRequest, { isCheck }: AskingOptions): Promise<boolean> {
    const recorded = this.#recorded.get(call) ?? new Set();
    this.#recorded.set(call, recorded);
    const key = destinationText(request);
    const isRecorded = !isCheck && !recorded.has(key);
    const isGranted = await this.#options.guard.isGranted([actionOf(call, [request])], questionOrigin(call.origin), { isRecorded });
    if (isGranted && isRecorded) recorded.add(key);
    return isGranted;
  }

  /** An open question about this destination, or one of the same call that can still take it in. */
  #questionAbout(call: ConnectingCall, request: ConnectionRequest): OpenQuestion | undefined {
    const key = destinationText(request);
    const same = [...this.#open].find(({ requests }) => requests.some((one) => destinationText(one) === key));
    if (same) return same;
    const gathering = [...this.#open].find((one) => one.call === call && !one.isAsked && one.requests.length < maxGathered);
    gathering?.requests.push(request);
    return gathering;
  }

  /** undefined when people are asked often enough. */
  #begin(call: ConnectingCall, request: ConnectionRequest, turn: TurnAnswers): OpenQuestion | undefined {
    if (this.#open.size >= maxOpen || turn.questions >= maxInTurn) return undefined;
    turn.questions += 1;
    const permission = sleep(gatherMs, undefined, { signal: call.signal }).then(ask);
    const question: OpenQuestion = { call, requests: [request], isAsked: false, waiting: 0, isKept: false, permission };
    const { guard } = this.#options;
    async function ask(): Promise<Permission> {
      question.isAsked = true;
      return await guard([actionOf(call, question.requests)], questionOrigin(call.origin), call.signal);
    }
    this.#open.add(question);
    question.permission = question.permission
      .catch((): Permission => ({ allowed: false, reason: 'it could not be asked.' }))
      .then((settled) => {
        this.#open.delete(question);
        settle(question, settled, turn);
        return settled;
      });
    return question;
  }

  async #wait(question: OpenQuestion, left: AbortSignal): Promise<Permission> {
    question.waiting += 1;
    const leave = (): void => {
      question.waiting -= 1;
    };
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
    return await question.permission;
  }

  #turnOf({ origin, command }: ConnectingCall): TurnAnswers {
    const key = origin.turn ?? origin.run ?? command;
    const turn = this.#turns.get(key) ?? new TurnAnswers();
    this.#turns.set(key, turn);
    return turn;
  }
}

const unlisted: ConnectionAnswer = { allowed: false, reason: 'unlisted' };

/** A refusal counts for the turn. So does a yes for one time that came after its program had left. */
function settle(question: OpenQuestion, permission: Permission, turn: TurnAnswers): void {
  question.isKept = permission.allowed && permission.by === 'once' && question.waiting === 0;
  for (const request of question.requests) {
    if (permission.allowed) {
      if (question.isKept) turn.keep(request);
    } else if (permission.refusedBy !== undefined) turn.refuse(request, { allowed: false, reason: 'refused', by: permission.refusedBy });
    else if (permission.isUnanswered) turn.refuse(request, { allowed: false, reason: 'unanswered' });
  }
}

/** To the command that it was asked for; undefined when it is a no. Security: a yes for one time is either for it or kept, and never both. */
function answerTo({ isKept }: OpenQuestion, permission: Permission): ConnectionAnswer | undefined {
  if (!permission.allowed) return undefined;
  if (isKept) return { allowed: false, reason: 'not-awaited' };
  return { allowed: true, until: permission.by === 'once' ? 'command-ends' : 'revoked', isAnswer: true };
}

function actionOf({ command, cwd }: ConnectingCall, connections: readonly ConnectionRequest[]): ConnectAction {
  return { kind: 'connect', connections, command, cwd };
}

/** Security: a question about a host is not one about the call itself, which has begun and must not begin again after a restart. */
function questionOrigin(origin: CallOrigin): CallOrigin {
  return { ...origin, run: origin.run === undefined ? undefined : `${origin.run}/network` };
}

/** Where there is no person to ask, programs are not kept waiting. */
function canAsk({ source, approver }: CallOrigin): boolean {
  return source !== 'cron' && approver !== undefined;
}

/** The name above a host that has one with a dot, otherwise the host itself. */
function parentOf(host: string): string {
  const above = host.slice(host.indexOf('.') + 1);
  const isAddress = host.includes(':') || /^[\d.]+$/.test(host);
  return isAddress || !above.includes('.') ? host : above;
}
