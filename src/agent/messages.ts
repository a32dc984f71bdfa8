import { randomBytes } from 'node:crypto';
import type {
  AssistantModelMessage,
  ContentPart,
  ModelMessage,
  ToolCallPart,
  ToolModelMessage,
  ToolResultPart,
  ToolSet,
  UserModelMessage,
} from 'ai';
import type { TurnInput } from '../core/agent.ts';
import type { ToolResult } from '../core/tool.ts';
import { inputText } from './prompt.ts';

/** A message of a transcript: without the system prompt, which is made anew each time. */
export type Message = UserModelMessage | AssistantModelMessage | ToolModelMessage;

export const interruptedText = 'Interrupted. It is not known whether it ran, or how much of it.';

/** The recorded messages, one for one. */
export function readTranscript(history: readonly unknown[]): Message[] {
  return history.map((message) => (isMessage(message) ? message : { role: 'user', content: '[A message that cannot be read any more.]' }));
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const { role, content } = value as { role?: unknown; content?: unknown };
  if (role === 'tool') return Array.isArray(content) && content.every(isPart);
  return (role === 'user' || role === 'assistant') && (typeof content === 'string' || (Array.isArray(content) && content.every(isPart)));
}

function isPart(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

/** Plain data, which is the same after it was stored. */
export function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

export function userMessage(inputs: readonly TurnInput[]): UserModelMessage {
  const day = inputs.findLast((input) => input.day !== undefined)?.day;
  return {
    role: 'user',
    ...(day !== undefined && { providerOptions: { hermetic: { day } } }),
    content: inputs.flatMap((input) => [
      { type: 'text' as const, text: inputText(input) },
      ...(input.images ?? []).map(({ data, mediaType }) => ({
        type: 'file' as const,
        mediaType,
        data: { type: 'data' as const, data: Buffer.from(data).toString('base64') },
      })),
    ]),
  };
}

/** The day that the model was told last; undefined when it was told none since the beginning. */
export function toldDay(messages: readonly unknown[]): string | undefined {
  const told = (messages as readonly Partial<Message>[]).findLast((message) => message?.providerOptions?.hermetic?.day !== undefined);
  return told?.providerOptions?.hermetic?.day as string | undefined;
}

/**
 * What a model answered, as the next request repeats it, with the name of the model: without what tools of its provider did, of which none are asked
 * for.
 */
export function answerMessage(content: readonly ContentPart<ToolSet>[], model: string): AssistantModelMessage & { content: object[] } {
  return { role: 'assistant', content: content.flatMap(answerPart), providerOptions: { hermetic: { model } } };
}

/**
 * What was learned of a model when it was asked: it refuses the thoughts before, or wants some in each answer before.
 */
export interface Learned {
  refusedThoughts?: true;
  wantsThoughts?: true;
}

/** The same answer, with a note of what its model wants. */
export function learnedWith<Answer extends AssistantModelMessage>(answer: Answer, learned: Learned): Answer {
  return { ...answer, providerOptions: { hermetic: { ...answer.providerOptions?.hermetic, ...learned } } };
}

/** Models that refuse thoughts so often refuse their own as well. */
const maxRefusals = 2;

/**
 * Without the thoughts, signatures and ids of other models: providers refuse what they have not signed. Also without
 * those that this model has refused, and with some in every answer for one that refuses answers without, so that it
 * refuses them once. Of texts that were cut short it is not known which model said them, and does not matter.
 */
export function readableBy(model: string, messages: readonly ModelMessage[]): ModelMessage[] {
  const about = messages.map(({ providerOptions }) => providerOptions?.hermetic);
  const refusals = about.flatMap((note, index) => (note?.model === model && note.refusedThoughts === true ? [index] : []));
  const readableFrom = refusals.length < maxRefusals ? (refusals.at(-1) ?? 0) : messages.length;
  const readable = messages.flatMap((message, index) => {
    const said = about[index]?.model;
    return index < readableFrom || (said !== undefined && said !== model) ? withoutThoughts(message) : [message];
  });
  const wantsThoughts = about.some((note) => note?.model === model && note.wantsThoughts === true);
  return wantsThoughts ? readable.map(withSomeThoughts) : readable;
}

/** In place of thoughts that are not there. */
const noThoughts = '(not kept)';

/** The same, for models that refuse an answer of theirs without thoughts. */
export function withSomeThoughts(message: ModelMessage): ModelMessage {
  if (!lacksThoughts(message)) return message;
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return { ...message, content: [{ type: 'reasoning', text: noThoughts }, ...parts] };
}

export function lacksThoughts(message: ModelMessage): message is AssistantModelMessage {
  if (message.role !== 'assistant') return false;
  return typeof message.content === 'string' || !message.content.some((part) => part.type === 'reasoning' && part.text.trim() !== '');
}

/** The same without what only its model can read. None when nothing is left. */
export function withoutThoughts(message: ModelMessage): ModelMessage[] {
  if (message.role !== 'assistant' || typeof message.content === 'string') return [message];
  const content = message.content
    .filter((part) => !isThought(part))
    .map((part) => ('providerOptions' in part ? { ...part, providerOptions: {} } : part));
  return content.length === 0 ? [] : [{ ...message, content }];
}

export function hasThoughts(message: ModelMessage): boolean {
  if (message.role !== 'assistant' || typeof message.content === 'string') return false;
  return message.content.some(
    (part) => isThought(part) || ('providerOptions' in part && Object.keys(part.providerOptions ?? {}).length > 0),
  );
}

function isThought({ type }: { type: string }): boolean {
  return type === 'reasoning' || type === 'reasoning-file' || type === 'custom';
}

function answerPart(part: ContentPart<ToolSet>): Exclude<AssistantModelMessage['content'], string> {
  const own = 'providerMetadata' in part && part.providerMetadata ? { providerOptions: part.providerMetadata } : {};
  switch (part.type) {
    case 'text':
      return part.text === '' && !part.providerMetadata ? [] : [{ type: 'text', text: part.text, ...own }];
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...own }];
    case 'file':
    case 'reasoning-file':
      return [{ type: part.type, data: part.file.base64, mediaType: part.file.mediaType, ...own }];
    case 'custom':
      return [{ type: 'custom', kind: part.kind, ...own }];
    case 'tool-call': {
      if (part.providerExecuted) return [];
      // Text that is no JSON is refused where arguments are expected.
      const input: unknown = part.invalid && typeof part.input !== 'object' ? {} : part.input;
      return [{ type: 'tool-call', toolCallId: part.toolCallId, toolName: part.toolName, input, ...own }];
    }
    default:
      return [];
  }
}

