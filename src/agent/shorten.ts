import type { ToolModelMessage, UserModelMessage } from 'ai';
import { beginningAndEnd } from '../lib/head-tail.ts';
import { imageAsText, type Message } from './messages.ts';
import { shortenedInside, tokensOf } from './size.ts';

const maxOldResult = 400;
const maxOldInput = 400;

/** Where the messages begin that are kept as they are: the last ones that fit, but at least the last step. Never between a call and its result. */
export function tailStart(messages: readonly Message[], maxTokens: number): number {
  let start = messages.length;
  for (let sum = 0; start > 0; start--) {
    sum += tokensOf(messages[start - 1] as Message);
    if (sum > maxTokens && start < messages.length) break;
  }
  while (start < messages.length && messages[start]?.role === 'tool') start++;
  if (start < messages.length) return start;
  start = messages.length - 1;
  while (start > 0 && messages[start]?.role === 'tool') start--;
  return Math.max(0, start);
}

/** Cuts what tools were given and gave back before a place, and images. What people and the model said stays. */
export function withOldResultsCut(messages: readonly Message[], before: number): Message[] {
  return messages.map((message, index) => (index < before ? cutResults(message, maxOldResult, maxOldInput) : message));
}

/** For a transcript that is too long in spite of everything: long texts of anybody lose their middle. */
export function withLongTextsCut(messages: readonly Message[], maxCharacters: number): Message[] {
  return messages.map((message) => {
    const cut = cutResults(message, maxCharacters, maxCharacters);
    if (typeof cut.content === 'string') return { ...cut, content: shortenedInside(cut.content, maxCharacters) } as Message;
    if (cut.role === 'tool') return cut;
    return {
      ...cut,
      content: cut.content.map((part) => (part.type === 'text' ? { ...part, text: shortenedInside(part.text, maxCharacters) } : part)),
    } as Message;
  });
}

function cutResults(message: Message, maxResult: number, maxInput: number): Message {
  switch (message.role) {
    case 'tool':
      return cutTool(message, maxResult);
    case 'user':
      return typeof message.content === 'string' ? message : cutUser(message);
    case 'assistant':
      if (typeof message.content === 'string') return message;
      return {
        ...message,
        content: message.content
          // Old reasoning is of no use, and takes much room.
          .filter((part) => part.type !== 'reasoning')
          .map((part) => (part.type === 'tool-call' ? { ...part, input: cutInput(part.input, maxInput) } : part))
          .map(withoutOrigin),
      };
  }
}

/** OpenAI refuses a part that it knows by its id when the thoughts that led to it are missing. */
function withoutOrigin<Part extends object>(part: Part): Part {
  const { openai: _origin, ...providerOptions } = (part as { providerOptions?: Record<string, unknown> }).providerOptions ?? {};
  return { ...part, providerOptions };
}

function cutTool(message: ToolModelMessage, most: number): ToolModelMessage {
  return {
    ...message,
    content: message.content.map((part) => {
      if (part.type !== 'tool-result' || (part.output.type !== 'text' && part.output.type !== 'error-text')) return part;
      return { ...part, output: { ...part.output, value: beginningAndEnd(part.output.value, most) } };
    }),
  };
}

function cutUser(message: UserModelMessage): UserModelMessage {
  return typeof message.content === 'string' ? message : { ...message, content: message.content.map(imageAsText) };
}

function cutInput(input: unknown, most: number): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, typeof value === 'string' ? beginningAndEnd(value, most) : value]),
  );
}
