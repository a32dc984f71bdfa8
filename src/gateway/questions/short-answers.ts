import { createHash } from 'node:crypto';
import { reactionPrefix } from '../../core/channel.ts';

/** The answers to a question, in the order in which they are offered. */
export const choices = ['once', 'session', 'always', 'deny'] as const;

export type Choice = (typeof choices)[number];

/**
 * For a chat without buttons: the number that gives this answer to the question with this code. Security: the first three digits follow from the
 * code, which the agent does not see, so that nobody who is asked for "1" in a chat allows something by it.
 */
export function numberFor(code: string, choice: Choice): string {
  return `${100 + (createHash('sha256').update(code).digest().readUInt32BE() % 900)}${choices.indexOf(choice) + 1}`;
}

export function isNumber(text: string): boolean {
  return /^\s*\d{3}[1-4]\s*$/.test(text);
}

/** What the number answers to this question; undefined for a number of another one. */
export function choiceFor(code: string, number: string): Choice | undefined {
  return choices.find((choice) => numberFor(code, choice) === number.trim());
}

/** How to answer a question where there are no buttons. */
export function numbersText(code: string, hasReactions: boolean): string {
  const number = (choice: Choice): string => `**${numberFor(code, choice)}**`;
  const numbers = `${number('once')} once, ${number('session')} this session, ${number('always')} always, ${number('deny')} deny`;
  return `Reply to this message with a number: ${numbers}.${hasReactions ? ' Or react to it: 👍 once, 👎 deny.' : ''}`;
}

/** undefined for a press that is no reaction, or one that answers nothing. */
export function reactionAnswer(data: string): Choice | undefined {
  if (!data.startsWith(reactionPrefix)) return undefined;
  // Hands have a colour, and signs a mark that asks for a picture.
  const sign = data.slice(reactionPrefix.length).replace(/[\u{1F3FB}-\u{1F3FF}\uFE0F]/gu, '');
  return sign === '👍' ? 'once' : sign === '👎' ? 'deny' : undefined;
}
