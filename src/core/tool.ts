import type { ZodType } from 'zod';
import type { Action } from './approval.ts';
import type { ConnectionAsker, Connections } from './egress.ts';
import type { Sandbox, SessionMeaning } from './sandbox.ts';

/** The result of a tool: data that JSON can carry. */
export type Output = Readonly<Record<string, unknown>>;

/** Hints about a tool for a model, in the words of the Model Context Protocol. */
export interface ToolHints {
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  openWorld: boolean;
}

/** Passed to a tool for one call. */
export interface ToolContext {
  readonly sandbox: Sandbox;
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
  /**
   * Security: whether a session is still what it was when the call was allowed. Belongs into the request for the allowed action; the call is
   * judged again when it is not.
   */
  isAsAllowed(session: SessionMeaning): boolean;
  /** Decides about connections that no rule of a restricted network allows; undefined where people cannot be asked about them. */
  readonly askToConnect: ConnectionAsker | undefined;
  /** Told of the connections of a command that the call has run, for the log. */
  connected(connections: Connections): void;
  /** Calls another tool by the same door, with the same guard, until the same end or an earlier one. For scripts that call tools. */
  call(name: string, input: unknown, until?: AbortSignal): Promise<ToolResult>;
}

/** A call that could be made, and what it would do. Nothing has happened yet. */
export interface Prepared<Result> {
  actions: readonly Action[];
  run(context: ToolContext): Promise<Result>;
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
  prepare(input: Input, sandbox: Sandbox): Prepared<Result>;
  /** The result as a model reads it. */
  render(result: Result): string;
}

/** A tool of any kind. */
export interface Tool extends ToolFace {
  readonly input: ZodType;
  readonly output: ZodType;
  /** Throws `tool/bad-input` with everything that is wrong. */
  prepare(input: unknown, sandbox: Sandbox): Prepared<{ data: Output; text: string }>;
}

/** Why a call came to nothing. */
export type ToolFailure = 'unknown-tool' | 'bad-input' | 'denied' | 'failed' | 'interrupted';

/** A call always has one; it never throws. */
export type ToolResult = { ok: true; text: string; data: Output } | { ok: false; text: string; failure: ToolFailure };
