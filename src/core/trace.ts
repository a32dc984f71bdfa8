import { channel } from 'node:diagnostics_channel';

/** Parts of the program whose changes of state can be followed. */
export const traceAreas = ['shell', 'pool', 'turn', 'egress'] as const;
export type TraceArea = (typeof traceAreas)[number];

/** `subject`: what has changed, such as the name of a sandbox. Security: neither holds a command, a text or a value. */
export interface TraceEvent {
  subject: string;
  change: string;
}

/** Tells a change of state to the followers of this area. Without any, `change` is not called. */
export type Tracer = (subject: string, change: () => string) => void;

export function tracer(area: TraceArea): Tracer {
  const events = channelOf(area);
  return (subject, change) => {
    if (events.hasSubscribers) events.publish({ subject, change: change() } satisfies TraceEvent);
  };
}

/** Until the function it returns is called. */
export function followTrace(area: TraceArea, tell: (event: TraceEvent) => void): () => void {
  const events = channelOf(area);
  const listener = (event: unknown): void => tell(event as TraceEvent);
  events.subscribe(listener);
  return () => void events.unsubscribe(listener);
}

function channelOf(area: TraceArea) {
  return channel(`hermetic:${area}`);
}
