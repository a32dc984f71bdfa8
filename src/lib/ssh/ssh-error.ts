/**
 * Why there is no connection, or none any more. `unreachable`, `silent` and `lost` may be over in a moment, and `token` with another one; the others
 * stay until a person changes something. `full`: the server starts no further command on this connection.
 */
export type SshFailure =
  | 'unreachable'
  | 'silent'
  | 'lost'
  | 'token'
  | 'full'
  | 'refused'
  | 'no-ssh'
  | 'host-key'
  | 'authentication'
  | 'key-file';

export class SshError extends Error {
  override readonly name = 'SshError';
  readonly kind: SshFailure;
  /** The remedy, as a sentence. */
  readonly hint: string;

  constructor(kind: SshFailure, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.hint = hint;
  }

  /** Whether the same may work a moment later. */
  get isPassing(): boolean {
    return this.kind === 'unreachable' || this.kind === 'silent' || this.kind === 'lost' || this.kind === 'token';
  }
}
