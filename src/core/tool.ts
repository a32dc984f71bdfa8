import type { ZodType } from 'zod';
import type { Action } from './approval.ts';
import type { Connections } from './egress.ts';
import type { ExecHandle, ExecRequest, Sandbox, SessionMeaning } from './sandbox.ts';

/** The result of a tool: data that JSON can carry. */
export type Output = Readonly<Record<string, unknown>>;

/** Hints about a tool for a model, in the words of the Model Context Protocol. */
export interface ToolHints {
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  openWorld: boolean;
}

/** A time limit. */
export interface Clock {
  /** Calls this once, after the time. */
  start(ms: number, onTime: () => void): void;
  stop(): void;
}

/** A command of a call. */
export interface CallHandle extends ExecHandle {
  /** For `run`: stands still while a person decides about one of its connections. */
  readonly clock: Clock;
  /** Its processes go on after the call: its connections are written into the log by `note`, and not at the end of the call. */
  keep(): void;
  /** All connections since it began, for the log. Only the first call counts. */
  note(connections: Connections): void;
  /**
   * The sentence of the result about the network, for a command that has ended; undefined when a rule allowed every connection and all succeeded.
   * Where `hasFailed`, waits for the answers to questions that the command itself did not wait for, so that the result says whether to try again.
   */
  networkNote(hasFailed: boolean): Promise<string | undefined>;
}

/**
 * The sandbox of a session for one call. Security: bound to the permission of the call. A command starts only while the session is what it was when
 * the call was allowed; otherwise `sandbox/changed` is thrown, nothing is run, and the call is judged again if it has run nothing before. Only a
 * `plain` command with an absolute `cwd` always starts, because nothing of the session changes its meaning.
 */
export interface CallSandbox extends SessionMeaning, Pick<Sandbox, 'name'> {
  exec(request: Omit<ExecRequest, 'onlyIf' | 'askToConnect'>): Promise<CallHandle>;
}

/** Passed to a tool for one call. */
export interface ToolContext {
  readonly sandbox: CallSandbox;
  /** Ends the call: everything it runs inside is dead when it returns. */
  readonly signal: AbortSignal;
  /** The most bytes of text a result should carry. */
  readonly maxBytes: number;
  /** Reports progress to people who watch. Clean text in pieces, redacted before it is shown. */
  progress(text: string): void;
  /**
   * Takes secrets out of a text before it is cut, for half of one is not known as one. What the tool gives back is redacted anyway. Gives a text as it is to
   * the receiver of the raw result.
   */
  redact(this: void, text: string): string;
  /** Calls another tool by the same door, with the same guard, until the same end or an earlier one. For scripts that call tools. */
  call(name: string, input: unknown, until?: AbortSignal): Promise<ToolResult>;
}

/** A call that could be made, and what it would do. Nothing has happened yet. */
export interface Prepared<Result> {
  actions: readonly Action[];
  run(context: ToolContext): Promise<Result>;
  /** Without it, a call with a result is done. */
  outcome?(result: Result): CallOutcome;
}

/** A tool of any input and output. */
interface ToolFace {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For models: what it does, when to use it, what comes back. */
  readonly description: string;
  readonly hints: ToolHints;
  /** Whether a script may call it. */
  readonly forScripts: boolean;
}

/**
 * Something a model can do with the sandbox of its session, as its author writes it down. A tool neither judges nor asks, neither hides
 * secrets nor cuts what is too long for everybody: the toolbox does. It throws `HermeticError` for what the model can do something about;
 * message and hint become the result.
 */
export interface ToolDefinition<Input, Result extends Output> extends ToolFace {
  readonly input: ZodType<Input>;
  readonly output: ZodType<Result>;
  prepare(input: Input, session: SessionMeaning): Prepared<Result>;
  /** The result as a model reads it. */
  render(result: Result): string;
}

/** A tool of any kind. */
export interface Tool extends ToolFace {
  readonly input: ZodType;
  readonly output: ZodType;
  /** Throws `tool/bad-input` with everything that is wrong. */
  prepare(input: unknown, session: SessionMeaning): Prepared<ToolAnswer>;
}

/** Why a call came to nothing. */
export type ToolFailure = 'unknown-tool' | 'bad-input' | 'denied' | 'failed' | 'interrupted';

/**
 * How a call ended, for people who watch. `done`: it succeeded. `answered`: that is not known, because its process
 * goes on, or the exit code is an answer, such as "no line matched".
 */
export interface CallOutcome {
  kind: 'done' | 'failed' | 'answered';
  exitCode?: number | undefined;
  /** Why it failed, where no exit code says it. */
  reason?: ToolFailure | 'signaled' | 'timeout' | 'lost' | undefined;
}

/** The result of a tool. Without an outcome the call is done. */
export interface ToolAnswer {
  data: Output;
  text: string;
  outcome?: CallOutcome | undefined;
}

/** A call always has one; it never throws. */
export type ToolResult = ({ ok: true } & ToolAnswer) | { ok: false; text: string; failure: ToolFailure };

export function outcomeOf(result: ToolResult): CallOutcome {
  return result.ok ? (result.outcome ?? { kind: 'done' }) : { kind: 'failed', reason: result.failure };
}
