import type { ConnectionQuestions } from '../approval/connection-questions.ts';
import type { Action, CallOrigin, Guard } from '../core/approval.ts';
import type { Connections } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import type { Sandbox, SessionMeaning } from '../core/sandbox.ts';
import type { Output, Prepared, Tool, ToolAnswer, ToolContext, ToolFailure, ToolResult } from '../core/tool.ts';
import { errorText } from '../lib/error-text.ts';
import { beginningAndEnd } from '../lib/head-tail.ts';
import { nearest } from '../lib/nearest.ts';
import { type Redact, unredacted } from '../lib/redact.ts';
import { AllowedSandbox, type CallPermission } from './allowed-sandbox.ts';
import { RunningCall } from './running-call.ts';

export interface ToolboxOptions {
  tools: readonly Tool[];
  /** Of the one session these tools work for. */
  sandbox: Sandbox;
  /** Makes sure that the sandbox is open: the actions a tool declares depend on its directory. */
  open?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  guard: Guard;
  /** For connections that no rule of a restricted network allows. Without it they are blocked. */
  connections?: Pick<ConnectionQuestions, 'askerFor'> | undefined;
  /** Takes secrets out of a text. */
  redact: Redact;
  /** The most bytes of text a result should carry. */
  maxBytes: number;
  /** Told of every call that was allowed, when it is over. Must not throw. */
  finished?: ((call: FinishedCall) => void) | undefined;
  /** Told of the connections of every command, when it has ended. Must not throw. */
  connected?: ((call: CallConnections) => void) | undefined;
}

/** A call that was allowed and has come to an end. */
export interface FinishedCall {
  tool: string;
  actions: readonly Action[];
  origin: CallOrigin;
  result: ToolResult;
  durationMs: number;
}

/** The connections of one command of a call, which may run on after the call. */
export interface CallConnections {
  actions: readonly Action[];
  origin: CallOrigin;
  connections: Connections;
}

export interface CallOptions {
  /** Without one, actions that need a person's yes are refused. */
  origin?: CallOrigin | undefined;
  signal?: AbortSignal | undefined;
  progress?: ((text: string) => void) | undefined;
}

/** `isInner`: a tool called by another gets what it finds as it is. */
type AttemptOptions = CallOptions & { isInner?: boolean };
type CarriedOptions = AttemptOptions & { signal: AbortSignal; origin: CallOrigin };
type RunOptions = CarriedOptions & Pick<ToolContext, 'sandbox'>;

const withoutPerson: CallOrigin = { source: 'mcp', role: 'user', approver: undefined };

/** Another command of the session may change its directory or its functions between a call and the permission for it. */
const maxAttempts = 5;

/** Of a command or script whose connections are asked about: it stays in memory while processes of it may run. More does not help to tell which one it is. */
const maxShownCharacters = 8_192;

/** Some tools put a frame around what they print; nothing they return is longer than this many times the limit. */
const leeway = 2;

/**
 * The only way for a model to use a sandbox: checks the input, asks whether the actions may happen, runs, cuts and takes
 * secrets out. The same for the agent, for scripts and for other people's agents, so there is no way around any of it.
 */
export class Toolbox {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly #options: ToolboxOptions;
  readonly #running = new Set<RunningCall>();

  constructor(options: ToolboxOptions) {
    this.tools = new Map(options.tools.map((tool) => [tool.name, tool]));
    this.#options = options;
  }

  /** Takes secrets out of a text. */
  redact(text: string): string {
    return this.#options.redact(text);
  }

