import { HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { CallError, type CallFacts, channelErrorOf, connectionError } from '../call-error.ts';

const tokenHint =
  'Make a permanent token of a system user with the permission whatsapp_business_messaging, and put it into the variable named by whatsapp_cloud.token_env.';

/** A call that failed. `code` is the number by which Meta names the reason. */
export class GraphError extends CallError {
  readonly code: number | undefined;

  constructor(message: string, facts: CallFacts, code?: number) {
    super(message, facts);
    this.code = code;
  }
}

/** Too many messages to one person. */
const pairRateCode = 131_056;
/** Too much, too often. */
const rateCodes: ReadonlySet<number> = new Set([4, 80_007, 130_429, 131_048, pairRateCode, 133_016]);
/** Meta's own trouble. */
const outageCodes: ReadonlySet<number> = new Set([2, 131_000, 131_016, 131_057, 133_004]);
/** The token, its rights, and the account: no fault of a message. */
const accountCodes: ReadonlySet<number> = new Set([0, 3, 10, 190, 368, 131_005, 131_031, 131_042, 131_045, 133_010]);

const words: ReadonlyMap<number, string> = new Map([
  [0, 'the token is not accepted'],
  [190, 'the token is not accepted'],
  [10, 'the token lacks the permission whatsapp_business_messaging'],
  [368, 'the account is blocked for breaking the rules'],
  [131_026, 'the message cannot be delivered to this person'],
  [131_030, 'this number is not on the list of recipients of the test number'],
  [131_031, 'the account is locked'],
  [131_042, 'the account has no valid way to pay'],
  [131_047, 'more than 24 hours have passed since this person last wrote, and until they write again nothing can be sent to them'],
  [131_056, 'too many messages to this person'],
  [133_010, 'the phone number is not registered'],
]);

function isPermissionCode(code: number): boolean {
  return code >= 200 && code <= 299;
}

/** Whether the token or the number is wrong, so that nothing will ever work. */
export function isWrongCredential({ status, code = -1 }: GraphError): boolean {
  return status === 401 || [0, 10, 33, 100, 190].includes(code) || isPermissionCode(code);
}

export interface GraphAnswer {
  status: number;
  headers: Headers;
  /** What the answer says, when it is JSON. */
  body: unknown;
}

/** An answer that is not what was asked for. Security: nothing of it is kept but what is known, without the token. */
export function answerError({ status, headers, body }: GraphAnswer, token: string): GraphError {
  const { code, message, error_data: data } = errorIn(body);
  if (code === undefined) {
    // Of a proxy that did not wait for the end, it is unknown what became of it.
    return new GraphError(`the answer ${status}`, { status, isPassing: status === 401, isDoubtful: status === 504, ...waiting(headers) });
  }
  const said = [message, data?.details].filter((part) => typeof part === 'string' && part !== '').join(': ');
  const clean = printable(said.replaceAll(token, '…')).slice(0, 300);
  const known = words.get(code) ?? (clean === '' ? 'an error' : clean);
  const kind = rateCodes.has(code) ? 429 : outageCodes.has(code) ? 503 : status;
  const isPassing = accountCodes.has(code) || isPermissionCode(code);
  return new GraphError(known, { status: kind, isPassing, isOfPlace: code === pairRateCode, ...waiting(headers) }, code);
}

interface SaidError {
  code?: number;
  message?: unknown;
  error_data?: { details?: unknown } | undefined;
}

function errorIn(body: unknown): SaidError {
  const error = (body as { error?: unknown } | null | undefined)?.error as SaidError | null | undefined;
  return error && Number.isSafeInteger(error.code) ? error : {};
}

const maxWaitMs = 86_400_000;

/** How long to wait, as far as Meta says so. */
function waiting(headers: Headers): { retryAfterMs?: number } {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  if (seconds > 0) return { retryAfterMs: Math.min(seconds * 1000, maxWaitMs) };
  // For each account: {"4711": [{"estimated_time_to_regain_access": minutes}]}.
  const minutes = [...(headers.get('x-business-use-case-usage') ?? '').matchAll(/"estimated_time_to_regain_access":\s*(\d{1,6})/g)];
  const longest = Math.max(0, ...minutes.map(([, number]) => Number(number)));
  return longest > 0 ? { retryAfterMs: Math.min(longest * 60_000, maxWaitMs) } : {};
}

/** Security: errors of `fetch` may have the header with the token in them. */
export function callErrorOf(error: unknown): CallError {
  return error instanceof CallError ? error : connectionError(error);
}

/** Why it does not work, as text for `hermetic status`. */
export function reasonOf(error: CallError): string {
  const { message, status } = error;
  const number = (error instanceof GraphError ? error.code : undefined) ?? status;
  return `WhatsApp Cloud: ${message}${number === undefined || message.endsWith(String(number)) ? '' : ` (${number})`}.`;
}

export function failureOf(error: unknown, mayRepeat: boolean): unknown {
  if (!(error instanceof CallError)) return error;
  const hint = error instanceof GraphError && error.isPassing ? tokenHint : undefined;
  return channelErrorOf(error, reasonOf(error), { mayRepeat, hint });
}

export function unusable(reason: string, hint = tokenHint): HermeticError {
  return new HermeticError('channel/unusable', reason, { hint });
}

/** What Meta says about a message that it took and could not deliver. */
export function undelivered(code: unknown, title: unknown): string {
  const number = Number.isSafeInteger(code) ? (code as number) : undefined;
  const known = number === undefined ? undefined : words.get(number);
  const said = known ?? (typeof title === 'string' ? printable(title).slice(0, 200) : 'no reason given');
  return `WhatsApp Cloud did not deliver a message: ${said}${number === undefined ? '' : ` (${number})`}.`;
}

export function tooOld(days: number): string {
  return `WhatsApp Cloud delivered a message that was sent more than ${days} days ago, or the clock of this machine is wrong. Such messages are dropped, because an old delivery may be a replay.`;
}
