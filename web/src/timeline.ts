import type { Activity } from '../../src/core/channel.ts';
import type { Call, LiveEvent, Message, Page } from './wire.ts';

/** A chat as the page knows it. What arrives twice, or late, changes nothing. */
export interface Timeline {
  messages: ReadonlyMap<string, Message>;
  calls: ReadonlyMap<string, Call>;
  turn: string | undefined;
  /** Everything up to this change is here. */
  seq: number;
  /** Of the messages from this position on none is missing. */
  from: number;
  isLoaded: boolean;
}

export type Item = { kind: 'message'; key: string; message: Message } | { kind: 'call'; key: string; call: Call };

export const emptyTimeline: Timeline = { messages: new Map(), calls: new Map(), turn: undefined, seq: 0, from: 0, isLoaded: false };

const maxOutput = 64 * 1024;

/** Some providers count their calls anew in every turn. */
export function callKey({ turn, call }: Pick<Call, 'turn' | 'call'>): string {
  return `${turn}/${call}`;
}

export function withPage(timeline: Timeline, page: Page): Timeline {
  const messages = merged(timeline.messages, page.messages);
  const from = page.hasMore ? (page.messages[0]?.position ?? 0) : 0;
  return { ...timeline, messages, from, seq: timeline.isLoaded ? timeline.seq : page.seq, isLoaded: true };
}

export function withMessage(timeline: Timeline, message: Message): Timeline {
  return { ...timeline, messages: merged(timeline.messages, [message]), seq: Math.max(timeline.seq, message.seq) };
}

export function withEvent(timeline: Timeline, event: LiveEvent): Timeline {
  if (event.kind === 'activity') return withActivity(timeline, event.activity, event.after);
  if (event.kind !== 'now') return timeline;
  const calls = new Map<string, Call>();
  for (const [key, call] of timeline.calls) calls.set(key, call.state === 'running' ? { ...call, state: 'interrupted' } : call);
  for (const call of event.calls) calls.set(callKey(call), call);
  return { ...timeline, turn: event.turn, calls };
}

function withActivity(timeline: Timeline, activity: Activity, after: number | undefined): Timeline {
  if (activity.kind === 'turn-started') return { ...timeline, turn: activity.turn };
  if (activity.kind === 'turn-ended') {
    const turn = timeline.turn === activity.turn ? undefined : timeline.turn;
    const ended = [...timeline.calls].map(
      ([key, call]) =>
        [
          key,
          call.turn === activity.turn && call.state === 'running'
            ? { ...call, state: 'failed' as const, reason: 'interrupted' as const }
            : call,
        ] as const,
    );
    return { ...timeline, turn, calls: new Map(ended) };
  }
  const call = timeline.calls.get(callKey(activity));
  if (activity.kind === 'tool-started') {
    const { turn, tool, input } = activity;
    return withCall(timeline, { call: activity.call, turn, tool, input, output: '', state: 'running', after });
  }
  if (!call) return timeline;
  if (activity.kind === 'tool-output') return withCall(timeline, { ...call, output: (call.output + activity.text).slice(-maxOutput) });
  if (activity.kind === 'tool-waiting')
    return call.state === 'running' ? withCall(timeline, { ...call, waiting: activity.text }) : timeline;
  const { kind: state, exitCode, reason } = activity.outcome;
  return withCall(timeline, { ...call, waiting: undefined, state, exitCode, reason, output: call.output || activity.text });
}

function withCall(timeline: Timeline, call: Call): Timeline {
  return { ...timeline, calls: new Map(timeline.calls).set(callKey(call), call) };
}

function merged(messages: Timeline['messages'], more: readonly Message[]): Timeline['messages'] {
  const all = new Map(messages);
  for (const message of more) if ((all.get(message.id)?.seq ?? 0) < message.seq) all.set(message.id, message);
  return all;
}

/** In the order in which it is shown: calls after the message they came after. */
export function itemsOf({ messages, calls, from }: Timeline): Item[] {
  const placed = [
    ...[...messages.values()]
      .filter(({ position }) => position >= from)
      .map((message) => ({ place: message.position, item: { kind: 'message', key: `m ${message.id}`, message } as const })),
    ...[...calls.values()]
      // What belongs to messages that are not here yet comes with them.
      .filter(({ after }) => (after ?? Infinity) >= from)
      .map((call) => ({
        place: (call.after ?? Infinity) + 0.5,
        item: { kind: 'call', key: `c ${callKey(call)}`, call } as const,
      })),
  ];
  // Sorting keeps the order of what has the same place.
  return placed.sort((one, other) => (one.place === other.place ? 0 : one.place - other.place)).map(({ item }) => item);
}
