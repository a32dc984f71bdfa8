import { HermeticError } from '../core/errors.ts';
import type { Check } from '../core/sandbox.ts';
import { errorText } from '../lib/error-text.ts';

/** The answer of a check that failed with this. `otherFix` is for an error that has no hint. */
export function failedCheck(error: unknown, otherFix: string): Check {
  const failure = error instanceof HermeticError ? error : undefined;
  const reason = errorText(error);
  const fix = failure?.hint ?? otherFix;
  switch (failure?.code) {
    case 'backend/not-installed':
    case 'backend/not-running':
    case 'backend/not-permitted':
      return { usable: false, code: failure.code, reason, fix };
    default:
      return { usable: false, code: 'backend/unavailable', reason, fix };
  }
}
