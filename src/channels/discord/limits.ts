import type { Place, RateLimit, Saying } from '../../core/channel.ts';

const mebibyte = 1024 * 1024;

/** The source of a message, in characters of Unicode; counted here in UTF-16 units, of which there are never fewer. */
export const maxContent = 2000;
/** The largest files that a bot may send everywhere, and that are fetched. */
export const maxFileBytes = 10 * mebibyte;
export const maxIncomingBytes = 25 * mebibyte;

/**
 * Of a bot Discord takes 50 calls a second, as https://docs.discord.com/developers/topics/rate-limits says, and here a
 * tenth less. What it takes in a channel is in its answers, which the library heeds. Answers to presses do not count.
 */
export function limitsAt(_place: Place, saying: Saying): readonly RateLimit[] {
  if (saying === 'notice') return [];
  const all = { of: 'all', everyMs: 1000 / 45, burst: 5 };
  const isForNow = saying === 'growth' || saying === 'sign';
  return isForNow ? [all, { of: saying, everyMs: 2 * all.everyMs, burst: 5 }] : [all];
}
