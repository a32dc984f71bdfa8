import { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError } from '@slack/web-api';
import { HermeticError } from '../../core/errors.ts';
import { CallError, type CallFacts, channelErrorOf, connectionError } from '../call-error.ts';

export const botTokenHint =
  'Get the bot token (xoxb-…) from the page OAuth & Permissions of your app at api.slack.com/apps, and put it into the variable named by slack.token_env.';
export const appTokenHint =
  'Get an app-level token (xapp-…) with the scope connections:write from the page Basic Information of your app at api.slack.com/apps, and put it into the variable named by slack.app_token_env.';

/** A call that failed. `code` is the word by which Slack names the reason. */
export class SlackCallError extends CallError {
  readonly code: string;

  constructor(message: string, facts: CallFacts, code: string) {
    super(message, facts);
    this.code = code;
  }
}

/** The token is wrong, or was taken back. */
const tokenCodes: ReadonlySet<string> = new Set([
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'not_allowed_token_type',
  'app_uninstalled',
  'team_access_not_granted',
  'org_login_required',
]);
/** Slack fails, and may have done what it was asked to do. */
const doubtfulCodes: ReadonlySet<string> = new Set(['internal_error', 'fatal_error', 'request_timeout']);
/** Seconds. Whatever Slack says, it is asked again then. */
const maxRetryAfter = 3600;
const busyCodes: ReadonlySet<string> = new Set(['service_unavailable', 'team_added_to_org', 'accesslimited', 'message_limit_exceeded']);

/** Security: the errors of the library have answers and requests in them, so nothing is kept but what is known. */
export function callErrorOf(error: unknown): CallError {
  if (error instanceof CallError) return error;
  if (error instanceof WebAPIRateLimitedError) return tooMany(error.retryAfter);
  if (error instanceof WebAPIPlatformError) return platformError(error.data as unknown as Record<string, unknown>);
  if (error instanceof WebAPIHTTPError) return new CallError(`the answer ${error.statusCode}`, { status: error.statusCode });
  return connectionError(error);
}

function platformError({ error, needed, response_metadata: metadata }: Record<string, unknown>): CallError {
  if (typeof error !== 'string' || !/^[a-z][a-z0-9_]{0,80}$/.test(error)) {
    return new CallError('an answer that is not one of Slack', { isDoubtful: true });
  }
  if (error === 'ratelimited' || error === 'rate_limited') return tooMany((metadata as { retryAfter?: unknown } | undefined)?.retryAfter);
  if (tokenCodes.has(error)) return new SlackCallError(error, { status: 401, isPassing: true }, error);
  if (doubtfulCodes.has(error)) return new SlackCallError(error, { status: 500, isDoubtful: true }, error);
  if (busyCodes.has(error)) return new SlackCallError(error, { status: 503 }, error);
  const scope = typeof needed === 'string' && /^[a-z:.,_ ]{1,200}$/.test(needed) ? `, it needs ${needed}` : '';
  return new SlackCallError(error + scope, { status: 400 }, error);
}

function tooMany(seconds: unknown): CallError {
  return new CallError('too many requests', { status: 429, retryAfterMs: retryAfterMs(seconds) });
}

/** Of what Slack says in seconds. */
export function retryAfterMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds >= 0 ? Math.min(seconds, maxRetryAfter) * 1000 : undefined;
}

/** Trying again later may help. */
export function isTransient({ status, isPassing }: CallError): boolean {
  return isPassing || status === undefined || status === 429 || status >= 500;
}

export function isTokenRefused({ status }: CallError): boolean {
  return status === 401;
}

/** Why it does not work, as text for `hermetic status`. */
export function reasonOf(error: CallError, token = 'bot token'): string {
  const { status, message } = error;
  if (isTokenRefused(error)) return `Slack refuses the ${token} (${message}).`;
  return status === undefined || error instanceof SlackCallError ? `Slack: ${message}.` : `Slack: ${message} (${status}).`;
}

export function failureOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  return channelErrorOf(error, reasonOf(error), { mayRepeat, hint: isTokenRefused(error) ? botTokenHint : undefined });
}

export function unusable(reason: string, hint: string): HermeticError {
  return new HermeticError('channel/unusable', reason, { hint });
}

/** Security: a token becomes part of a header. */
export function checkedToken(token: string, hint: string): string {
  if (!/^[\w.-]{1,1000}$/.test(token)) throw unusable('This is not a token of Slack.', hint);
  return token;
}

export function refused(reason: string): HermeticError {
  return new HermeticError('channel/refused', reason);
}
