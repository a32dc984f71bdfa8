import { GrammyError, HttpError } from 'grammy';
import { printable } from '../../lib/printable.ts';
import { CallError, channelErrorOf, connectionError } from '../call-error.ts';

/** A call that Telegram refused. */
class TelegramError extends CallError {
  /** The chat that took the place of the one that was named. */
  readonly migratedTo: string | undefined;

  constructor(message: string, status: number, parameters: { retry_after?: number; migrate_to_chat_id?: number }) {
    const { retry_after: seconds, migrate_to_chat_id: chat } = parameters;
    // A wrong token or a second reader is not the fault of the message.
    const isPassing = [401, 404, 409].includes(status);
    super(message, { status, isPassing, retryAfterMs: seconds === undefined ? undefined : seconds * 1000 });
    this.migratedTo = chat === undefined ? undefined : String(chat);
  }
}

/** The token is wrong: Telegram answers 404 to what cannot be one. */
export function isUnauthorised({ status }: CallError): boolean {
  return status === 401 || status === 404;
}

export function isBadRequest(error: unknown, about: RegExp): boolean {
  return error instanceof CallError && error.status === 400 && about.test(error.message);
}

/** The chat that took the place of the one that was named. */
export function migrationIn(error: unknown): string | undefined {
  return error instanceof TelegramError ? error.migratedTo : undefined;
}

/** Security: the errors of grammY and of what it is made of have the token in their text, so nothing of them is kept but what is known. */
export function callErrorOf(error: unknown, token: string): CallError {
  if (error instanceof CallError) return error;
  if (error instanceof GrammyError) {
    return new TelegramError(printable(error.description.replaceAll(token, '…')).slice(0, 300), error.error_code, error.parameters);
  }
  const cause: unknown = error instanceof HttpError ? error.error : error;
  if ((cause as { type?: unknown }).type === 'invalid-json' || cause instanceof SyntaxError) {
    return new CallError('the answer was not one of Telegram', { status: 502 });
  }
  return connectionError(cause);
}

export const tokenHint = 'Get the token from @BotFather and put it into the variable named by telegram.token_env.';

/** Why no updates arrive, as text for `hermetic status`. */
export function reasonOf(error: CallError): string {
  if (isUnauthorised(error)) return `Telegram refuses the token (${error.status}).`;
  if (error.status === 409) {
    return /webhook/i.test(error.message)
      ? 'The bot has a webhook, so its messages go to another service. Remove the webhook, or use a separate bot.'
      : 'Another program reads the messages of this bot. Only one program can use a bot: stop the other one, or use a separate bot.';
  }
  return error.status === undefined ? `Telegram: ${error.message}.` : `Telegram: ${error.message} (${error.status}).`;
}

/** For `send`, `edit` and `fetchFile`. */
export function failureOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  return channelErrorOf(error, reasonOf(error), { mayRepeat, hint: isUnauthorised(error) ? tokenHint : undefined });
}
