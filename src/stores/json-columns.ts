import type { Place } from '../core/channel.ts';
import { HermeticError } from '../core/errors.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
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

/** Equal for the same place: only the parts that make one count. */
export function placeJson({ platform, workspace, chat, thread }: Place): string {
  return canonicalJson({ platform, workspace, chat, thread });
}

export function placeOf(text: string): Place {
  const { platform, workspace, chat, thread } = readJson(text) as Place;
  return { platform, workspace, chat, thread };
}
