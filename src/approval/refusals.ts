import type { Finding, Permission } from '../core/approval.ts';
import type { QuestionEntry } from '../core/store.ts';

const noDetour =
  'Do not try it again, in other words, or by another way to the same end. Tell the person what you wanted to do and why, and go on with something else.';

/** Models that are stopped look for a detour; this is the place to say that there is none. */
export function toldToModel(permission: Permission): Permission {
  return permission.allowed ? permission : { ...permission, reason: `${permission.reason} ${noDetour}` };
}

function refusal(...sentences: readonly string[]): Permission & { allowed: false } {
  return { allowed: false, reason: ['It was not run.', ...sentences.filter((sentence) => sentence !== '')].join(' ') };
}

function because(findings: readonly Finding[]): string {
  return [...new Set(findings.map(({ title, why }) => `${title}: ${why}`))].join(' ');
}

/** On the hard list. */
export function forbidden(findings: readonly Finding[]): Permission {
  return refusal('This is always denied; no answer can allow it.', because(findings));
}

export function noApprover(findings: readonly Finding[], why: string): Permission {
  return refusal('It needs approval,', `and ${why}`, because(findings));
}

export function undecided(why: string): Permission {
  return refusal(`It could not be decided whether it may: ${why}`);
}

/** Of a question that was settled, but not by a yes. */
export function notAllowed({ state, answer, findings }: QuestionEntry, timeoutMs: number): Permission {
  if (state === 'answered' && answer?.kind === 'deny') {
    const refused = refusal(
      `${answer.by} was asked and said no.`,
      answer.remark ? `They remarked: ${answer.remark}` : '',
      because(findings),
    );
    return { ...refused, refusedBy: answer.by };
  }
  if (state === 'expired') {
    const refused = refusal(`A person was asked, and no answer came within ${timeoutMs / 1000} s, which is a no.`, because(findings));
    return { ...refused, isUnanswered: true };
  }
  return refusal('The question was withdrawn before it was approved.', because(findings));
}

/** It was allowed, and has been done or withdrawn already. */
export function usedUp(): Permission {
  return refusal('The approval was for one time and has been used or withdrawn.');
}

/** Allowed, but the session has meanwhile made something else of it. */
export function meaningChanged(): Permission {
  return refusal('While it was being allowed, the session changed what it would do.');
}
