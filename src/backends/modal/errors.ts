import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { Refusal, refusedStatus } from '../refusal.ts';

/** Of gRPC. */
const statuses = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

interface Rule {
  status?: number;
  matches?: RegExp;
  code: ErrorCode;
  hint: string;
  retryAfterMs?: number;
}

const roomMs = 15_000;
const busyMs = 2_000;

/** The first rule that fits decides, so special cases come first. */
const rules: readonly Rule[] = [
  {
    status: statuses.unauthenticated,
    code: 'backend/not-permitted',
    hint: 'Set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET to a token that is valid (modal token new).',
  },
  {
    matches: /message larger than max/i,
    code: 'backend/unavailable',
    hint: 'Is MODAL_SERVER_URL the address of Modal?',
  },
  {
    matches: /spend limit|billing|payment|credits? (?:exhausted|limit)|budget/i,
    code: 'backend/not-permitted',
    hint: 'See the billing page of the workspace at Modal.',
  },
  {
    status: statuses.permissionDenied,
    code: 'backend/not-permitted',
    hint: 'The token may not do this. See its rights, and MODAL_ENVIRONMENT.',
  },
  {
    status: statuses.resourceExhausted,
    code: 'sandbox/no-room',
    hint: 'A limit of the workspace at Modal is reached. Wait until another sandbox has ended.',
    retryAfterMs: roomMs,
  },
  {
    status: statuses.notFound,
    matches: /environment/i,
    code: 'backend/unavailable',
    hint: 'See MODAL_ENVIRONMENT and modal environment list.',
  },
  { status: statuses.notFound, code: 'sandbox/not-found', hint: 'Modal has removed it.' },
  { status: statuses.failedPrecondition, code: 'sandbox/lost', hint: 'The sandbox has ended at Modal, or is about to.' },
  {
    status: statuses.invalidArgument,
    code: 'backend/cannot-honour',
    hint: 'Modal does not take a sandbox with these settings. See terminal.modal_* and terminal.container_*.',
  },
  {
    status: statuses.unimplemented,
    code: 'backend/unavailable',
    hint: 'Is MODAL_SERVER_URL the address of Modal? If it is, Modal has changed what it understands.',
  },
  ...[statuses.unavailable, statuses.internal, statuses.deadlineExceeded].map(
    (status): Rule => ({
      status,
      code: 'backend/not-running',
      hint: 'Modal has a problem, or is not reachable from here. Try again.',
      retryAfterMs: busyMs,
    }),
  ),
];

const maxQuoted = 1_000;

/** Any error of the package, in words. Security: text of a server is data, and may be long. */
export function modalError(error: unknown): HermeticError {
  if (error instanceof HermeticError) return error;
  const { status, details } = grpcErrorOf(error);
  const message = printable(details).slice(0, maxQuoted);
  if (status === undefined) {
    return new HermeticError('backend/unavailable', `The package modal failed: ${message}`, { cause: error });
  }
  const rule = rules.find(
    (candidate) => (candidate.status ?? status) === status && (candidate.matches === undefined || candidate.matches.test(message)),
  );
  return new HermeticError(rule?.code ?? 'sandbox/open-failed', `Modal refused: ${message || `gRPC status ${status}`}`, {
    hint: rule?.hint,
    retryAfterMs: rule?.retryAfterMs,
    cause: new Refusal(status, message),
  });
}

/** The package has errors of its own for some answers. */
const statusByName: Readonly<Record<string, number>> = {
  NotFoundError: statuses.notFound,
  ConflictError: statuses.failedPrecondition,
  ClientClosedError: statuses.unavailable,
  ResourceExhaustedError: statuses.resourceExhausted,
  TimeoutError: statuses.deadlineExceeded,
  InvalidError: statuses.invalidArgument,
};

function grpcErrorOf(error: unknown): { status: number | undefined; details: string } {
  if (!(error instanceof Error)) return { status: undefined, details: errorText(error) };
  if ('code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string') {
    return { status: error.code, details: error.details };
  }
  return { status: statusByName[error.name], details: error.message };
}

/** Whether the server said that there is no such thing. */
export function isMissing(error: unknown): boolean {
  const status = refusedStatus(error);
  // An image that is not there any more.
  return status === statuses.notFound || (status === statuses.failedPrecondition && /could not find/i.test(errorText(error)));
}
