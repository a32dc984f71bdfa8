import type { Button } from '../../core/channel.ts';
import { printable } from '../../lib/printable.ts';

/** A message of ours that can be answered by one of its buttons. */
export interface OpenQuestion {
  message: string;
  buttons: readonly Button[];
}

/** The first button is the yes, the last one the no; the person sees which ones are meant. */
export function choicesText({ buttons }: OpenQuestion): string {
  const last = buttons.length - 1;
  return buttons
    .map(({ label }, index) => `${index + 1} ${printable(label)}${index === 0 ? ' (y)' : index === last ? ' (n)' : ''}`)
    .join('   ');
}

/** undefined for what is none of the answers. */
export function chosen({ buttons }: OpenQuestion, line: string): Button | undefined {
  const word = line.trim().toLowerCase();
  if (word === 'y' || word === 'yes') return buttons[0];
  if (word === 'n' || word === 'no') return buttons.at(-1);
  if (/^\d{1,2}$/.test(word)) return buttons[Number(word) - 1];
  return buttons.find(({ label }) => label.toLowerCase() === word);
}
