import type { Action, Finding, Question } from '../core/approval.ts';
import { type ConnectionRequest, destinationText } from '../core/egress.ts';
import type { QuestionEntry } from '../core/store.ts';
import { quotedLines } from '../lib/quoted-lines.ts';
import { visible } from '../lib/visible.ts';

/** How parts of it stand out where there is a way. */
export interface Emphasis {
  finding(text: string): string;
  /** A character that would not show. */
  unseen(text: string): string;
}

const none: Emphasis = { finding: (text) => text, unseen: (text) => text };

/**
 * All of what a person answers for: nothing is left out, and nothing in it can move the cursor, hide or colour anything, or look like a line of
 * ours.
 */
export function questionText({ actions, findings, backend, session, code }: Question, emphasis: Emphasis = none): string {
  const name = visible(session, emphasis.unseen).replaceAll('\n', '⟨U+000A⟩');
  const reasons = findings.map((finding) => `  ${emphasis.finding(`! ${reasonText(finding, emphasis)}`)}`);
  return [
    `May this ${actions.some(({ kind }) => kind === 'connect') ? 'connect from' : 'run on'} ${backend}, in session ${name}? (${code})`,
    ...reasons,
    ...actions.flatMap((action) => actionLines(action, emphasis)),
    '',
  ].join('\n');
}

/** Its state in a sentence. */
export function questionStatus({ state, answer, answeredFrom, settledAt, claimedAt, expiresAt }: QuestionEntry): string {
  const when = settledAt?.toISOString() ?? '';
  if (state === 'open') return `Waiting for an answer until ${expiresAt.toISOString()}.`;
  if (state !== 'answered' || !answer) return `It ${state === 'expired' ? 'was not answered in time' : 'was withdrawn'} (${when}).`;
  const said = answer.kind === 'deny' ? 'denied' : answer.kind === 'once' ? 'allowed once' : `allowed (${answer.kind})`;
  const used = answer.kind === 'deny' ? '' : claimedAt ? ` It began at ${claimedAt.toISOString()}.` : ' It has not begun yet.';
  return `It was ${said} by ${visible(answer.by)} from ${visible(answeredFrom ?? '?')} at ${when}.${used}`;
}

const answers = { once: 'Allowed once', session: 'Allowed for this session', always: 'Always allowed', deny: 'Denied' } as const;

/** How it ended, for its card; undefined while it is open. */
export function outcomeText(question: QuestionEntry | undefined): string | undefined {
  if (!question || question.state === 'open') return undefined;
  const { state, answer } = question;
  if (state === 'answered' && answer) return `${answers[answer.kind]} by ${visible(answer.by)}.`;
  return state === 'expired' ? 'No answer in time, so it was not run.' : 'Withdrawn.';
}

function reasonText({ title, why, program, target }: Finding, { unseen }: Emphasis): string {
  const about = [program, target].filter((text) => text !== undefined).map((text) => oneLine(text, unseen));
  return `${title}${about.length === 0 ? '' : ` (${about.join(': ')})`}: ${why}`;
}

function actionLines(action: Action, { unseen }: Emphasis): string[] {
  const quoted = (text: string): string[] => quotedLines(text, unseen).map((line) => `  ${line}`);
  switch (action.kind) {
    case 'command':
      return [`In ${oneLine(action.cwd, unseen)}:`, ...quoted(action.command)];
    case 'script':
      return [`A ${action.language} script, in ${oneLine(action.cwd, unseen)}:`, ...quoted(action.code)];
    case 'input':
      return [`As input of ${oneLine(action.process, unseen)}:`, ...quoted(action.text)];
    case 'connect':
      return [...programLines(action.connections, unseen), `For this, in ${oneLine(action.cwd, unseen)}:`, ...quoted(action.command)];
    default:
      return [`In ${oneLine(action.cwd, unseen)}, ${action.kind} a file:`, ...quoted(action.path)];
  }
}

/** Security: a program inside chose its name, so it is quoted and said to be a claim. */
function programLines(connections: readonly ConnectionRequest[], unseen: Emphasis['unseen']): string[] {
  return connections.map((one) => {
    const program = one.program === undefined ? 'a program that could not be found' : JSON.stringify(oneLine(one.program, unseen));
    return `${destinationText(one)} is wanted by ${program}${one.program === undefined ? '' : ', as the sandbox says'}.`;
  });
}

function oneLine(text: string, unseen: Emphasis['unseen']): string {
  return visible(text, unseen).replaceAll('\n', unseen('⟨U+000A⟩'));
}
