import { randomUUID } from 'node:crypto';
import type {
  Action,
  Brought,
  CallOrigin,
  Finding,
  Guard,
  JudgeContext,
  Permission,
  Policy,
  SessionGuard,
  Verdict,
} from '../core/approval.ts';
import type { AuditEvent } from '../core/audit.ts';
import type { Sync } from '../core/conversation.ts';
import type { GrantLedger, ModeLedger } from '../core/store.ts';
import { errorText } from '../lib/error-text.ts';
import { type Answerer, mayAnswer } from './approvers.ts';
import { uncovered } from './grants.ts';
import { type ApprovalMode, type CronMode, opinionOf, type Reviewer } from './modes.ts';
import type { Questions } from './questions.ts';
import { actionDetails, findingDetails } from './records.ts';
import { forbidden, meaningChanged, noApprover, notAllowed, toldToModel, undecided, usedUp } from './refusals.ts';
import { verdictOnConnections } from './unlisted-hosts.ts';

/** Where the actions of one call would happen. */
interface CallContext {
  judgeContext: JudgeContext;
  sandbox: string;
  backend: string;
  /** Told what the actions bring, when they may happen and one of them is a command. */
  bring(paths: readonly Brought[]): void;
}

/** Its tables in the state database. Opening it may fail, and then nothing runs. */
export interface ApprovalStores {
  questions: Questions;
  grants: Pick<GrantLedger, 'inForce'>;
  modes: Pick<ModeLedger, 'yolo'>;
  /** In the log when it resolves, with everything noted before; on disk unless `sync` says later. */
  record(event: AuditEvent, sync?: Sync): Promise<void>;
}

export interface GuardOptions {
  policy: Policy;
  /** May open the sandbox first. */
  callContext(actions: readonly Action[], origin: CallOrigin): Promise<CallContext>;
  session: { parts: readonly string[]; title: string };
  /** A durable name of what asks, such as a turn: after a restart its questions are taken up again. Without one they are not. */
  run?: string | undefined;
  mode: ApprovalMode;
  cronMode: CronMode;
  timeoutMs: number;
  /** `approvals.approvers`. */
  approvers: readonly string[];
  reviewer?: Reviewer | undefined;
  stores(): Promise<ApprovalStores>;
  redact(text: string): string;
}

const modes: ReadonlySet<unknown> = new Set<ApprovalMode>(['manual', 'smart', 'off']);
const yes: ReadonlySet<unknown> = new Set(['once', 'session', 'always']);

interface Judged extends Pick<CallContext, 'sandbox' | 'backend'> {
  actions: readonly Action[];
  findings: readonly Finding[];
  origin: CallOrigin;
}

/** On all actions of a call together. */
interface Judgement {
  kind: Verdict['kind'];
  found: Finding[];
  brings: Brought[];
}

/** One call on its way through the guard. */
interface Call extends Judged, CallContext {
  /** All that was found, also what is granted already. */
  judged: readonly Finding[];
  brings: readonly Brought[];
  stores: ApprovalStores;
  signal: AbortSignal;
  /** Told that a person is asked. */
  onAsking: (() => void) | undefined;
}

/**
 * Judges, remembers, asks. Security: it says yes in the lines that record a yes first, and nowhere else; any failure on the way there is
 * a no.
 */
