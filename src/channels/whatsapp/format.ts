import { markdownTokens } from '../../lib/markdown-tokens.ts';
import { written } from '../markup.ts';
import { whatsappMarkup } from '../whatsapp-markup.ts';
import { maxText } from './limits.ts';

/** Of one message, as for Telegram. */
const maxSteps = 300_000;

/** CommonMark as WhatsApp's markup. */
export function format(markdown: string): string {
  const plain = markdown.toWellFormed();
  const tokens = markdownTokens(plain, { breaks: false, maxSteps });
  const forms = tokens === undefined ? [] : [true, false].map((alignTables) => written(tokens, whatsappMarkup, alignTables));
  return forms.find((form) => form !== '' && form.length <= maxText) ?? plain;
}
