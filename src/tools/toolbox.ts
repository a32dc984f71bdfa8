import type { Guard } from '../core/approval.ts';
import { HermeticError } from '../core/errors.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { Output, Prepared, Tool, ToolContext, ToolFailure, ToolResult } from '../core/tool.ts';
import { nearest } from '../lib/nearest.ts';
import { LiveText } from './live-text.ts';

export interface ToolboxOptions {
  tools: readonly Tool[];
  /** Of the one session these tools work for. */
  sandbox: Sandbox;
  guard: Guard;
  /** Takes secrets out of a text. */
  redact(text: string): string;
  /** The most bytes of text a result should carry. */
  mostBytes: number;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  progress?: ((text: string) => void) | undefined;
}

/** Some tools put a frame around what they print; nothing they return is longer than this many times the limit. */
const leeway = 2;

/**
 * The only door to a sandbox for whatever a model decides: checks the input, asks whether the actions may happen, runs, cuts and takes
 * secrets out. The same for the agent, for scripts and for other people's agents, so there is no way around any of it.
 */
export class Toolbox {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly #options: ToolboxOptions;

  constructor(options: ToolboxOptions) {
    this.tools = new Map(options.tools.map((tool) => [tool.name, tool]));
    this.#options = options;
  }

  /** Never rejects. */
  async call(name: string, input: unknown, { signal = new AbortController().signal, progress }: CallOptions = {}): Promise<ToolResult> {
    const tool = this.tools.get(name);
    if (!tool) return this.#failed('unknown-tool', this.#unknown(name));
    let prepared: Prepared<{ data: Output; text: string }>;
    try {
      prepared = tool.prepare(input, this.#options.sandbox);
    } catch (error) {
      return this.#failed('bad-input', messageOf(error));
    }
    if (signal.aborted) return this.#failed('interrupted', 'Interrupted before it began. Nothing was run.');
    const refusal = await this.#refusal(prepared, signal);
    if (refusal !== undefined) return this.#failed('denied', refusal);
    if (signal.aborted) return this.#failed('interrupted', 'Interrupted before it began. Nothing was run.');
    return await this.#run(prepared, signal, progress);
  }

  #unknown(name: string): string {
    const names = [...this.tools.keys()];
    const meant = nearest(name, names);
    return `There is no tool called ${JSON.stringify(name)}. ${meant ? `Did you mean ${meant}? ` : ''}There are: ${names.join(', ')}.`;
  }

  /** Security: whatever goes wrong while judging or asking means no. */
  async #refusal({ actions }: Prepared<unknown>, signal: AbortSignal): Promise<string | undefined> {
    if (actions.length === 0) return undefined;
    try {
      const permission = await this.#options.guard(actions, signal);
      return permission.allowed === true ? undefined : permission.reason;
    } catch (error) {
      return `It was not run, because nobody could decide whether it may: ${messageOf(error)}`;
    }
  }

  async #run(prepared: Prepared<{ data: Output; text: string }>, signal: AbortSignal, progress: CallOptions['progress']) {
    const { sandbox, mostBytes, redact } = this.#options;
    const live = new LiveText(redact, progress ?? (() => undefined));
    const context: ToolContext = {
      sandbox,
      signal,
      mostBytes,
      progress: (text) => live.push(text),
      call: (name, input) => this.call(name, input, { signal, progress }),
    };
    try {
      const { data, text } = await prepared.run(context);
      live.end();
      return { ok: true, text: this.#cut(redact(text)), data: redactAll(data, redact) as Output } as const;
    } catch (error) {
      live.end();
      return this.#failed(signal.aborted ? 'interrupted' : 'failed', messageOf(error));
    }
  }

  #cut(text: string): string {
    const most = this.#options.mostBytes * leeway;
    if (text.length <= most) return text;
    return `${text.slice(0, most / 2)}\n[${text.length - most} characters left out]\n${text.slice(-most / 2)}`;
  }

  #failed(failure: ToolFailure, message: string): ToolResult {
    return { ok: false, failure, text: this.#cut(this.#options.redact(message)) };
  }
}

function messageOf(error: unknown): string {
  if (error instanceof HermeticError) return error.hint ? `${error.message} ${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}

/** Names stay: only what a tool has read or printed can hold a secret. */
function redactAll(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactAll(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactAll(item, redact)]));
}
