import type { Readable, Writable } from 'node:stream';

/** A command that runs in a sandbox, reached by its three streams. */
export interface AttachedCommand {
  /** `end` half-closes: the command sees the end of its input and can go on talking. Never emits an unheard error. */
  readonly stdin: Writable;
  /** They end when everything that had them open is gone, and fail when the connection is cut. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Asked when both have ended; undefined when nobody knows. */
  exitCode(): Promise<number | undefined>;
  /** Whether the program stays for it. */
  ref(): void;
  unref(): void;
  /** Lets go. As long as the command runs, it and what it started can go on printing without harm. */
  destroy(): void;
}

/** Starts an argument vector in a sandbox. A command that may have started is never started again. */
export type Attach = (command: readonly string[]) => Promise<AttachedCommand>;
