import { HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { CallError, channelErrorOf } from '../call-error.ts';

const accountHint =
  'Link or register the account with signal-cli (signal-cli listAccounts shows what it has), and put its phone number into signal.account.';

/** By which signal-cli says what is wrong. */
const codes = { user: -1, io: -3, untrusted: -4, rateLimit: -5, captcha: -6, noMethod: -32_601, parameters: -32_602, internal: -32_603 };

/** A method of the daemon that failed. */
export class DaemonError extends CallError {
  readonly code: number;

  constructor(message: string, facts: ConstructorParameters<typeof CallError>[1], code: number) {
    super(message, facts);
    this.code = code;
  }

  get isUnknownMethod(): boolean {
    return this.code === codes.noMethod;
  }
}

/** The result in an answer of JSON-RPC. Throws `CallError`. */
export function resultIn(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) throw strangeAnswer();
  const { error, result } = answer as { error?: unknown; result?: unknown };
  if (typeof error === 'object' && error !== null) throw daemonError(error);
  if (result === undefined) throw strangeAnswer();
  return result;
}

function strangeAnswer(): CallError {
  return new CallError('the answer was not one of signal-cli', { isDoubtful: true });
}

/** What became of a message, for each person it was for. */
interface SendResult {
  type?: unknown;
  retryAfterSeconds?: unknown;
}

/** Security: of what the daemon says about a limit nothing is repeated: it has a token in it that solves the captcha. */
function daemonError({ code: given, message, data }: { code?: unknown; message?: unknown; data?: unknown }): DaemonError {
  const code = typeof given === 'number' ? given : codes.internal;
  const said = typeof message === 'string' ? printable(message).slice(0, 300).replace(/\.$/, '') : '';
  const results = resultsIn(data);
  const failed = (type: string): boolean => results.some((one) => one.type === type);
  if (
    code === codes.rateLimit ||
    code === codes.captcha ||
    failed('RATE_LIMIT_FAILURE') ||
    /\[(?:413|428|429)\]|rate.?limit|captcha/i.test(said)
  ) {
    const seconds = Math.max(0, ...results.map((one) => (typeof one.retryAfterSeconds === 'number' ? one.retryAfterSeconds : 0)));
    return new DaemonError('too many messages', { status: 429, retryAfterMs: seconds > 0 ? seconds * 1000 : undefined }, code);
  }
  if (code === codes.untrusted || failed('IDENTITY_FAILURE'))
    return new DaemonError('the safety number has changed; trust it with signal-cli trust', { status: 403 }, code);
  if (failed('UNREGISTERED_FAILURE')) return new DaemonError('they are not on Signal any more', { status: 404 }, code);
  if (failed('NETWORK_FAILURE')) return new DaemonError('signal-cli has no connection to Signal', { isDoubtful: true }, code);
  if (isAboutAccount(code, said)) return new DaemonError('signal-cli cannot use the account', { status: 401, isPassing: true }, code);
  if (code === codes.io) return new DaemonError(said || 'signal-cli has no connection to Signal', {}, code);
  if (code === codes.internal && !/Invalid|TooLarge/.test(said))
    return new DaemonError(said || 'signal-cli failed', { isDoubtful: true }, code);
  return new DaemonError(said || 'signal-cli refuses it', { status: 400 }, code);
}

function isAboutAccount(code: number, said: string): boolean {
  if (code === codes.parameters) return /account/i.test(said);
  return (code === codes.internal || code === codes.io) && /\[40[13]\]|authori[sz]ation failed/i.test(said);
}

function resultsIn(data: unknown): SendResult[] {
  const results = (data as { response?: { results?: unknown } | null } | null | undefined)?.response?.results;
  return Array.isArray(results) ? results.filter((one) => typeof one === 'object' && one !== null) : [];
}

/** Why it does not work, as text for `hermetic status`. */
export function reasonOf({ status, message }: CallError): string {
  if (status === 401) return 'signal-cli cannot use the account: it was removed, or the device is no longer linked.';
  if (status === 429) return 'Signal takes no more messages for now (429).';
  return status === undefined || status === 400 ? `Signal: ${message}.` : `Signal: ${message} (${status}).`;
}

export function failureOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  return channelErrorOf(error, reasonOf(error), { mayRepeat, hint: error.status === 401 ? accountHint : undefined });
}

export function unusable(reason: string, hint = accountHint): HermeticError {
  return new HermeticError('channel/unusable', reason, { hint });
}
