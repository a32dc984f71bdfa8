import type { JudgeContext } from '../core/approval.ts';

/** A person who answers a question. */
export interface Answerer {
  /** As people call them. */
  by: string;
  /** Where they answer from, such as `shell` or `telegram`. */
  from: string;
  role: JudgeContext['role'];
  /** As the platform knows them; undefined for the owner at this machine. */
  person: string | undefined;
}

/**
 * `approvals.approvers`: ids of people, or `admins`; when empty, the person who asked. At the machine's own shell everybody who can run Hermetic with
 * this home is in charge of it anyway.
 */
export function mayAnswer(answerer: Answerer, askedFor: string | undefined, approvers: readonly string[]): boolean {
  if (answerer.person === undefined && answerer.role === 'admin') return true;
  if (approvers.length === 0) return answerer.person === askedFor;
  if (answerer.role === 'admin' && approvers.includes('admins')) return true;
  return answerer.person !== undefined && answerer.person !== 'admins' && approvers.includes(answerer.person);
}
