import { HermeticError } from '../core/errors.ts';

/** The answer of a server that refused a request. It is the `cause` of the HermeticError that callers see. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The status of the server's answer; undefined for any other error. */
export function refusedStatus(error: unknown): number | undefined {
  return error instanceof HermeticError && error.cause instanceof Refusal ? error.cause.status : undefined;
}
