import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { Refusal } from '../refusal.ts';

interface Rule {
  status: number;
  matches: RegExp;
  code: ErrorCode;
  hint?: string;
  retryAfterMs?: number;
}

const dashboard = 'See the dashboard of Daytona.';
const roomMs = 10_000;
const busyMs = 2_000;

/** The first rule that fits decides, so special cases come first. */
const rules: readonly Rule[] = [
  {
    status: 401,
    matches: /^/,
    code: 'backend/not-permitted',
    hint: 'The key in DAYTONA_API_KEY is wrong or has expired. Make a new one in the dashboard of Daytona.',
  },
  { status: 402, matches: /^/, code: 'backend/not-permitted', hint: `The organization has no credit left. ${dashboard}` },
  {
    status: 403,
    matches: /per sandbox|exceeds? (?:the )?max/i,
    code: 'backend/cannot-honour',
    hint: 'Lower terminal.container_cpu, container_memory, container_disk or daytona_max_disk, or ask Daytona for larger sandboxes.',
  },
  {
    status: 403,
    matches: /suspended|depleted|credit|verif/i,
    code: 'backend/not-permitted',
    hint: `The organization may start nothing now. ${dashboard}`,
  },
  {
    status: 403,
    matches: /quota|limit exceeded|limit reached/i,
    code: 'sandbox/no-room',
    hint: 'Wait until another sandbox has stopped, or raise the limits of the organization.',
    retryAfterMs: roomMs,
  },
  {
    status: 403,
    matches: /^/,
    code: 'backend/not-permitted',
    hint: 'Give the API key the permissions write:sandboxes and delete:sandboxes.',
  },
  { status: 404, matches: /^/, code: 'sandbox/not-found' },
  { status: 410, matches: /^/, code: 'sandbox/not-found' },
  {
    status: 400,
    matches: /no available runners|no runners?/i,
    code: 'sandbox/no-room',
    hint: 'Daytona has no room there now. Wait, or set terminal.daytona_target to another region.',
    retryAfterMs: roomMs,
  },
  {
    status: 400,
    matches: /region|target/i,
    code: 'backend/cannot-honour',
    hint: 'Correct terminal.daytona_target or DAYTONA_TARGET.',
  },
  { status: 409, matches: /^/, code: 'sandbox/in-use', hint: 'Its state is being changed. Try again in a moment.', retryAfterMs: busyMs },
  { status: 429, matches: /^/, code: 'backend/not-running', hint: 'Too many requests of this organization.', retryAfterMs: busyMs },
];

const maxQuoted = 500;

/** Security: the text may be that of any server. `retryAfterMs` is its own wish. */
export function refusalError(status: number, text: string, retryAfterMs?: number): HermeticError {
  const message = printable(text).slice(0, maxQuoted);
  const rule = rules.find((candidate) => candidate.status === status && candidate.matches.test(message));
  const isFault = status >= 500;
  return new HermeticError(
    rule?.code ?? (isFault ? 'backend/not-running' : 'sandbox/open-failed'),
    `Daytona refused: ${message || 'it gave no reason'} (HTTP status ${status}).`,
    {
      hint: rule?.hint ?? (isFault ? 'The service has a fault. Try again later.' : undefined),
      retryAfterMs: retryAfterMs ?? rule?.retryAfterMs ?? (isFault ? busyMs : undefined),
      cause: new Refusal(status, message),
    },
  );
}

/** The answer did not arrive, so the request may have had its effect or not. */
export function noAnswerError(where: string, why: string): HermeticError {
  return new HermeticError('backend/not-running', `Daytona at ${where} does not answer (${printable(why).slice(0, maxQuoted)}).`, {
    hint: 'Is it up, and is this its address? See DAYTONA_API_URL.',
    retryAfterMs: busyMs,
  });
}

/** Something answers that is not the API, or a version of it that we do not know. */
export function strangeAnswerError(where: string, what: string): HermeticError {
  return new HermeticError('backend/unavailable', `What answers at ${where} is not the API of Daytona: ${what}.`, {
    hint: 'Correct DAYTONA_API_URL. It ends with /api, for example https://app.daytona.io/api.',
  });
}
