import type { OpenCall, TurnProgress } from '../core/agent.ts';
import { callsOf, type Message, readTranscript, textOf } from './messages.ts';

/** What was recorded of a turn, read by a program that did not see it happen. */
export function turnProgress(messages: readonly unknown[]): TurnProgress {
  const transcript = readTranscript(messages);
  const inputs = transcript.filter(({ role }) => role === 'user').length;
  const answers = transcript.filter(({ role }) => role === 'assistant').map(textOf);
  const calls = openCalls(transcript);
  if (calls.length > 0) return { inputs, answers, kind: 'calling', calls };
  return { inputs, answers, kind: transcript.at(-1)?.role === 'assistant' ? 'answered' : 'unanswered' };
}

/** Calls of the last answer whose results are unknown. */
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
