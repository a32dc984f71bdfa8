import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest';
import { HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { CallError, channelErrorOf, connectionError } from '../call-error.ts';

export const tokenHint =
  'Get the token from the page Bot of your application at discord.com/developers/applications, and put it into the variable named by discord.token_env.';

/** Numbers by which Discord names what is wrong with a request. */
export const codes = { unknownChannel: 10_003, unknownMessage: 10_008, threadExists: 160_004 } as const;

/** A call that failed. `code` is the number by which Discord names the reason. */
export class DiscordError extends CallError {
  readonly code: number | undefined;

  constructor(message: string, facts: ConstructorParameters<typeof CallError>[1], code?: number) {
    super(message, facts);
    this.code = code;
  }
}

/** Security: the errors of the library have requests in them, so nothing is kept but what is known. */
export function callErrorOf(error: unknown, token: string): CallError {
  if (error instanceof CallError) return error;
  const clean = (text: string): string => printable(text.replaceAll(token, '…')).slice(0, 300);
  if (error instanceof RateLimitError) {
    const retryAfterMs = Math.max(error.retryAfter, error.timeToReset, 0);
    return new CallError('too many requests', { status: 429, retryAfterMs, isOfPlace: !error.global });
  }
  if (error instanceof DiscordAPIError) {
    const { status } = error;
    return new DiscordError(
      clean(error.message),
      { status, isPassing: status === 401 },
      typeof error.code === 'number' ? error.code : undefined,
    );
  }
  if (error instanceof HTTPError)
    return new CallError(`the answer ${error.status}`, { status: error.status, isPassing: error.status === 401 });
  return connectionError(error);
}

/** Why it does not work, as text for `hermetic status`. */
export function reasonOf({ status, message }: CallError): string {
  if (status === 401) return 'Discord refuses the token (401).';
  return status === undefined ? `Discord: ${message}.` : `Discord: ${message} (${status}).`;
}

export function failureOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  return channelErrorOf(error, reasonOf(error), { mayRepeat, hint: error.status === 401 ? tokenHint : undefined });
}

export function unusable(reason: string, hint: string | undefined): HermeticError {
  return new HermeticError('channel/unusable', reason, { hint });
}
