import { destinationText } from '../core/egress.ts';
import type { Notice, Question, Reply } from './messages.ts';

/** Words for the trace. */
export function noticeText(notice: Exclude<Notice, { kind: 'answer' }>): string {
  switch (notice.kind) {
    case 'connections':
      return [
        ...notice.blocked.map((one) => `${destinationText(one)} blocked (${one.reason})`),
        ...notice.allowed.map((one) => `${destinationText(one)} allowed`),
      ].join(', ');
    case 'question':
      return `question ${notice.question}: ${questionText(notice.content)}`;
    case 'left':
      return `question ${notice.question}: no program waits for its answer`;
    case 'live':
      return `shells with processes: ${[...notice.marks].join(' ') || 'none'}`;
    case 'lost':
      return `is lost: ${notice.reason}`;
    case 'started':
      return 'its sockets are being opened';
  }
}

function questionText(question: Question): string {
  if (question.kind === 'only-command') return 'which command runs alone';
  const what = question.isCheck ? 'is it still allowed' : 'may it connect';
  return `${what}, shell ${question.mark} to ${destinationText(question.request)}`;
}

export function replyText(reply: Reply): string {
  if (reply.kind === 'only-command') return reply.mark === undefined ? 'none or several' : `shell ${reply.mark}`;
  return reply.answer.allowed ? 'allowed' : `not allowed (${reply.answer.reason})`;
}
