import type { Action, Finding } from '../core/approval.ts';

export type ApprovalMode = 'manual' | 'smart' | 'off';
export type CronMode = 'deny' | 'approve';

/** What a reviewing model is shown, as data: what the text says is never an instruction to it. */
export interface Review {
  actions: readonly Action[];
  findings: readonly Finding[];
  backend: string;
}

/** May only say that the risk is low. Whatever else it says, or does not say, leaves the decision to a person. */
export type Reviewer = (review: Review, signal: AbortSignal) => Promise<'low-risk' | 'escalate'>;

/**
 * Security: what a reviewer may let pass is written down here and not left to it. A rule that is not listed waits for a person: among them all
 * about scripts, credentials, the network, accounts, what stays behind, and Hermetic itself.
 */
const reviewable: ReadonlySet<string> = new Set([
  'files/recursive-delete',
  'git/discard',
  'process/kill-by-name',
  'containers/stop',
  'packages/remove',
  'permissions/recursive',
  'code/inline',
]);

export async function isLowRisk(reviewer: Reviewer | undefined, review: Review, signal: AbortSignal): Promise<boolean> {
  const { actions, findings } = review;
  if (!reviewer || findings.length === 0 || actions.some(({ kind }) => kind === 'script')) return false;
  if (!findings.every(({ rule }) => reviewable.has(rule))) return false;
  try {
    return (await reviewer(review, signal)) === 'low-risk';
  } catch {
    // A reviewer that fails has said nothing.
    return false;
  }
}
