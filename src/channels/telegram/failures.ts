import { GrammyError, HttpError } from 'grammy';
import { HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';

/** A call that failed, without anything secret. */
export class CallError extends Error {
  override readonly name = 'CallError';
  /** As Telegram said it; undefined when it said nothing. */
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The chat that took the place of the one that was named. */
  readonly migratedTo: string | undefined;

  /** Telegram may have done what it was asked to do. */
  isDoubtful = false;

  constructor(message: string, status?: number, parameters: { retry_after?: number; migrate_to_chat_id?: number } = {}) {
    super(message);
    this.status = status;
    this.retryAfterMs = parameters.retry_after === undefined ? undefined : parameters.retry_after * 1000;
    this.migratedTo = parameters.migrate_to_chat_id === undefined ? undefined : String(parameters.migrate_to_chat_id);
  }

  /** The token is wrong: Telegram answers 404 to what cannot be one. */
  get isUnauthorised(): boolean {
    return this.status === 401 || this.status === 404;
  }

  isBadRequest(about: RegExp): boolean {
    return this.status === 400 && about.test(this.message);
  }
}

/** Security: the errors of grammY and of what it is made of have the token in their text, so nothing of them is kept but what is known. */
export function callErrorOf(error: unknown, token: string): CallError {
  if (error instanceof CallError) return error;
  const clean = (text: string): string => printable(text.replaceAll(token, '…')).slice(0, 300);
  if (error instanceof GrammyError) return new CallError(clean(error.description), error.error_code, error.parameters);
  const cause: unknown = error instanceof HttpError ? error.error : error;
  const { code, type, name } = cause as { code?: unknown; type?: unknown; name?: unknown };
  if (type === 'invalid-json' || cause instanceof SyntaxError) return new CallError('the answer was not one of Telegram', 502);
  const isTooLate = name === 'AbortError' || name === 'TimeoutError';
  const failure = new CallError(isTooLate ? 'no answer in time' : `no connection${typeof code === 'string' ? ` (${clean(code)})` : ''}`);
  failure.isDoubtful = typeof code !== 'string' ? isTooLate : !neverConnected.has(code);
  return failure;
}

/** Errors of the system that mean that nothing of the request was sent. */
const neverConnected: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

export const tokenHint = 'Get the token from @BotFather and put it into the variable named by telegram.token_env.';

/** Why no updates arrive, as text for `hermetic status`. */
export function reasonOf(error: CallError): string {
  if (error.isUnauthorised) return `Telegram refuses the token (${error.status}).`;
  if (error.status === 409) {
    return /webhook/i.test(error.message)
      ? 'The bot has a webhook, so its messages go to another service. Remove the webhook, or use a separate bot.'
      : 'Another program reads the messages of this bot. Only one program can use a bot: stop the other one, or use a separate bot.';
  }
  return error.status === undefined ? `Telegram: ${error.message}.` : `Telegram: ${error.message} (${error.status}).`;
}

/** For `send`, `edit` and `fetchFile`: whether it makes sense to try again. `mayRepeat`: doing it twice does no harm. */
export function channelErrorOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  const { status, retryAfterMs } = error;
  const sentence = reasonOf(error);
  const isFault = status !== undefined && status >= 400 && status < 500;
  // A wrong token or a second reader is not the fault of the message.
  const isTransient = status === 429 || status === 409 || error.isUnauthorised;
  if (isFault && !isTransient) return new HermeticError('channel/refused', sentence);
  if (error.isDoubtful && !mayRepeat) return new HermeticError('channel/unanswered', sentence);
  return new HermeticError('channel/busy', sentence, { retryAfterMs, hint: error.isUnauthorised ? tokenHint : undefined });
}
