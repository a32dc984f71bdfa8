import { HermeticError } from '../core/errors.ts';

export interface CallFacts {
  /** As the platform said it; undefined when it said nothing. */
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  /** It takes no more at this place, and elsewhere it may. */
  isOfPlace?: boolean;
  /** The platform may have done what it was asked to do. */
  isDoubtful?: boolean;
  /** It is not the fault of what was asked for, such as a wrong token. */
  isPassing?: boolean;
}

/** A call to a platform that failed, without anything secret. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isOfPlace: boolean;
  readonly isDoubtful: boolean;
  readonly isPassing: boolean;

  constructor(message: string, { status, retryAfterMs, isOfPlace = false, isDoubtful = false, isPassing = false }: CallFacts = {}) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isOfPlace = isOfPlace;
    this.isDoubtful = isDoubtful;
    this.isPassing = isPassing;
  }

  /** It will not be done, however often it is asked for. */
  get isRefused(): boolean {
    const { status, isPassing } = this;
    return status !== undefined && status >= 400 && status < 500 && status !== 429 && !isPassing;
  }
}

/** Errors of the system that mean that nothing of a request was sent. */
const neverConnected: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** A failure below the words of the platform. Security: nothing of the error is kept but its code. */
export function connectionError(error: unknown): CallError {
  const codes = causes(error).map((one) => (one as { code?: unknown }).code);
  const code = codes.find((one) => typeof one === 'string' && /^[A-Z_]{1,40}$/.test(one)) as string | undefined;
  const isTooLate = causes(error).some(({ name }) => name === 'AbortError' || name === 'TimeoutError');
  if (isTooLate) return new CallError('no answer in time', { isDoubtful: true });
  return new CallError(`no connection${code === undefined ? '' : ` (${code})`}`, {
    isDoubtful: code !== undefined && !neverConnected.has(code),
  });
}

function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let one = error; one instanceof Error && found.length < 8; one = one.cause) found.push(one);
  return found;
}

/** For `send`, `edit` and `fetchFile`: whether it makes sense to try again. `mayRepeat`: doing it twice does no harm. */
export function channelErrorOf(error: CallError, sentence: string, { mayRepeat, hint }: { mayRepeat: boolean; hint?: string | undefined }) {
  const { retryAfterMs, isOfPlace, isDoubtful, isRefused } = error;
  if (isRefused) return new HermeticError('channel/refused', sentence);
  if (isDoubtful && !mayRepeat) return new HermeticError('channel/unanswered', sentence);
  return new HermeticError('channel/busy', sentence, { retryAfterMs, isOfPlace, hint });
}
