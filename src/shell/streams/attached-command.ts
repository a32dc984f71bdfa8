import type { Readable, Writable } from 'node:stream';

/** A command that runs in a sandbox, reached by its three streams. */
export interface AttachedCommand {
  /** `end` half-closes: the command sees the end of its input and can go on talking. Never emits an unheard error. */
  readonly stdin: Writable;
  /** They end when everything that had them open is gone, and fail when the connection is cut. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Call it when both have ended; undefined when unknown. */
  exitCode(): Promise<number | undefined>;
  /** Whether it keeps the program running. */
  ref(): void;
  unref(): void;
  /** Detaches. The command and its processes may go on printing. */
  destroy(): void;
}

/** Starts an argument vector in a sandbox. A command that may have started is never started again. */
export type Attach = (command: readonly string[]) => Promise<AttachedCommand>;