  /** The oldest first. */
  get running(): readonly RunningCall[] {
    return [...this.#running];
  }

  /** Never rejects. */
  async call(name: string, input: unknown, options: CallOptions = {}): Promise<ToolResult> {
    const { redact } = this.#options;
    const live = redact.begin();
    const show = (text: string): void => (text === '' ? undefined : options.progress?.(text));
    const progress = options.progress && ((text: string) => show(live.push(text)));
    const result = await this.#attempt(name, input, { ...options, progress });
    show(live.end());
    const text = beginningAndEnd(redact(result.text), this.#options.maxBytes * leeway);
    return result.ok ? { ...result, text, data: redactAll(result.data, redact) as Output } : { ...result, text };
  }

  async #attempt(name: string, input: unknown, options: AttemptOptions): Promise<ToolResult> {
    const { signal = new AbortController().signal, origin = withoutPerson } = options;
    const tool = this.tools.get(name);
    if (!tool) return failed('unknown-tool', this.#unknown(name));
    const call = new RunningCall(name, this.#options.redact(mainText(input)), origin.run);
    this.#running.add(call);
    try {
      return await this.#carryOut(call, tool, input, { ...options, signal, origin });
    } finally {
      this.#running.delete(call);
    }
  }

  async #carryOut(call: RunningCall, tool: Tool, input: unknown, options: CarriedOptions): Promise<ToolResult> {
    const { signal, origin } = options;
    let prepared: Prepared<ToolAnswer>;
    try {
      if (this.#options.open) await call.during('sandbox', this.#options.open(signal));
    } catch (error) {
      return failed(signal.aborted ? 'interrupted' : 'failed', messageOf(error));
    }
    try {
      prepared = tool.prepare(input, this.#session());
    } catch (error) {
      return failed('bad-input', messageOf(error));
    }
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const { cwd, definitions } = this.#session();
      const isAsAllowed = (session: SessionMeaning): boolean => session.cwd === cwd && isSame(session.definitions, definitions);
      const refusal = signal.aborted ? undefined : await this.#refusal(call, prepared, origin, signal);
      if (refusal !== undefined) return failed('denied', refusal);
      // Security: a person may take minutes to answer, and what they said yes to must still be what happens.
      const isUnchanged = isSame(prepared.actions, tool.prepare(input, this.#session()).actions) && isAsAllowed(this.#options.sandbox);
      if (signal.aborted) return failed('interrupted', 'Interrupted before it began. Nothing was run.');
      const startedAt = performance.now();
      call.begin();
      const { actions } = prepared;
      const permission = { isAsAllowed, signal, call, ...this.#networkFor(actions, origin, signal) };
      const sandbox = new AllowedSandbox(this.#options.sandbox, permission);
      const result = isUnchanged ? await this.#run(prepared, { ...options, sandbox }) : undefined;
      sandbox.end();
      if (!result) {
        prepared = tool.prepare(input, this.#session());
        continue;
      }
      const durationMs = Math.round(performance.now() - startedAt);
      if (actions.length > 0) this.#options.finished?.({ tool: tool.name, actions, origin, result, durationMs });
      return result;
    }
    return failed('denied', 'It was not run: the directory or the functions of the session kept changing while it was being allowed.');
  }

  /** Security: for tools that prepare a call, which run nothing. */
  #session(): SessionMeaning {
    const { cwd, definitions } = this.#options.sandbox;
    return { cwd, definitions };
  }

  /** undefined when nothing was run, because the session was no longer what it was when that was allowed. */
  async #run(prepared: Prepared<ToolAnswer>, options: RunOptions & { sandbox: AllowedSandbox }): Promise<ToolResult | undefined> {
    try {
      return { ok: true, ...(await prepared.run(this.#contextFor(options))) };
    } catch (error) {
      const hasChanged = error instanceof HermeticError && error.code === 'sandbox/changed';
      if (hasChanged && !options.sandbox.hasBegun) return undefined;
      return failed(options.signal.aborted ? 'interrupted' : 'failed', messageOf(error));
    }
  }

  #contextFor(options: RunOptions): ToolContext {
    return {
      sandbox: options.sandbox,
      signal: options.signal,
      maxBytes: this.#options.maxBytes,
      redact: options.isInner ? unredacted : this.#options.redact,
      progress: (text) => options.progress?.(text),
      // Whole, because it stays in the sandbox: a script that changes a file must not write back what was hidden from it. And unseen: what
      // there is to see is what the script makes of it.
      call: (name, input, until) => {
        const signal = until ? AbortSignal.any([options.signal, until]) : options.signal;
        const { origin } = options;
        // A question it asks is not one about the call itself, which has begun.
        const run = origin.run === undefined ? undefined : `${origin.run}/inside`;
        return this.#attempt(name, input, { ...options, signal, progress: undefined, isInner: true, origin: { ...origin, run } });
      },
    };
  }

  /** The part of a permission about the network: only commands and scripts have one. */
  #networkFor(actions: readonly Action[], origin: CallOrigin, signal: AbortSignal): Pick<CallPermission, 'askToConnect' | 'connected'> {
    const [text] = actions.flatMap((action) => {
      if (action.kind === 'command') return [{ command: action.command, cwd: action.cwd }];
      return action.kind === 'script' ? [{ command: action.code, cwd: action.cwd }] : [];
    });
    if (!text) return { askToConnect: undefined, connected: undefined };
    return {
      askToConnect: this.#options.connections?.askerFor({ ...text, command: firstPart(text.command), origin, signal }),
      connected: (connections) => this.#options.connected?.({ actions, origin, connections }),
    };
  }

  #unknown(name: string): string {
    const names = [...this.tools.keys()];
    const meant = nearest(name, names);
    return `There is no tool called ${JSON.stringify(name)}. ${meant ? `Did you mean ${meant}? ` : ''}There are: ${names.join(', ')}.`;
  }

  /** Security: any failure while judging or asking means no. */
  async #refusal(call: RunningCall, { actions }: Prepared<unknown>, origin: CallOrigin, signal: AbortSignal): Promise<string | undefined> {
    if (actions.length === 0) return undefined;
    const waits = [call.waiting('judge')];
    try {
      const permission = await this.#options.guard(actions, origin, signal, () => void waits.push(call.waiting('approval')));
      return permission.allowed === true ? undefined : (permission.reason ?? 'It was not allowed.');
    } catch (error) {
      return `It was not run, because it could not be decided whether it may: ${messageOf(error)}`;
    } finally {
      for (const over of waits) over();
    }
  }
}

/** A copy: a slice keeps the whole text in memory. */
function firstPart(command: string): string {
  return Buffer.from(command.slice(0, maxShownCharacters), 'utf16le').toString('utf16le');
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function failed(failure: ToolFailure, text: string): ToolResult {
  return { ok: false, failure, text };
}

function messageOf(error: unknown): string {
  if (error instanceof HermeticError) return error.hint ? `${error.message} ${error.hint}` : error.message;
  return errorText(error);
}

/** Names stay: only what a tool has read or printed can hold a secret. */
function redactAll(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactAll(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactAll(item, redact)]));
}

/** A short text by which a person recognises a call. */
function mainText(input: unknown): string {
  const values = typeof input === 'object' && input !== null ? Object.values(input) : [];
  return values.find((value) => typeof value === 'string') ?? '';
}
