import type { Action, Answer, Finding } from '../core/approval.ts';
import type { AuditDetail, AuditEvent } from '../core/audit.ts';
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

export function findingDetails(findings: readonly Finding[]): AuditDetail {
  return findings.map(({ rule, program }) => ({ rule, program: program ?? null }));
}

export function questionEvent(question: QuestionBeginning, redact: Redact): AuditEvent {
  const { id, code, run, backend, sandbox, source, digest, expiresAt } = question;
  const what = {
    ...{ question: id, code, run, backend, sandbox, source, digest },
    expiresAt: expiresAt.toISOString(),
    findings: findingDetails(question.findings),
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

function cut(text: string): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters)} [${text.length - maxCharacters} more characters]`;
}
