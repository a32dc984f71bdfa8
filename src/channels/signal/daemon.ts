export interface CallOptions {
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** The largest answer. */
  maxBytes?: number;
}

export interface EventParts {
  /** What is delivered comes after this event, as far as the daemon remembers; undefined: only what happens from now on. */
  after: string | undefined;
  signal: AbortSignal;
  onOpen(): void;
  /** `id` is undefined where the daemon gives none. Must not throw. */
  onEvent(content: string, id: string | undefined): void;
}

/** The signal-cli that the user runs. Failures are `CallError`, or the reason of the signal. */
export interface Daemon {
  /** The result of a method, for our account. */
  call(method: string, params: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
  /** Hands over what arrives, until the connection ends or the signal is given. */
  serveEvents(parts: EventParts): Promise<void>;
}

/** In the place of an event that is not kept in memory. It cannot be read, and is set aside as such. */
export const tooLargeEvent = 'an event that is too large';

/** How long a call may take when nothing else is said: a message to a group is sent to everybody in it. */
export const callMs = 60_000;
