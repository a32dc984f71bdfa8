import type { ZodType } from 'zod';
import type { Action } from './approval.ts';
import type { Sandbox } from './sandbox.ts';

/** What a tool gives back: data that JSON can carry. */
export type Output = Readonly<Record<string, unknown>>;

/** What anybody who offers tools to a model says about them; the words are those of the Model Context Protocol. */
export interface ToolHints {
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  openWorld: boolean;
}

/** What a tool has to work with during one call. */
export interface ToolContext {
  readonly sandbox: Sandbox;
  /** Ends the call: whatever it runs inside is dead when it returns. */
  readonly signal: AbortSignal;
  /** The most bytes of text a result should carry. */
  readonly mostBytes: number;
  /** What happens meanwhile, for whoever watches. Clean text in pieces, already safe to show. */
  progress(text: string): void;
  /** Calls another tool by the same door, with the same guard and until the same end. For scripts that call tools. */
  call(name: string, input: unknown): Promise<ToolResult>;
}

/** A call that could be made, and what it would do. */
export interface Prepared<Result extends Output = Output> {
  actions: readonly Action[];
  run(context: ToolContext): Promise<Result>;
}

/**
 * Something a model can do with the sandbox of its session. A tool neither judges nor asks, neither cuts nor hides: `Toolbox` does, for all.
 * Throw `HermeticError` for what the model can do something about; its message and hint become the result.
 */
export interface Tool<Input = never, Result extends Output = Output> {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For models: what it does, when to use it, what comes back. */
  readonly description: string;
  readonly input: ZodType<Input>;
  readonly output: ZodType<Result>;
  readonly hints: ToolHints;
  /** Whether a script may call it. */
  readonly forScripts: boolean;
  /** Nothing has happened yet when this returns. */
  prepare(input: Input, sandbox: Sandbox): Prepared<Result>;
  /** The result as a model reads it. */
  render(result: Result): string;
}

/** Why a call came to nothing. */
export type ToolFailure = 'unknown-tool' | 'bad-input' | 'denied' | 'failed' | 'interrupted';

/** A call always has one; it never throws. */
export type ToolResult = { ok: true; text: string; data: Output } | { ok: false; text: string; failure: ToolFailure };
