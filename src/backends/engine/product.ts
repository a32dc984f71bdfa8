/** A program that makes containers and has the API of Docker, in words for people. */
export interface EngineProduct {
  /** The kind of its backend: also its program, and the beginning of its settings. */
  readonly kind: string;
  readonly name: string;
  /** What to do where it is not installed. */
  readonly install: string | undefined;
  /** What to do where it does not run. */
  readonly start: string | undefined;
  /** What to do where this user may not use its socket. */
  readonly permit: string;
  /** The oldest version that has the API that is used here. */
  readonly oldest: string;
}
