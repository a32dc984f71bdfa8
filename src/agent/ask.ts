import { setTimeout as delay } from 'node:timers/promises';
import type {
  AssistantModelMessage,
  ContentPart,
  ModelMessage,
  Experimental_LanguageModelStreamPart as StreamPart,
  SystemModelMessage,
  ToolSet,
} from 'ai';
import type { AgentEvent, Model, ModelFailure } from '../core/agent.ts';
import type { Usage } from '../core/conversation.ts';
import { backoffMs } from '../lib/backoff.ts';
import { gathered } from './gathered.ts';
import {
  answerMessage,
  hasThoughts,
  type Learned,
  lacksThoughts,
  learnedWith,
  readableBy,
  withoutImages,
  withoutThoughts,
  withSomeThoughts,
} from './messages.ts';

/** How long a model or a tool is waited for, and how often a model is asked again. */
export interface RetryPolicy {
  /** How often the same is asked again after a failure that may pass. */
  maxRetries: number;
  /** Before the second attempt; doubles each time, up to `longestWaitMs`. A provider that says how long is believed up to `longestRetryAfterMs`. */
  firstWaitMs: number;
  longestWaitMs: number;
  longestRetryAfterMs: number;
  /** Instead of the model's own. */
  stallMs?: number;
  /** A tool that was told to end may take so long before it is left alone. */
  graceMs: number;
}

export interface Question {
  model: Model;
  system: string;
  messages: readonly ModelMessage[];
  tools: ToolSet;
  maxOutputTokens?: number | undefined;
  signal: AbortSignal;
  listener(event: AgentEvent): void;
}

/** A model that stops in the middle of its answer, time and again, costs more time than it is worth. */
const maxStalls = 1;

type CallEnd = Extract<StreamPart, { type: 'model-call-end' }>;

export interface MadeCall {
  toolCallId: string;
  toolName: string;
  /** As the model wrote it: text when it is not JSON. */
  input: unknown;
}

export type Answer =
  | { kind: 'answer'; text: string; message: AssistantModelMessage; calls: readonly MadeCall[]; usage: Usage }
  /** With what had come until then. */
  | { kind: 'interrupted'; text: string }
  /** `isStalled`: the model said nothing more. */
  | { kind: 'failed'; failure: ModelFailure; isStalled?: boolean };

/** One answer of the model. Nothing that it asks for is done here, so an answer that breaks off can be asked for again. Never rejects. */
export async function ask(question: Question, retryPolicy: RetryPolicy): Promise<Answer> {
  let current = { ...question, messages: readableBy(question.model.id, question.messages) };
  const refused = new Set<ModelFailure['about']>();
  let stalls = 0;
  question.listener({ type: 'asking' });
  for (let attempt = 1; ; attempt++) {
    const told = new Told(question.listener);
    const answer = await attemptOnce(current, told, retryPolicy.stallMs ?? question.model.stallMs);
    if (question.signal.aborted && answer.kind !== 'answer') return { kind: 'interrupted', text: told.text };
    if (answer.kind === 'answer') return { ...answer, message: learnedWith(answer.message, learnedFrom(refused)) };
    if (answer.kind !== 'failed') return answer;
    told.discard();
    const { failure, isStalled = false } = answer;
    if (isStalled) stalls += 1;
    const changed = refused.has(failure.about) ? undefined : withoutRefused(current.messages, failure.about);
    if (changed) {
      current = { ...current, messages: changed };
      refused.add(failure.about);
      continue;
    }
    const wait = { firstMs: retryPolicy.firstWaitMs, maxMs: retryPolicy.longestWaitMs, isSpread: true };
    const ms = failure.retryAfterMs ?? backoffMs(attempt, wait);
    const isHopeless = !failure.isTransient || stalls > maxStalls || ms > retryPolicy.longestRetryAfterMs;
    if (isHopeless || attempt > retryPolicy.maxRetries) return answer;
    question.listener({ type: 'waiting', reason: failure.message, ms, attempt });
    await delay(ms, undefined, { signal: question.signal }).catch(() => undefined);
    if (question.signal.aborted) return { kind: 'interrupted', text: '' };
  }
}

/** Without what was refused. undefined when there is none of it, so that the same is not asked for again. */
function withoutRefused(messages: readonly ModelMessage[], about: ModelFailure['about']): ModelMessage[] | undefined {
  if (about === 'images' && hasImages(messages)) return withoutImages(messages);
  if (about === 'thoughts' && messages.some(hasThoughts)) return messages.flatMap(withoutThoughts);
  if (about === 'missing-thoughts' && messages.some(lacksThoughts)) return messages.map(withSomeThoughts);
  return undefined;
}

function learnedFrom(refused: ReadonlySet<ModelFailure['about']>): Learned {
  return {
    ...(refused.has('thoughts') && { refusedThoughts: true }),
    ...(refused.has('missing-thoughts') && { wantsThoughts: true }),
  };
}

/** The part of a streamed answer that was already shown. */
class Told {
  text = '';
  /** Whether anything of an answer has come. */
  hasHeard = false;
  readonly #listener: Question['listener'];

  constructor(listener: Question['listener']) {
    this.#listener = listener;
  }

  say(text: string): void {
    if (text === '') return;
    this.text += text;
    this.#listener({ type: 'text', text });
  }

  think(text: string): void {
    if (text !== '') this.#listener({ type: 'thinking', text });
  }

