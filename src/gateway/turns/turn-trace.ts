import type { AgentEvent } from '../../core/agent.ts';
import { tracer } from '../../core/trace.ts';

export const traceTurn = tracer('turn');

/** Writes the steps of a turn into the trace. Security: no text of people, models or tools. */
export function traceEvent(turn: string, event: AgentEvent): void {
  const text = eventText(event);
  if (text !== undefined) traceTurn(turn, () => text);
}

function eventText(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'asking':
      return 'the model is asked';
    case 'waiting':
      return `the model cannot answer; attempt ${event.attempt + 1} comes in ${Math.round(event.ms)} ms`;
    case 'text-discarded':
      return 'the answer broke off';
    case 'compacting':
      return 'the conversation is shortened';
    case 'step-finished':
      return event.goesOn ? 'the model has answered, and calls tools' : 'the model has answered';
    case 'tool-started':
      return `call ${event.callId} begins: ${event.name}`;
    case 'tool-ended':
      return `call ${event.callId} has ended: ${event.result.ok ? 'ok' : event.result.failure}`;
    case 'text':
    case 'thinking':
    case 'tool-progress':
      return undefined;
  }
}
