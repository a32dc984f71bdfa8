import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { SshError, type SshFailure } from '../../lib/ssh/ssh-error.ts';

type Code = Extract<ErrorCode, 'backend/not-running' | 'backend/not-permitted' | 'backend/unavailable'>;

const codes: Readonly<Record<SshFailure, Code>> = {
  unreachable: 'backend/not-running',
  silent: 'backend/not-running',
  lost: 'backend/not-running',
  token: 'backend/not-permitted',
  'no-ssh': 'backend/not-running',
  full: 'backend/unavailable',
  refused: 'backend/not-permitted',
  'host-key': 'backend/not-permitted',
  authentication: 'backend/not-permitted',
  'key-file': 'backend/not-permitted',
};

/** Settles as `work` does, with failures of the connection as errors of ours. */
export async function explained<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SshError)) throw error;
    throw new HermeticError(codes[error.kind], error.message, { hint: error.hint, cause: error });
  }
}
