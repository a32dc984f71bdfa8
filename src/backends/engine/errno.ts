import { HermeticError } from '../../core/errors.ts';

/** The system's code (ENOENT, EACCES, …) of an error or of what caused it. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) {
    return undefined;
  }
  const code = (error as NodeJS.ErrnoException).code;
  if (typeof code === 'string' && !(error instanceof HermeticError)) {
    return code;
  }
  return errnoOf(error.cause);
}
