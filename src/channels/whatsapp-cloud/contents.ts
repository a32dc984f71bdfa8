import type { Button, Outgoing } from '../../core/channel.ts';
import { HermeticError } from '../../core/errors.ts';
import { whatsAppText } from '../whatsapp-markup.ts';
import { maxButtonText, maxReplyButtons, maxReplyTitle, maxRows, maxRowTitle, maxText } from './limits.ts';

/** A part of the body of a request. */
export type Content = Readonly<Record<string, unknown>>;

/** Security: no preview, because Meta would fetch an address that a model wrote, and so leak what is in it. */
export function textContent(text: string): Content {
  return { type: 'text', text: { body: whatsAppText(text, maxText), preview_url: false } };
}

/** Up to three answers are buttons; more, or those to a long question, are a list that opens. */
export function choiceContent({ text, buttons = [] }: Outgoing): Content {
  const all = buttons.flat();
  if (all.length > maxRows) throw new HermeticError('channel/refused', `WhatsApp shows at most ${maxRows} answers to choose from.`);
  const short = whatsAppText(text.trim() === '' ? 'Choose:' : text, maxText);
  const isList = all.length > maxReplyButtons || short.length > maxButtonText;
  return { type: 'interactive', interactive: { body: { text: short }, ...(isList ? listOf(all) : replyButtons(all)) } };
}

function replyButtons(all: readonly Button[]): Content {
  const buttons = all.map(({ label, data }) => ({ type: 'reply', reply: { id: data, title: titleOf(label, maxReplyTitle) } }));
  return { type: 'button', action: { buttons } };
}

function listOf(all: readonly Button[]): Content {
  const rows = all.map(({ label, data }) => ({ id: data, title: titleOf(label, maxRowTitle) }));
  return { type: 'list', action: { button: 'Answer', sections: [{ title: 'Answers', rows }] } };
}

/** No half of a character. */
function titleOf(label: string, maxLength: number): string {
  let title = '';
  for (const sign of label.toWellFormed()) {
    if (title.length + sign.length > maxLength) break;
    title += sign;
  }
  return title || '…';
}
