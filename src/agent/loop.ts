import type { ToolSet } from 'ai';
import type { Agent, Turn, TurnResult } from '../core/agent.ts';
import type { Usage } from '../core/conversation.ts';
import { HermeticError } from '../core/errors.ts';
import type { ToolResult } from '../core/tool.ts';
import { within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { type Answer, ask, type MadeCall, type RetryPolicy } from './ask.ts';
import { Context } from './compact.ts';
import {
  asJson,
  callsOf,
  interruptedText,
  type Message,
  readTranscript,
  settled,
  textOf,
  toolMessage,
  userMessage,
  withOwnIds,
} from './messages.ts';
import { systemPrompt } from './prompt.ts';
import { tokensOfText } from './size.ts';
import { summaryInstructions } from './summary.ts';
import { tokensOfTool, toolSet } from './tool-set.ts';
import { openCalls } from './turn-progress.ts';

const usual: RetryPolicy = {
  maxRetries: 5,
  firstWaitMs: 1000,
  longestWaitMs: 30_000,
  longestRetryAfterMs: 120_000,
  graceMs: 1500,
};
const maxSummaryTokens = 2000;
/** How often a conversation is shortened because the provider says that it is too long. */
const maxShrinks = 4;

/** The agent: asks a model, does what it asks for, and goes on until it has an answer. */
export function createAgent(retryPolicy: Partial<RetryPolicy> = {}): Agent {
  return {
    async run(turn) {
      try {
        return await new Run(turn, { ...usual, ...retryPolicy }).run();
      } catch (error) {
        if (error instanceof HermeticError) return { kind: 'failed', code: error.code, reason: error.message, hint: error.hint };
        return { kind: 'failed', code: 'model/failed', reason: errorText(error), hint: undefined };
      }
    },
  };
}

class Run {
  readonly #turn: Turn;
  readonly #retryPolicy: RetryPolicy;
  readonly #system: string;
  readonly #context: Context;
  #tools: ToolSet = {};

  constructor(turn: Turn, retryPolicy: RetryPolicy) {
    this.#turn = turn;
    this.#retryPolicy = retryPolicy;
    this.#system = systemPrompt(turn.facts);
    const overhead = tokensOfText(this.#system) + turn.tools.reduce((sum, tool) => sum + tokensOfTool(tool), 0);
    this.#context = new Context(readTranscript(turn.history), turn.model.contextTokens, overhead);
  }

  async run(): Promise<TurnResult> {
    const { input, maxSteps, signal } = this.#turn;
    if (input.length > 0) await this.#record(userMessage(input));
    else {
      const last = this.#context.messages.at(-1);
      // Recorded, but the program died before anybody was told.
      if (last?.role === 'assistant' && callsOf(last).length === 0) return { kind: 'answered', text: textOf(last) };
      await this.#takeUp();
      if (signal.aborted) return { kind: 'interrupted' };
    }
    this.#tools = await toolSet(this.#turn.tools);
    for (let step = 1; step <= maxSteps; step++) {
      if (step > 1) await this.#takeSteering();
      const answer = await this.#nextAnswer();
      if (answer.kind === 'failed') {
        const { code, message, hint } = answer.failure;
        return { kind: 'failed', code, reason: message, hint };
      }
      if (answer.kind === 'interrupted') {
        if (answer.text.trim() !== '') await this.#record({ role: 'assistant', content: [{ type: 'text', text: answer.text }] });
        return { kind: 'interrupted' };
      }
      const message = withOwnIds(answer.message, this.#context.messages);
      const calls = callsOf(message).map((call, index) => ({ ...call, input: answer.calls[index]?.input ?? call.input }));
      await this.#record(message, answer.usage);
      this.#turn.listener({ type: 'step-finished', text: answer.text, usage: answer.usage, goesOn: calls.length > 0 });
      if (calls.length === 0) return { kind: 'answered', text: answer.text };
      await this.#runTools(calls);
      if (signal.aborted) return { kind: 'interrupted' };
    }
    return { kind: 'limit', steps: maxSteps };
  }

  /** Calls of an earlier program: none that may have begun is repeated. */
  async #takeUp(): Promise<void> {
    const { takeUp } = this.#turn;
    const left = openCalls(this.#context.messages).map(({ callId, name, input }) => ({ toolCallId: callId, toolName: name, input }));
    const unknown: ToolResult = { ok: false, failure: 'interrupted', text: interruptedText };
    await this.#runTools(left, async (...call) => (await takeUp?.(...call)) ?? unknown);
  }

  async #takeSteering(): Promise<void> {
    const more = (await this.#turn.steer?.()) ?? [];
    if (more.length > 0) await this.#record(userMessage(more));
  }

  async #nextAnswer(): Promise<Answer> {
    for (let shrinks = 0; ; shrinks++) {
      const stalled = await this.#fit();
      if (stalled) return stalled;
      const guess = this.#context.guess;
      const { model, signal, listener } = this.#turn;
      const question = { model, system: this.#system, messages: settled(this.#context.messages), tools: this.#tools, signal, listener };
      const answer: Answer = signal.aborted ? { kind: 'interrupted', text: '' } : await ask(question, this.#retryPolicy);
      if (answer.kind === 'answer') this.#context.counted(answer.usage.inputTokens, guess);
      if (answer.kind !== 'failed' || answer.failure.about !== 'too-long' || shrinks >= maxShrinks) return answer;
      this.#context.shrink();
    }
  }

  /** Makes the conversation short enough for the model. Resolves with the failure of a model that said nothing: it is not asked for more. */
  async #fit(): Promise<Answer | undefined> {
    if (!this.#context.isFull) return undefined;
    this.#turn.listener({ type: 'compacting' });
    if (this.#context.trim()) return undefined;
    let stalled: Answer | undefined;
    await this.#context.summarise(
      async (text) => {
        const answer = await this.#write(text);
        if (answer.kind === 'failed' && answer.isStalled) stalled = answer;
        // Without a text the transcript would be replaced by nothing.
        if (answer.kind !== 'answer' || answer.calls.length > 0 || answer.text.trim() === '') return undefined;
        return { text: answer.text, usage: answer.usage };
      },
      async (count, summary, usage) => {
        try {
          await this.#turn.summarise(count, asJson(summary), usage);
          return true;
        } catch {
          // The transcript is still whole, and the next turn tries again.
          return false;
        }
      },
    );
    return stalled;
  }

  async #write(text: string): Promise<Answer> {
    const { model, signal, listener } = this.#turn;
    return await ask(
      {
        model,
        system: summaryInstructions,
        messages: [{ role: 'user', content: text }],
        tools: {},
        maxOutputTokens: Math.min(maxSummaryTokens, Math.floor(model.contextTokens / 8)),
        signal,
        // The summary is not part of the answer; that it takes long is shown.
        listener: (event) => (event.type === 'waiting' || event.type === 'asking' ? listener(event) : undefined),
      },
      { ...this.#retryPolicy, maxRetries: Math.min(2, this.#retryPolicy.maxRetries) },
    );
  }

  /** All at once. Each result is recorded as soon as it is there, so that what was done is known even when the program dies. */
  async #runTools(calls: readonly MadeCall[], door: Turn['call'] = this.#turn.call): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([this.#turn.signal, failed.signal]);
    let recorded = Promise.resolve();
    const runs = calls.map(async (call) => {
      const result = await this.#runTool(call, signal, door);
      recorded = recorded.then(() => this.#record(toolMessage(call.toolCallId, call.toolName, result)));
      await recorded.catch((error: unknown) => {
        failed.abort();
        throw error;
      });
    });
    const outcomes = await Promise.allSettled(runs);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #runTool({ toolCallId: callId, toolName: name, input }: MadeCall, signal: AbortSignal, door: Turn['call']): Promise<ToolResult> {
    const { listener } = this.#turn;
    const unknown: ToolResult = { ok: false, failure: 'interrupted', text: interruptedText };
    if (signal.aborted) return { ok: false, failure: 'interrupted', text: 'Interrupted before it began. Nothing was run.' };
    listener({ type: 'tool-started', callId, name, input });
    const running = door(name, input, { callId, signal, progress: (text) => listener({ type: 'tool-progress', callId, text }) }).catch(
      (error: unknown): ToolResult => ({ ok: false, failure: 'failed', text: errorText(error) }),
    );
    const result = await within({ signal }, running, () => within(this.#retryPolicy.graceMs, running, () => unknown));
    listener({ type: 'tool-ended', callId, name, result });
    return result;
  }

  async #record(message: Message, usage?: Usage): Promise<void> {
    const stored = asJson(message);
    try {
      await this.#turn.record([stored], usage);
    } catch (error) {
      if (error instanceof HermeticError) throw error;
      throw new HermeticError('store/failed', `The conversation could not be recorded: ${errorText(error)}`);
    }
    this.#context.add(stored);
  }
}