  discard(): void {
    if (this.text !== '') this.#listener({ type: 'text-discarded' });
  }
}

async function attemptOnce(question: Question, told: Told, stallMs: number): Promise<Answer> {
  const { model } = question;
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), stallMs);
  try {
    // Only the one call of the model: all that `streamText` has around it would cost each answer twice the time and memory.
    const { experimental_streamLanguageModelCall } = await import('ai');
    let content: readonly ContentPart<ToolSet>[] = [];
    const { stream } = await experimental_streamLanguageModelCall({
      model: await gathered(model.language),
      instructions: marked({ role: 'system', content: sendable(question.system) }, model),
      messages: withMarks(sendable(question.messages), model),
      tools: question.tools,
      abortSignal: AbortSignal.any([question.signal, stall.signal]),
      providerOptions: model.settings,
      onLanguageModelCallEnd: (call) => {
        content = call.content;
      },
      ...(question.maxOutputTokens === undefined ? {} : { maxOutputTokens: question.maxOutputTokens }),
    });
    const calls: MadeCall[] = [];
    let end: CallEnd | undefined;
    for await (const part of stream) {
      timer.refresh();
      if (/-delta$|^tool-call$/.test(part.type)) told.hasHeard = true;
      if (part.type === 'text-delta') told.say(part.text);
      else if (part.type === 'reasoning-delta') told.think(part.text);
      else if (part.type === 'tool-call' && !part.providerExecuted) calls.push(part);
      else if (part.type === 'model-call-end') end = part;
      else if (part.type === 'error') throw part.error;
    }
    if (!end || !isWhole(end)) throw new Error('the answer broke off before its end');
    if (calls.length === 0 && told.text.trim() === '') return { kind: 'failed', failure: emptyAnswer(end.finishReason, model) };
    const message = answerMessage(content, model.id);
    if (message.content.length === 0) return { kind: 'failed', failure: emptyAnswer(end.finishReason, model) };
    return { kind: 'answer', text: told.text, message, calls, usage: usageOf(end, model) };
  } catch (error) {
    if (!stall.signal.aborted) return { kind: 'failed', failure: model.explain(error) };
    return { kind: 'failed', failure: stalled(model, stallMs, told.hasHeard), isStalled: true };
  } finally {
    clearTimeout(timer);
  }
}

/** The end of the stream is not the end of the answer when the provider did not say so. */
function isWhole({ finishReason, rawFinishReason }: CallEnd): boolean {
  if (finishReason === 'other') return rawFinishReason !== undefined;
  return finishReason === 'stop' || finishReason === 'tool-calls' || finishReason === 'length' || finishReason === 'content-filter';
}

function usageOf({ usage, providerMetadata }: CallEnd, model: Model): Usage {
  const counted = {
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cachedTokens: usage.inputTokenDetails.cacheReadTokens ?? 0,
    writtenTokens: usage.inputTokenDetails.cacheWriteTokens ?? 0,
  };
  return { ...counted, cost: model.cost(counted, providerMetadata) };
}

/** One that has said nothing at all is not asked again: it would only take the same time once more. */
function stalled({ id }: Model, stallMs: number, hasBegun: boolean): ModelFailure {
  return {
    code: 'model/failed',
    message: `${id} said nothing${hasBegun ? ' more' : ''} for ${stallMs / 1000} s.`,
    hint: 'Send the message again. For a model that loads slowly, or thinks for long without showing it, raise model.stall_seconds.',
    isTransient: hasBegun,
    retryAfterMs: undefined,
    about: undefined,
  };
}

function emptyAnswer(reason: string, model: Model): ModelFailure {
  const why =
    reason === 'content-filter'
      ? 'its provider withheld the answer'
      : reason === 'length'
        ? 'it reached the limit of its output before it said anything'
        : 'it said nothing';
  return {
    code: 'model/failed',
    message: `${model.id} gave no answer: ${why}.`,
    hint: undefined,
    isTransient: reason === 'stop' || reason === 'other',
    retryAfterMs: undefined,
    about: undefined,
  };
}

function hasImages(messages: readonly ModelMessage[]): boolean {
  return messages.some(
    (message) => message.role === 'user' && typeof message.content !== 'string' && message.content.some((part) => part.type !== 'text'),
  );
}

function marked<M extends ModelMessage | SystemModelMessage>(message: M, { cacheMark }: Model): M {
  return cacheMark ? { ...message, providerOptions: { ...message.providerOptions, ...cacheMark } } : message;
}

/** The end of this call's input is where the next call's begins to be new; the one before it is where this call's did. */
function withMarks(messages: readonly ModelMessage[], model: Model): ModelMessage[] {
  if (!model.cacheMark) return [...messages];
  const last = messages.length - 1;
  const before = messages.findLastIndex((message, index) => index < last && message.role !== 'assistant');
  return messages.map((message, index) => (index === last || index === before ? marked(message, model) : message));
}

/**
 * Security: the same without NUL and halves of characters, which providers refuse. A transcript is sent again with every turn, so a single one that
 * a person, a tool or a cut brought in would end a session for good. What has none of them comes back as it is.
 */
function sendable<T>(value: T): T {
  return cleaned(value) as T;
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) {
    const items = value.map(cleaned);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, item]) => [cleanText(key), cleaned(item)] as const);
  const isSame = entries.every(([key, item]) => Object.hasOwn(value, key) && (value as Record<string, unknown>)[key] === item);
  return isSame ? value : Object.fromEntries(entries);
}

function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
