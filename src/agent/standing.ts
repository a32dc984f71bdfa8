import { callsOf, type Message, readTranscript, textOf } from './messages.ts';

export interface OpenCall {
  callId: string;
  name: string;
  input: unknown;
}

/** Where a turn stands, and how many answers of the model it has had. */
export type Standing = { answers: number } & (
  | { kind: 'unanswered' }
  | { kind: 'answered'; text: string }
  /** Tools were called, and nobody knows what came of these. */
  | { kind: 'calling'; calls: readonly OpenCall[] }
);

/** What was recorded of a turn, read by a program that did not see it happen. */
export function standingOf(messages: readonly unknown[]): Standing {
  const transcript = readTranscript(messages);
  const answers = transcript.filter(({ role }) => role === 'assistant').length;
  const last = transcript.at(-1);
  const calls = openCalls(transcript);
  if (calls.length > 0) return { answers, kind: 'calling', calls };
  if (last?.role !== 'assistant') return { answers, kind: 'unanswered' };
  return { answers, kind: 'answered', text: textOf(last) };
}

/** Calls of the last answer that nobody knows the result of. */
export function openCalls(transcript: readonly Message[]): OpenCall[] {
  const at = transcript.findLastIndex(({ role }) => role === 'assistant');
  const last = transcript[at];
  if (!last) return [];
  const settled = new Set(
    transcript
      .slice(at + 1)
      .flatMap((message) => (message.role === 'tool' ? message.content : []))
      .flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : [])),
  );
  return callsOf(last)
    .filter(({ toolCallId }) => !settled.has(toolCallId))
    .map(({ toolCallId, toolName, input }) => ({ callId: toolCallId, name: toolName, input }));
}
