import type { Answer, Approver, Question } from '../core/approval.ts';
import type { Button, Channel, Outgoing, Place } from '../core/channel.ts';
import { fence, fenced } from './fenced.ts';
import type { Delivery, Outbox } from './outbox.ts';
import { maxMarkableText } from './repeat-mark.ts';
import type { QuestionDesk } from './work.ts';

const choices = { o: 'once', s: 'session', a: 'always', d: 'deny' } as const;
const labels: Readonly<Record<keyof typeof choices, string>> = { o: 'Once', s: 'This session', a: 'Always', d: 'Deny' };

type Choice = keyof typeof choices;

/** What a button of a question carries. It means nothing to whoever reads it, and is good for that question alone. */
function buttonData(code: string, choice: Choice): string {
  return `q:${code}:${choice}`;
}

/** undefined for a button that belongs to no question. */
export function pressedAnswer(data: string, by: string): { code: string; answer: Answer } | undefined {
  const [, code, choice] = /^q:([^:]{1,40}):([osad])$/.exec(data) ?? [];
  if (code === undefined) return undefined;
  return { code, answer: { kind: choices[choice as Choice], by } };
}

/** A person in a chat, asked by a message with buttons. The answer comes as a press or a command, from whoever may give it. */
export function chatApprover(place: Place, channel: Channel, outbox: Outbox, desk: QuestionDesk): Approver {
  return {
    ask: async (question, signal) => {
      await outbox.deliver(place, keyOf(question.id), ...cardFor(question, channel, desk));
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await settleCard(question.id, outbox, desk);
      return undefined;
    },
  };
}

/** Shows how a question ended: in its card where that is one message, so that the buttons go and what was asked stays. */
export async function settleCard(id: string, outbox: Outbox, desk: QuestionDesk): Promise<void> {
  const key = keyOf(id);
  const [card, outcome] = await Promise.all([outbox.find(`${key}/1`), desk.outcome(id)]);
  if (!card || !outcome) return;
  const { place, message } = card;
  const isOne = message.text.startsWith(fence) && (await outbox.find(`${key}/2`)) === undefined;
  if (isOne) await outbox.deliver(place, `${key}/end`, `${message.text}\n${outcome}`, { drafts: [`${key}/1`], buttons: [] });
  else await outbox.deliver(place, `${key}/end`, outcome);
}

/** The cards at this place that were sent and wait for an answer, for a place that forgets what it showed. */
export async function openCards(
  place: Place,
  parts: readonly string[],
  outbox: Outbox,
  desk: QuestionDesk,
): Promise<{ id: string; message: Outgoing }[]> {
  const cards: { id: string; message: Outgoing }[] = [];
  for (const { id } of await desk.open(parts)) {
    for (let index = 1; ; index++) {
      const card = await outbox.find(`${keyOf(id)}/${index}`);
      if (!card) break;
      const isHere = card.place.platform === place.platform && card.place.chat === place.chat;
      if (isHere && card.sentId !== undefined) cards.push({ id: card.sentId, message: card.message });
    }
  }
  return cards;
}

function keyOf(id: string): string {
  return `question/${id}`;
}

/** Security: nobody can say yes to what they cannot see all of. */
function cardFor(question: Question, { traits }: Channel, desk: QuestionDesk): [text: string, more: Delivery] {
  const whole = desk.text(question);
  const row: Button[] = (Object.keys(choices) as Choice[]).map((choice) => ({
    label: labels[choice],
    data: buttonData(question.code, choice),
  }));
  const how = traits.buttons ? '' : `\n\nAnswer with /approve ${question.code} or /deny ${question.code}.`;
  const buttons = traits.buttons ? [row] : undefined;
  const text = `${fenced(whole)}${how}`;
  if (text.length <= maxMarkableText(traits).text || traits.mostFileBytes === 0) return [text, { buttons }];
  const reasons = question.findings.map(({ title }) => `- ${title}`).join('\n');
  const file = { name: `question-${question.code}.txt`, data: Buffer.from(whole) };
  return [`May this run? All of it is in the file.\n${reasons}${how}`, { buttons, file }];
}
