import { visible } from '../../lib/visible.ts';

/** Orders to a terminal, and signs that turn the direction of writing. Signs that join others, as in many languages, stay. */
const obeyed = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
/** The first half of a sign whose second half has not come yet. */
const half = /[\uD800-\uDBFF]$/;

/**
 * Security: text of others as a terminal may show it: nothing of it is obeyed, and what was taken away shows. What it makes of the beginning of a
 * text is the beginning of what it makes of the text.
 */
export function shownText(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').replace(half, '').toWellFormed();
  return lines.replace(obeyed, (sign) => visible(sign));
}
