import { randomBytes } from 'node:crypto';
import { printable } from '../lib/printable.ts';

const maxName = 80;

/**
 * Security: what people call themselves and their chats, as one line of JSON that cannot end the place it stands in: no line breaks, no signs that
 * do not show, no marks.
 */
export function asData(value: string, most = maxName): string {
  const line = printable(value);
  const short = line.length > most ? `${line.slice(0, most)}…` : line;
  return JSON.stringify(short).replace(/[<>&]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Security: the number is new each time and unknown when the text is written, so no text can end its own fence and go on in another person's
 * name. The text itself stays as it is. What is not known, or empty, is left out of `about`.
 */
export function fence(word: string, about: Readonly<Record<string, string | undefined>>, text: string): string {
  let mark = '';
  do mark = `${word}-${randomBytes(4).toString('hex')}`;
  while (text.includes(mark));
  const said = Object.entries(about).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [` ${name}=${asData(value)}`]));
  return `<${mark}${said.join('')}>\n${text}\n</${mark}>`;
}
