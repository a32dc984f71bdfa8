import { randomUUID } from 'node:crypto';
import type { Action, Answer, Finding } from '../core/approval.ts';
import type { GrantEntry, QuestionEntry } from '../core/store.ts';
import { digestOf } from '../lib/canonical-json.ts';

/** Of the actions with everything about them: text, directory, language. */
function actionsDigest(actions: readonly Action[]): string {
  return digestOf(actions);
}

/** Security: neither a yes to one script, nor to something of which the program is not known, says anything about the next. */
function isExact({ program, byProgram }: Finding, actions: readonly Action[]): boolean {
  return byProgram !== true || program === undefined || actions.some(({ kind }) => kind === 'script');
}

/** The findings that are left to ask about. A grant takes away those it covers and no others. */
export function uncovered(findings: readonly Finding[], actions: readonly Action[], grants: readonly GrantEntry[]): Finding[] {
  const digest = actionsDigest(actions);
  return findings.filter((finding) => !grants.some((grant) => covers(grant, finding, actions, digest)));
}

function covers(grant: GrantEntry, finding: Finding, actions: readonly Action[], digest: string): boolean {
  if (grant.rule !== finding.rule) return false;
  if (grant.digest !== undefined) return grant.digest === digest;
  return grant.program !== undefined && grant.program === finding.program && !isExact(finding, actions);
}

/** The grants that an answer makes beyond this one time. */
export function grantsOf(question: QuestionEntry, answer: Answer, from: string, at: Date): GrantEntry[] {
  if (answer.kind !== 'session' && answer.kind !== 'always') return [];
  const { kind: scope, by, remark } = answer;
  const { actions, parts, session, person, backend, id } = question;
  const granted = new Map<string, GrantEntry>();
  for (const finding of question.findings) {
    const exact = isExact(finding, actions);
    const bound = exact ? { program: undefined, digest: actionsDigest(actions) } : { program: finding.program, digest: undefined };
    granted.set(`${finding.rule} ${bound.program ?? ''}`, {
      ...{ id: randomUUID(), scope, parts, session, person, backend, rule: finding.rule, ...bound },
      ...{ grantedBy: by, grantedAt: at, grantedFrom: from, question: id },
      why: remark ? `${finding.title}: ${remark}` : finding.title,
      expiresAt: answer.kind === 'always' ? answer.expiresAt : undefined,
      ...{ revokedAt: undefined, revokedBy: undefined },
    });
  }
  return [...granted.values()];
}