export function toolMessage(callId: string, name: string, result: ToolResult): ToolModelMessage {
  // Some providers refuse a result without any text.
  const value = result.text === '' ? '(no output)' : result.text;
  return {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: callId, toolName: name, output: { type: result.ok ? 'text' : 'error-text', value } }],
  };
}

/** The calls of an answer that this program has to make. */
export function callsOf(message: Message): ToolCallPart[] {
  if (message.role !== 'assistant' || typeof message.content === 'string') return [];
  return message.content.filter((part) => part.type === 'tool-call').filter((part) => !part.providerExecuted);
}

export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/**
 * The transcript in the form that every provider accepts: right after an answer that calls tools comes one message with the result of each call, in
 * the order of the calls, also when the program died in between; and no result without its call.
 */
export function settled(messages: readonly Message[]): ModelMessage[] {
  const whole: ModelMessage[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    if (message.role === 'tool' || message.content.length === 0) continue;
    whole.push(message);
    const calls = callsOf(message);
    if (calls.length === 0) continue;
    const results = new Map<string, ToolResultPart>();
    for (let next = messages[index + 1]; next?.role === 'tool'; next = messages[++index + 1]) {
      for (const part of next.content) if (part.type === 'tool-result') results.set(part.toolCallId, part);
    }
    whole.push({ role: 'tool', content: calls.map((call) => results.get(call.toolCallId) ?? interruptedResult(call)) });
  }
  return whole;
}

function interruptedResult({ toolCallId, toolName }: ToolCallPart): ToolResultPart {
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: interruptedText } };
}

const plainName = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Some providers count their calls from 0 in every answer, and others refuse an id they have seen, or an id or a name of a tool with a sign they do
 * not like, in every turn that follows. A changed name is that of no tool: ours have no hyphen.
 */
export function withOwnIds(message: AssistantModelMessage, earlier: readonly Message[]): AssistantModelMessage {
  if (typeof message.content === 'string') return message;
  const taken = new Set(earlier.flatMap((each) => callsOf(each).map((call) => call.toolCallId)));
  const content = message.content.map((part) => {
    if (part.type !== 'tool-call' || part.providerExecuted) return part;
    const isFine = plainName.test(part.toolCallId) && !taken.has(part.toolCallId);
    const toolCallId = isFine ? part.toolCallId : `call_${randomBytes(8).toString('hex')}`;
    taken.add(toolCallId);
    const toolName = plainName.test(part.toolName)
      ? part.toolName
      : `unknown-${part.toolName.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 50)}`;
    return { ...part, toolCallId, toolName };
  });
  return { ...message, content };
}

/** The same without images, for a model that takes none. */
export function withoutImages(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === 'user' && typeof message.content !== 'string' ? { ...message, content: message.content.map(imageAsText) } : message,
  );
}

export function imageAsText<Part extends { type: string }>(
  part: Part,
): Exclude<Part, { type: 'file' | 'image' }> | { type: 'text'; text: string } {
  if (part.type === 'file' || part.type === 'image') return { type: 'text', text: '[An image, which is not shown to you.]' };
  return part as Exclude<Part, { type: 'file' | 'image' }>;
}
