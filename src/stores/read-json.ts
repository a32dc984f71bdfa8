import { HermeticError } from '../core/errors.ts';
import { errorText } from '../lib/error-text.ts';

/** Parses a column of JSON. Throws when another program has written something else there. */
export function readJson(text: string): ReturnType<typeof JSON.parse> {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HermeticError('store/corrupt', `The state database holds a value that cannot be read (${errorText(cause)}).`, {
      hint: 'It was left as it is. Stop Hermetic and put a backup in its place, beside it as state.db.v*.bak, or start without one.',
      cause,
    });
  }
}
