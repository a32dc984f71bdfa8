import type { Action, Answer, CallOrigin, Finding } from '../core/approval.ts';
import type { AuditDetail, AuditEvent } from '../core/audit.ts';
import type { AllowedConnection, BlockedConnection, BlockReason, Connections } from '../core/egress.ts';
import type { GrantEntry, QuestionBeginning } from '../core/store.ts';

type Redact = (text: string) => string;
type Session = readonly string[];

/** More of one text does not help a reader of the log. The question itself, if there is one, has all of it. */
const maxCharacters = 8_192;

/** The actor when no person acts. */
const hermetic = 'hermetic';

export function actionDetails(actions: readonly Action[], redact: Redact): AuditDetail {
  const text = (value: unknown): string => cut(redact(typeof value === 'string' ? value : JSON.stringify(value)));
  return actions.map((action) => Object.fromEntries(Object.entries(action).map(([key, value]) => [key, text(value)])));
}

/** Security: the program may be a host, whose name a program inside chose. */
export function findingDetails(findings: readonly Finding[], redact: Redact): AuditDetail {
  return findings.map(({ rule, program }) => ({ rule, program: program === undefined ? null : cut(redact(program)) }));
}

export function questionEvent(question: QuestionBeginning, redact: Redact): AuditEvent {
  const { id, code, run, backend, sandbox, source, digest, expiresAt } = question;
  const what = {
    ...{ question: id, code, run, backend, sandbox, source, digest },
    expiresAt: expiresAt.toISOString(),
    findings: findingDetails(question.findings, redact),
    actions: actionDetails(question.actions, redact),
  };
  return { at: question.askedAt, actor: question.person ?? 'agent', session: question.parts, kind: 'question', what, outcome: 'asked' };
}

export function answerEvent(question: { id: string; parts: Session }, answer: Answer, from: string, at: Date, redact: Redact): AuditEvent {
  const what = { question: question.id, from, remark: answer.remark === undefined ? null : cut(redact(answer.remark)) };
  return { at, actor: answer.by, session: question.parts, kind: 'answer', what, outcome: answer.kind };
}

/** Of a question that ended without an answer. */
export function endedEvent(question: { id: string; parts: Session }, outcome: 'expired' | 'withdrawn', why: string, at: Date): AuditEvent {
  return { at, actor: hermetic, session: question.parts, kind: 'answer', what: { question: question.id, why }, outcome };
}

export function grantEvent(grant: GrantEntry): AuditEvent {
  const { id, scope, rule, question, backend, grantedFrom: from } = grant;
  const details = { program: grant.program ?? null, digest: grant.digest ?? null, expiresAt: grant.expiresAt?.toISOString() ?? null };
  const what = { grant: id, scope, rule, question, backend, from, ...details };
  return { at: grant.grantedAt, actor: grant.grantedBy, session: grant.parts, kind: 'grant', what, outcome: 'granted' };
}

export function revocationEvent({ id, rule, program, parts }: GrantEntry, by: string, at: Date): AuditEvent {
  return { at, actor: by, session: parts, kind: 'grant', what: { grant: id, rule, program: program ?? null }, outcome: 'revoked' };
}

/** The connections of one command, and on whose behalf it ran. */
export interface CommandConnections {
  session: Session;
  command: string;
  origin: Pick<CallOrigin, 'source' | 'person'>;
  connections: Connections;
}

/** More of a command than this does not help to tell which one it was. */
const maxCommandCharacters = 200;

/** The network failed, no one decided. */
const failures: ReadonlySet<BlockReason> = new Set(['unresolved', 'unreachable', 'unverified-certificate']);

/** One event for each destination and reason, or rule. */
export function connectionEvents({ session, command, origin, connections }: CommandConnections, redact: Redact): Omit<AuditEvent, 'at'>[] {
  // Redacted before it is cut, so that no beginning of a secret is left.
  const cause = { command: redact(command).slice(0, maxCommandCharacters), source: origin.source, person: origin.person ?? null };
  const event = (outcome: string, what: AuditEvent['what']): Omit<AuditEvent, 'at'> => {
    return { actor: 'agent', session, kind: 'network', what: { ...what, ...cause }, outcome };
  };
  // Security: a program inside chose the name, which may carry data.
  const hostOf = ({ host, port }: BlockedConnection | AllowedConnection) => ({ host: cut(redact(host)), port });
  return [
    ...connections.blocked.map((one) => {
      const { reason, by = null, count } = one;
      const what = { ...hostOf(one), reason, rule: null, by, count, bytes: null, secrets: [], placeholders: [] };
      return event(failures.has(reason) ? 'failed' : 'blocked', what);
    }),
    ...connections.allowed.map((one) => {
      const { rule = null, count, bytes, secrets, placeholders } = one;
      return event('allowed', { ...hostOf(one), reason: null, rule, by: null, count, bytes, secrets, placeholders });
    }),
  ];
}

function cut(text: string): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters)} [${text.length - maxCharacters} more characters]`;
}