export function guardOf(options: GuardOptions): SessionGuard {
  const ownRun = randomUUID();

  const guard: Guard = async (actions, origin, signal, onAsking) => {
    const permission = await permissionFor(actions, origin, signal, onAsking);
    // Who types a command, here or in a chat, reads the refusal.
    return origin.isTyped || origin.source === 'cli' ? permission : toldToModel(permission);
  };
  return Object.assign(guard, { isGranted });

  async function permissionFor(...[actions, origin, signal, onAsking]: Parameters<Guard>): Promise<Permission> {
    try {
      if (!modes.has(options.mode)) return undecided(`there is no mode of approvals called ${JSON.stringify(options.mode)}.`);
      return await judge(actions, origin, signal, onAsking);
    } catch (error) {
      const why = errorText(error);
      await recordFailure(actions, origin, why);
      return undecided(why);
    }
  }

  /** As well as it can be done: what failed may be the very log. */
  async function recordFailure(actions: readonly Action[], origin: CallOrigin, why: string): Promise<void> {
    try {
      const failed = { actions, findings: [], origin, sandbox: '', backend: '' };
      await (await options.stores()).record(event(failed, 'failed', why));
    } catch {
      // Nothing runs, so there is nothing to account for.
    }
  }

  async function isGranted(actions: readonly Action[], origin: CallOrigin, { isRecorded }: { isRecorded: boolean }): Promise<boolean> {
    const { kind, call } = await callOf(actions, origin, new AbortController().signal, undefined);
    if (kind !== 'ask' || (await notGranted(call)).length > 0) return false;
    if (isRecorded) await allow(call, 'grant', 'later');
    return true;
  }

  async function callOf(
    actions: readonly Action[],
    origin: CallOrigin,
    signal: AbortSignal,
    onAsking: Call['onAsking'],
  ): Promise<{ kind: Verdict['kind']; call: Call }> {
    const [callContext, stores] = await Promise.all([options.callContext(actions, origin), options.stores()]);
    const { kind, found: findings, brings } = await verdictOn(actions, callContext.judgeContext);
    return { kind, call: { ...callContext, actions, findings, judged: findings, brings, origin, stores, signal, onAsking } };
  }

  async function judge(...[actions, origin, signal, onAsking]: Parameters<Guard>): Promise<Permission> {
    const { kind, call } = await callOf(actions, origin, signal, onAsking);
    const { findings } = call;
    if (kind === 'deny') {
      await record(call, 'denied', 'hard list');
      return forbidden(findings);
    }
    // It needed no yes, so it does not wait for the disk; a log that cannot be written still refuses it.
    if (kind === 'allow') return await allow(call, 'nothing found', 'later');
    // Security: a yes is for findings; where there are none to say what it is about, there is nothing to agree to.
    if (findings.length === 0) throw new Error('a judgement without a reason.');
    // Security: in what cannot be judged may stand what is denied to all.
    const isReadable = !findings.some(({ rule }) => unreadable.has(rule));
    if (isReadable && isAdminsOwn(call)) return await allow(call, 'typed by an admin');
    return await remember(call);
  }

  /** Of all actions together. Security: what is neither allowed nor to be asked about is refused. */
  async function verdictOn(actions: readonly Action[], judgeContext: JudgeContext): Promise<Judgement> {
    const verdicts = await Promise.all(
      actions.map((action) => (action.kind === 'connect' ? verdictOnConnections(action) : options.policy.judge(action, judgeContext))),
    );
    const found = distinct(verdicts.flatMap((verdict) => (verdict.kind === 'allow' ? [] : verdict.findings)));
    const brings = verdicts.flatMap((verdict) => (verdict.kind === 'deny' ? [] : (verdict.brings ?? [])));
    if (verdicts.every(({ kind }) => kind === 'allow')) return { kind: 'allow', found, brings };
    return { kind: verdicts.every(({ kind }) => kind === 'allow' || kind === 'ask') ? 'ask' : 'deny', found, brings };
  }

  async function remember(call: Call): Promise<Permission> {
    const { actions, origin } = call;
    const left = await notGranted(call);
    if (left.length === 0) return { ...(await allow(call, 'grant')), by: 'grant' };
    if (actions.some(({ kind }) => kind === 'connect')) return await onlyByAnswer({ ...call, findings: left });
    if (left.some(({ rule }) => unreadable.has(rule))) return await onlyByPeople({ ...call, findings: left });
    if (options.mode === 'off') return await allow(call, 'mode off');
    if (origin.source === 'cron') return await withoutPeople({ ...call, findings: left });
    if (await hasYolo(call)) return await allow(call, `yolo by ${origin.person}`);
    return await review({ ...call, findings: left });
  }

  async function notGranted({ actions, findings, origin, stores, backend }: Call): Promise<Finding[]> {
    const { parts } = options.session;
    const grants = await stores.grants.inForce({ parts, person: origin.person, backend }, new Date());
    return uncovered(findings, actions, grants);
  }

  /** Security: the yolo of an admin holds for turns in which only admins with yolo have spoken. */
  async function hasYolo({ origin: { person, others = [], role }, stores }: Call): Promise<boolean> {
    if (role !== 'admin' || person === undefined) return false;
    const unasked = new Set((await stores.modes.yolo(options.session.parts)).map(({ by }) => by));
    return [person, ...others].every((one) => unasked.has(one));
  }

  /** In the mode `smart` a model may say that no person needs to be asked. Any other result leaves it to a person. */
  async function review(call: Call): Promise<Permission> {
    const { actions, findings, backend, stores, signal } = call;
    const { mode, reviewer, session } = options;
    // Security: an action that people are being asked about, or have refused, is not put to a model.
    if (mode !== 'smart' || !reviewer || (await stores.questions.areForPeople(session.parts, findings))) return await ask(call);
    const opinion = await opinionOf(reviewer, { actions, findings, backend }, signal);
    if (signal.aborted) {
      await record(call, 'denied', 'interrupted');
      return undecided('it was interrupted.');
    }
    if (opinion === undefined) return await ask(call);
    if (opinion === 'escalate') {
      await record(call, 'escalated', 'reviewer');
      return await ask(call);
    }
    if (await meansMore(call)) {
      await record(call, 'denied', 'changed meanwhile');
      return meaningChanged();
    }
    return await allow(call, 'reviewer');
  }

  /** Security: an unreadable command may hold a denied action, so no setting lets it pass unseen. */
  async function onlyByPeople(call: Call): Promise<Permission> {
    if (options.mode !== 'off' && call.origin.source !== 'cron') return await ask(call);
    await record(call, 'denied', 'unreadable');
    return noApprover(call.findings, 'it cannot be read, and no person is asked here.');
  }

  /** Security: neither a mode, nor yolo, nor a scheduled job opens the network. */
  async function onlyByAnswer(call: Call): Promise<Permission> {
    if (call.origin.source !== 'cron') return await ask(call);
    await record(call, 'denied', 'scheduled job');
    return noApprover(call.findings, 'this is a scheduled job without a person.');
  }

  /** Security: decided by what the call carries, so that no other call can be mistaken for a scheduled one. */
  async function withoutPeople(call: Call): Promise<Permission> {
    if (options.cronMode === 'approve') return await allow(call, 'cron_mode approve');
    await record(call, 'denied', 'cron_mode deny');
    return noApprover(call.findings, 'this is a scheduled job without a person (approvals.cron_mode).');
  }

  async function ask(call: Call): Promise<Permission> {
    const { actions, findings, origin, stores, sandbox, backend, signal } = call;
    const { parts, title: session } = options.session;
    const { source, person } = origin;
    const answerer = answererOf(origin);
    const counts = mayAnswer(answerer, person, options.approvers);
    const approver = counts || origin.approver?.reachesApprovers ? origin.approver : undefined;
    if (!approver && (source === 'mcp' || source === 'cli')) {
      await record(call, 'denied', 'no one to ask');
      return noApprover(findings, 'there is no way to ask a person here.');
    }
    const run = runOf(origin);
    const request = { actions, findings, parts, session, run, sandbox, backend, source, person };
    const asking = { approver, answerer: counts ? answerer : undefined, timeoutMs: options.timeoutMs, resume: run !== ownRun };
    call.onAsking?.();
    const question = await stores.questions.ask(request, asking, signal);
    if (question.state !== 'answered' || !yes.has(question.answer?.kind)) {
      await record(call, 'denied', question.state === 'answered' ? 'answer' : question.state, question.id);
      return question.unreachable === undefined
        ? notAllowed(question, options.timeoutMs)
        : noApprover(findings, `no one who may allow it could be asked (${question.unreachable.replace(/\.$/, '')}).`);
    }
    if (await meansMore(call)) {
      await record(call, 'denied', 'changed meanwhile', question.id);
      return meaningChanged();
    }
    const claimed = await stores.questions.claim(question, [event(call, 'allowed', `answer ${question.answer?.kind}`, question.id)]);
    if (!claimed) return usedUp();
    noteBrought(call);
    return { allowed: true, by: question.answer?.kind as 'once' | 'session' | 'always' };
  }

  /** Before the command runs, so that the next one is judged with it. */
  function noteBrought({ actions, brings, bring }: Call): void {
    if (brings.length > 0 || actions.some(({ kind }) => commandKinds.has(kind))) bring(brings);
  }

  /** Security: the session may have given a program another meaning while a person decided. */
  async function meansMore({ actions, origin, judged, sandbox, backend }: Call): Promise<boolean> {
    const now = await options.callContext(actions, origin);
    const { kind, found } = await verdictOn(actions, now.judgeContext);
    const known = new Set(judged.map(keyOf));
    return kind === 'deny' || now.sandbox !== sandbox || now.backend !== backend || found.some((finding) => !known.has(keyOf(finding)));
  }

  async function allow(call: Call, why: string, sync?: Sync): Promise<{ allowed: true }> {
    await call.stores.record(event(call, 'allowed', why), sync);
    noteBrought(call);
    return { allowed: true };
  }

  async function record(call: Call, outcome: string, why: string, question?: string): Promise<void> {
    await call.stores.record(event(call, outcome, why, question));
  }

  function runOf({ run }: CallOrigin): string {
    return run ?? options.run ?? ownRun;
  }

  function event({ actions, findings, origin, sandbox, backend }: Judged, outcome: string, why: string, question?: string): AuditEvent {
    const what = {
      ...{ run: runOf(origin), sandbox, backend, source: origin.source, person: origin.person ?? null, why, question: question ?? null },
      findings: findingDetails(findings, options.redact),
      actions: actionDetails(actions, options.redact),
    };
    return { at: new Date(), actor: 'agent', session: options.session.parts, kind: 'judgement', what, outcome };
  }
}

/** Actions after which what was brought is one command older. */
const commandKinds: ReadonlySet<Action['kind']> = new Set<Action['kind']>(['command', 'script', 'input']);

/** Rules that say that a command could not be judged to its end. */
const unreadable: ReadonlySet<string> = new Set(['shell/too-complex', 'shell/unparseable']);

/** A command that an admin typed needs no second person. Scripts are asked about, because people paste more of them than they read. */
function isAdminsOwn({ origin, actions }: Judged): boolean {
  return origin.isTyped === true && origin.role === 'admin' && actions.every(({ kind }) => kind === 'command');
}

/** The person that the approver of this call reaches. */
function answererOf({ source, role, person }: CallOrigin): Answerer {
  return { by: person ?? 'the requester', from: source === 'cli' ? 'terminal' : source, role, person };
}

function distinct(findings: readonly Finding[]): Finding[] {
  // People are told every target; what they allow is bound to the rule and the program.
  return [...new Map(findings.map((finding) => [JSON.stringify([keyOf(finding), finding.target]), finding])).values()];
}

function keyOf({ rule, program }: Finding): string {
  return `${rule} ${program ?? ''}`;
}
