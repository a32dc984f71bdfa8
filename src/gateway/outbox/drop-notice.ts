import type { OutboxEntry, OutboxItem } from '../../core/conversation.ts';
import { printable } from '../../lib/printable.ts';

/** The platform did not answer, time and again. */
export const unknownArrival = 'It is unknown whether it arrived.';

const prefix = 'dropped/';
const maxName = 100;
const maxFailure = 300;

/**
 * Tells a chat that a message to it was dropped. undefined for drafts, removals and such notices themselves. `failure`
 * is shown to the chat and to the model.
 */
export function dropNotice({ key, message, isDraft, isRemoval }: OutboxEntry, failure: string): OutboxItem | undefined {
  if (isDraft || isRemoval || key.startsWith(prefix)) return undefined;
  // Security: a model names its files.
  const what = message.file ? `The file ${printable(message.file.name).slice(0, maxName)}` : 'A message';
  if (failure === unknownArrival) {
    const which = message.file ? what.replace('T', 't') : 'an earlier message';
    return { key: `${prefix}${key}`, message: { text: `It is not known whether ${which} arrived.` } };
  }
  const why = printable(failure).slice(0, maxFailure);
  return { key: `${prefix}${key}`, message: { text: `${what} could not be sent here: ${/[.!?]$/.test(why) ? why : `${why}.`}` } };
}
