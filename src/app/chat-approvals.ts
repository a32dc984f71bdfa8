import { mayAnswer } from '../approval/approvers.ts';
import { questionText, standingText } from '../approval/question-text.ts';
import type { Attempt } from '../approval/questions.ts';
import type { QuestionEntry, Store } from '../core/store.ts';
import type { QuestionDesk } from '../gateway/work.ts';
import { visible } from '../lib/visible.ts';
import type { App } from './app.ts';

/** What a chat has to do with questions, by the rules of approvals. */
export function questionDesk(app: App, { approvals, modes }: Store): QuestionDesk {
  const { approvals: desk } = app;
  return {
    text: (question) => questionText(question),
    outcome: async (id) => {
      let question = await approvals.find(id);
      if (question?.state === 'open' && question.expiresAt.getTime() <= Date.now()) {
        await (await desk.questions()).open();
        question = await approvals.find(id);
      }
      return question && question.state !== 'open' ? endText(question) : undefined;
    },
    answer: async (idOrCode, answer, { person, isAdmin, from }) => {
      const answerer = { by: person, from, role: isAdmin ? ('admin' as const) : ('user' as const), person };
      const attempt = await (await desk.questions()).answer(idOrCode, answer, answerer);
      return { say: wordsFor(attempt), settled: attempt.kind === 'settled' ? attempt.question.id : undefined };
    },
    open: async (parts) => {
      const open = await (await desk.questions()).open();
      return open.filter((one) => isSame(one.parts, parts)).map(openQuestion);
    },
    answerable: async ({ person, isAdmin }) => {
      const { approvers } = app.loaded.config.approvals;
      const answerer = { by: person, from: '', role: isAdmin ? ('admin' as const) : ('user' as const), person };
      const open = await (await desk.questions()).open();
      return open.filter((one) => mayAnswer(answerer, one.person, approvers)).map(openQuestion);
    },
    approvers: () => app.loaded.config.approvals.approvers,
    notBegun: async (parts, run) => {
      const found = await approvals.list({ session: parts, run });
      if (found.length === 0 || found.some(({ claimedAt }) => claimedAt !== undefined)) return undefined;
      return found.every(({ state }) => state === 'withdrawn') ? 'withdrawn' : 'waiting';
    },
    withdraw: async (parts, why) => void (await (await desk.questions()).withdraw(parts, why)),
    yolo: (parts) => modes.yolo(parts),
    setYolo: (parts, by, on) => desk.setYolo(parts, by, on),
    endSession: (parts, by) => desk.endSession(parts, by),
  };
}

function openQuestion(question: QuestionEntry) {
  const { id, code, session, person } = question;
  return { id, code, session, person, text: questionText(question) };
}

const said = { once: 'Allowed once', session: 'Allowed for this session', always: 'Always allowed', deny: 'Denied' } as const;

function endText({ state, answer }: QuestionEntry): string {
  if (state === 'answered' && answer) return `${said[answer.kind]} by ${visible(answer.by)}.`;
  return state === 'expired' ? 'No answer in time, so it was not run.' : 'Withdrawn.';
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function wordsFor(attempt: Attempt): string {
  switch (attempt.kind) {
    case 'settled':
      return 'Answer recorded.';
    case 'foreign':
      return 'You may not answer this question.';
    case 'stale':
      return standingText(attempt.question);
    case 'unknown':
      return 'No question has this code.';
  }
}
