import { type IncomingMessage, type IncomingPress, reactionPrefix } from '../../core/channel.ts';
import type { Role } from '../access.ts';
import type { ChatApprovals } from './chat-approvals.ts';
import { pressedAnswer } from './question-card.ts';
import { isNumber, reactionAnswer } from './short-answers.ts';

/** Resolves with the reply to a press of a button or to a reaction; undefined when there is nothing to say. */
export async function answerToPress(approvals: ChatApprovals, press: IncomingPress, role: Role): Promise<string | undefined> {
  const { data, message, place, from } = press;
  const by = `${place.platform}:${from.id}`;
  if (data.startsWith(reactionPrefix)) {
    const kind = reactionAnswer(data);
    const code = kind && (await approvals.asking(place, message));
    // People react to whatever they like: most of it is no answer.
    return kind && code ? await approvals.answer(code, { kind, by }, role, place.platform) : undefined;
  }
  const given = pressedAnswer(data, by);
  return given ? await approvals.answer(given.code, given.answer, role, place.platform) : 'This button has expired.';
}

/**
 * Where there are no buttons: what settles a question by this message, which arrived at `saidAt`, and resolves with the reply; undefined when it is
 * no such number.
 */
export async function answerToNumber(
  approvals: ChatApprovals,
  { text, forwarded, place, from }: IncomingMessage,
  saidAt: Date,
): Promise<((role: Role) => Promise<string>) | undefined> {
  if (forwarded || !isNumber(text)) return undefined;
  const found = await approvals.numbered(place, text, saidAt);
  if (found === undefined) return undefined;
  if (found === 'several') {
    return async () => 'Two questions have this number. Answer with /approve CODE or /deny CODE; /approve lists the codes.';
  }
  const by = `${place.platform}:${from.id}`;
  return async (role) => await approvals.answer(found.code, { kind: found.choice, by }, role, place.platform);
}
