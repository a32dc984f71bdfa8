import type { Answer, Finding, Question } from '../../core/approval.ts';
import type { Button, ChannelTraits, Place } from '../../core/channel.ts';
import { fenced } from '../../lib/fenced.ts';
import { visible } from '../../lib/visible.ts';
import type { Delivery } from '../outbox/outbox.ts';
import { maxMarkableText } from '../outbox/repeat-mark.ts';
import { hostsIn } from './host-answers.ts';
import { type Choice, choices, numbersText } from './short-answers.ts';

const labels: Readonly<Record<Choice, string>> = { once: 'Once', session: 'This session', always: 'Always', deny: 'Deny' };

/** Who asks for what a question is about. */
export interface Asker {
  /** As in `telegram:4711`. */
  person: string;
  /** The name they chose for themselves. */
  name: string;
  isDirect: boolean;
}

const maxNameLength = 60;
/** Beside a file that has them all. */
const maxReasons = 12;

/** The data of a button: it reveals nothing, and is good for that question alone. */
function buttonData(code: string, choice: Choice): string {
  return `q:${code}:${choice[0]}`;
}

/** undefined for a button that belongs to no question. */
export function pressedAnswer(data: string, by: string): { code: string; answer: Answer } | undefined {
  const [, code, letter] = /^q:([^:]{1,40}):([osad])$/.exec(data) ?? [];
  const kind = choices.find((choice) => choice[0] === letter);
  return code === undefined || kind === undefined ? undefined : { code, answer: { kind, by } };
}

/** Security: the whole command is always shown, so that a yes covers nothing unseen. `header`: a line about who asks. */
export function cardFor(question: Question, whole: string, header: string, traits: ChannelTraits): [text: string, more: Delivery] {
  const row: Button[] = choices.map((choice) => ({
    label: labels[choice],
    data: buttonData(question.code, choice),
    kind: choice === 'deny' ? 'no' : 'yes',
  }));
  const how = traits.buttons ? '' : `\n\n${numbersText(question.code, traits.reactions === true)}`;
  const buttons = traits.buttons ? [row] : undefined;
  const all = header === '' ? whole : `${header}\n${whole}`;
  const text = `${fenced(all)}${how}`;
  if (text.length <= maxMarkableText(traits).text || traits.maxFileBytes === 0) return [text, { buttons }];
  const more = question.findings.length - maxReasons;
  const reasons = [...question.findings.slice(0, maxReasons).map(reasonLine), ...(more > 0 ? [`- ${more} more`] : [])].join('\n');
  const file = { name: `question-${question.code}.txt`, data: Buffer.from(all) };
  const asks = header === '' ? '' : `${fenced(header)}\n`;
  const what = hostsIn(question).length > 0 ? 'connect' : 'run';
  return [`${asks}May this ${what}? The full text is in the file.\n${reasons}${how}`, { buttons, file }];
}

/** Security: the asker chose the text of a target, so it is shown as code, and short; the file has all of it. */
function reasonLine(finding: Finding): string {
  const { title, target } = finding;
  // Security: whole, because its end says whose it is. A host in its one spelling is plain text.
  const [host] = hostsIn({ findings: [finding] });
  if (host !== undefined) return `- ${title}: \`${host}\``;
  return target === undefined ? `- ${title}` : `- ${title}: \`${shortName(target).replaceAll('`', "'")}\``;
}

/** For an approver: who asks, and where. Belongs into a code block. */
export function askedBy({ person, name, isDirect }: Asker, { platform, chat, thread }: Place): string {
  const where = isDirect ? `in a direct chat on ${platform}` : `in the chat ${oneLine(chat)} on ${platform}`;
  return `${shortName(name)} (${oneLine(person)}) asks ${where}${thread === undefined ? '' : `, thread ${oneLine(thread)}`}:`;
}

/** `Ann`, `Ann and Bob`, `Ann, Bob and Cleo`. Security: people choose their names, so nothing in them is markup. */
export function listOfNames(names: readonly string[]): string {
  const plain = names.map((name) => shortName(name).replace(/[!-/:-@[-`{-~]/g, '\\$&'));
  return plain.length < 2 ? (plain[0] ?? '') : `${plain.slice(0, -1).join(', ')} and ${plain.at(-1)}`;
}

function shortName(name: string): string {
  const signs = [...oneLine(name.toWellFormed().normalize('NFC'))];
  return signs.length > maxNameLength ? `${signs.slice(0, maxNameLength).join('')}…` : signs.join('');
}

function oneLine(text: string): string {
  return visible(text).replace(/\s+/g, ' ').trim();
}
