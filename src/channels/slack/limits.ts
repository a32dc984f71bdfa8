import type { Place, RateLimit, Saying } from '../../core/channel.ts';

const mebibyte = 1024 * 1024;

/** Slack takes longer messages, but does not edit them. */
export const maxText = 4000;
/** The text of a notification, as Slack writes it. */
export const maxFallback = 3900;
/** Slack takes files of a gigabyte; these are held in memory. */
export const maxFileBytes = 100 * mebibyte;
export const maxIncomingBytes = 50 * mebibyte;

/**
 * As https://docs.slack.dev/apis/web-api/rate-limits says: in a conversation a message a second, in a workspace some
 * hundred messages, a hundred notices and 50 changes a minute. A draft will be changed in the end, so drafts leave room for that.
 */
export function limitsAt({ workspace = '', chat }: Place, saying: Saying): readonly RateLimit[] {
  const all = { of: `messages in ${workspace}`, everyMs: 200, burst: 20 };
  const here = { of: `${workspace}/${chat}`, everyMs: 1000, burst: 5 };
  const changes = { of: `changes in ${workspace}`, everyMs: 1500, burst: 10 };
  switch (saying) {
    case 'question':
    case 'message':
    case 'sign':
      return [all, here];
    case 'notice':
      return [{ of: `notices in ${workspace}`, everyMs: 600, burst: 20 }];
    case 'draft':
      return [all, here, { of: `drafts in ${workspace}`, everyMs: 4000, burst: 5 }];
    case 'change':
      return [changes];
    case 'growth':
      return [changes, { of: `growth in ${workspace}`, everyMs: 3000, burst: 5 }];
  }
}
