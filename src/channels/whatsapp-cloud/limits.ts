import type { Place, RateLimit, Saying } from '../../core/channel.ts';
import { inboxMemoryMs } from '../../core/conversation.ts';

const mebibyte = 1024 * 1024;
const dayMs = 24 * 60 * 60 * 1000;

/** Characters of a message, also of the text above a list of answers. */
export const maxText = 4096;
export const maxCaption = 1024;
/** The text above reply buttons. */
export const maxButtonText = 1024;
export const maxReplyButtons = 3;
export const maxReplyTitle = 20;
export const maxRows = 10;
export const maxRowTitle = 24;

/** WhatsApp takes documents of 100 MB; a file is in memory while it is sent. */
export const maxFileBytes = 32 * mebibyte;
export const maxImageBytes = 5 * mebibyte;
/** The largest that people can send: a document of 100 MB. */
export const maxIncomingBytes = 100 * 1000 * 1000;

/**
 * Security: the signature of a body never expires, and only the inbox knows that its messages came before. So messages
 * that were sent longer ago are dropped. A day less than the inbox remembers, because Meta's clock and ours may differ;
 * far more than the 7 days for which Meta delivers again.
 */
export const maxAgeDays = inboxMemoryMs / dayMs - 1;
export const maxAgeMs = maxAgeDays * dayMs;

/**
 * As the documentation of the Cloud API says: a number has 80 messages a second, those that it gets among them, of which
 * half are for what is said here; one person gets one each 6 s, and up to 45 at once. Signs are no messages.
 */
export function limitsAt({ chat }: Place, saying: Saying): readonly RateLimit[] {
  const all = { of: 'all', everyMs: 1000 / 36, burst: 4 };
  return saying === 'sign' ? [all] : [all, { of: chat, everyMs: 6000, burst: 40 }];
}
