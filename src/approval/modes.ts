import type { Action, Finding } from '../core/approval.ts';

export type ApprovalMode = 'manual' | 'smart' | 'off';
export type CronMode = 'deny' | 'approve';

/** The request to a reviewing model: data, never an instruction to it. */
export interface Review {
  actions: readonly Action[];
  findings: readonly Finding[];
  backend: string;
}

/** May only say that the risk is low. Any other answer, or none, leaves the decision to a person. */
export type Reviewer = (review: Review, signal: AbortSignal) => Promise<'low-risk' | 'escalate'>;

/**
 * Security: what a reviewer may let pass is written down here and not left to it. A rule that is not listed waits for a person: among them all
 * about scripts and other code, credentials, the network, accounts, what stays behind, and Hermetic itself.
 */
const reviewable: ReadonlySet<string> = new Set([
  'program/unknown',
  'program/subcommand',
  'program/option',
  'files/recursive-delete',
  'git/discard',
  'process/kill-by-name',
  'containers/stop',
  'packages/remove',
  'permissions/recursive',
]);

/** The reviewer's verdict; undefined when it is not asked. Never rejects: a failed review leaves the decision to people. */
export async function opinionOf(reviewer: Reviewer, review: Review, signal: AbortSignal): Promise<'low-risk' | 'escalate' | undefined> {
  const { actions, findings } = review;
  if (findings.length === 0 || actions.some(({ kind }) => kind === 'script')) return undefined;
  if (!findings.every(({ rule }) => reviewable.has(rule))) return undefined;
  try {
    return (await reviewer(review, signal)) === 'low-risk' ? 'low-risk' : 'escalate';
  } catch {
    return 'escalate';
  }
}
