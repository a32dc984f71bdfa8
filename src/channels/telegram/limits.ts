import type { Place, RateLimit, Saying } from '../../core/channel.ts';

const mebibyte = 1024 * 1024;

/** The visible text of a message, in UTF-16 units. */
export const maxVisibleText = 4096;
export const maxVisibleCaption = 1024;
/** Of the source; less, because the columns of a table take more room than their source. */
export const maxTextLength = 4000;
export const maxCaptionLength = 1000;

/** The largest files a bot may send and receive. */
export const maxFileBytes = 50 * mebibyte;
export const maxIncomingBytes = 20 * mebibyte;

/** As many calls a second as Telegram takes of a bot. */
export const usualCallsPerSecond = 30;
/** A tenth of them is left for calls that bunch up on their way. */
export function evenlyMs(callsPerSecond: number): number {
  return 1000 / (callsPerSecond * 0.9);
}

/** As https://core.telegram.org/bots/faq says: in all, in a chat, and in a group, where twenty a minute are taken. */
export function limitsAt({ chat }: Place, saying: Saying, callsPerSecond: number): readonly RateLimit[] {
  const everyMs = evenlyMs(callsPerSecond);
  const all = { of: 'all', everyMs, burst: 2 };
  // The rest of what a bot may say is for messages.
  const halfOfAll = { of: saying, everyMs: 2 * everyMs, burst: 2 };
  if (saying === 'sign' || saying === 'notice') return [all, halfOfAll];
  const isGroup = chat.startsWith('-');
  const here = isGroup ? { of: chat, everyMs: 4000, burst: 5 } : { of: chat, everyMs: 1000, burst: 15 };
  if (saying !== 'growth') return [all, here];
  return [all, here, halfOfAll, ...(isGroup ? [{ of: `growth in ${chat}`, everyMs: 5000, burst: 1 }] : [])];
}
