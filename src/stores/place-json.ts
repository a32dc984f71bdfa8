import type { Place } from '../core/channel.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { readJson } from './read-json.ts';

/** Equal for the same place: only the parts that make one count. */
export function placeJson({ platform, workspace, chat, thread }: Place): string {
  return canonicalJson({ platform, workspace, chat, thread });
}

export function placeOf(text: string): Place {
  const { platform, workspace, chat, thread } = readJson(text) as Place;
  return { platform, workspace, chat, thread };
}
