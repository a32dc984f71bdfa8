import { HermeticError } from '../core/errors.ts';
import type { Check } from '../core/sandbox.ts';
import { errorText } from '../lib/error-text.ts';

/** The answer of a check that failed with this error. `otherwise` is the remedy where the error has none. */
export function failedCheck(error: unknown, otherwise: string): Check {
  const failure = error instanceof HermeticError ? error : undefined;
  const reason = errorText(error);
  const fix = failure?.hint ?? otherwise;
  switch (failure?.code) {
    case 'backend/not-installed':
    case 'backend/not-running':
    case 'backend/not-permitted':
      return { usable: false, code: failure.code, reason, fix };
    default:
      return { usable: false, code: 'backend/unavailable', reason, fix };
  }
}
