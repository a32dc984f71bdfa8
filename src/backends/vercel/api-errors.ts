import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { Refusal, refusedStatus } from '../refusal.ts';

interface Rule {
  status: number;
  matches?: RegExp;
  code: ErrorCode;
  hint?: string;
  retryAfterMs?: number;
}

const roomMs = 10_000;
const busyMs = 2_000;
const settings = 'Vercel does not take a sandbox with these settings. See terminal.vercel_* and terminal.container_*.';

/** The first rule that fits decides, so special cases come first. */
const rules: readonly Rule[] = [
  { status: 400, matches: /image|repository|manifest/i, code: 'sandbox/no-image', hint: 'Change terminal.vercel_image.' },
  {
    status: 400,
    matches: /timeout|duration/i,
    code: 'backend/cannot-honour',
    hint: 'The plan of the Vercel team does not let a sandbox run for so long. It is stopped, and brought back when it is needed.',
  },
  { status: 400, code: 'backend/cannot-honour', hint: settings },
  {
    status: 401,
    code: 'backend/not-permitted',
    hint: 'The token is wrong or has expired. Make another at vercel.com/account/tokens and set VERCEL_TOKEN.',
  },
  {
    status: 402,
    code: 'backend/not-permitted',
    hint: 'The plan of the Vercel team does not cover it: what it includes is used up, or a payment is missing. See the usage page of the team.',
  },
  {
    status: 403,
    code: 'backend/not-permitted',
    hint: 'The token may not use this team or project. See VERCEL_TEAM_ID and VERCEL_PROJECT_ID, and the scope of the token.',
  },
  { status: 404, code: 'sandbox/not-found' },
  { status: 409, code: 'sandbox/in-use', hint: 'Another program has made, changed or removed it meanwhile.' },
  { status: 410, matches: /snapshot/i, code: 'sandbox/not-found', hint: 'The snapshot with its files has expired or was deleted.' },
  { status: 410, code: 'sandbox/lost' },
  { status: 422, matches: /stopp|snapshotting/i, code: 'sandbox/lost' },
  { status: 422, code: 'backend/cannot-honour', hint: settings },
  {
    status: 429,
    matches: /concurren|quota|too many sandboxes|vcpu/i,
    code: 'sandbox/no-room',
    hint: 'Wait until another sandbox has ended, or raise the limits of the Vercel team.',
    retryAfterMs: roomMs,
  },
  { status: 429, code: 'backend/not-running', hint: 'Vercel takes no more requests for a while.', retryAfterMs: busyMs },
];

const maxQuoted = 1_000;
/** A wish for longer is not believed. */
const maxRetrySeconds = 3_600;

/** `text` is an error object of the API, or the text of what stands between us and it. */
export function refusalError(status: number, text: string, retryAfter?: string): HermeticError {
  const { code: name, message } = partsOf(text);
  const said = printable(message || text.replace(/<[^>]*>/g, ' ')).slice(0, maxQuoted);
  const isFailing = status >= 500;
  const rule = rules.find((candidate) => candidate.status === status && (candidate.matches?.test(`${name} ${message}`) ?? true));
  const seconds = Number(retryAfter);
  return new HermeticError(
    rule?.code ?? (isFailing ? 'backend/not-running' : 'sandbox/open-failed'),
    `Vercel refused: ${said || `HTTP status ${status}`}`,
    {
      hint: rule?.hint ?? (isFailing ? 'Vercel does not work as it should. See vercel-status.com.' : undefined),
      retryAfterMs: seconds > 0 && seconds <= maxRetrySeconds ? seconds * 1000 : (rule?.retryAfterMs ?? (isFailing ? busyMs : undefined)),
      cause: new Refusal(status, said),
    },
  );
}

function partsOf(text: string): { code: string; message: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    return { code: String(error?.code ?? ''), message: String(error?.message ?? '') };
  } catch {
    return { code: '', message: '' };
  }
}

/** Whether a request is worth another try. A machine that is gone refuses for ever. */
export function mayPass(error: unknown): boolean {
  return (refusedStatus(error) ?? 500) >= 429;
}

/** The connection failed, so a request under way may have had its effect or not. */
export function connectionError(error: unknown, where: string): HermeticError {
  return new HermeticError('backend/not-running', `Vercel does not answer at ${where} (${printable(errorText(error))}).`, {
    hint: 'Is there a way to the internet from here? See vercel-status.com.',
    retryAfterMs: busyMs,
    cause: error,
  });
}

export function lateError(what: string, ms: number): HermeticError {
  return new HermeticError('backend/not-running', `Vercel did not ${what} within ${ms / 1000} s.`, {
    hint: 'Vercel is slow or not reachable. See vercel-status.com.',
    retryAfterMs: busyMs,
  });
}

export function senselessError(cause: unknown): HermeticError {
  return new HermeticError('backend/unavailable', 'Vercel answered with something that is no answer.', { cause });
}
