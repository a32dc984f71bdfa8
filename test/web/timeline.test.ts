import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyTimeline, itemsOf, type Timeline, withEvent, withMessage, withPage } from '../../web/src/timeline.ts';
import type { LiveEvent, Message, Page } from '../../web/src/wire.ts';

const message = (id: string, position: number, seq = position, text = id): Message => ({
  ...{ id, position, seq, text, author: 'us', buttons: [], files: [], at: '2026-01-01T00:00:00.000Z' },
});
const page = (messages: Message[], seq: number, hasMore = false): Page => ({ title: '', messages, seq, hasMore, limits: { fileBytes: 1 } });
const shown = (timeline: Timeline) =>
  itemsOf(timeline).map((item) => (item.kind === 'message' ? item.message.text : `[${item.call.call} ${item.call.state}]`));
const started = (call: string, after?: number): LiveEvent => ({
  kind: 'activity',
  activity: { kind: 'tool-started', turn: 't', call, tool: 'terminal', input: {} },
  after,
});

describe('the timeline of a page', () => {
  it('a timeline is the same for any order and repetition of changes', () => {
    const versions = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 20 }).map((ids) => {
      const positions = new Map<number, number>();
      return ids.map((id, index) => {
        const seq = index + 1;
        if (!positions.has(id)) positions.set(id, seq);
        return message(`m${id}`, positions.get(id) ?? seq, seq, `m${id} at ${seq}`);
      });
    });
    const arrivals = versions.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray([...all, ...all], { minLength: all.length * 2 })),
    );
    fc.assert(
      fc.property(arrivals, ([all, arriving]) => {
        const inOrder = all.reduce(withMessage, emptyTimeline);
        const asTheyCame = arriving.reduce(withMessage, emptyTimeline);
        expect(shown(asTheyCame)).toEqual(shown(inOrder));
        expect(asTheyCame.seq).toBe(all.length);
      }),
      { seed: 10 },
    );
  });

  it('continues from the number of the first page, and shows no message whose neighbours are missing', () => {
    let timeline = withPage(emptyTimeline, page([message('c', 3), message('d', 4)], 7, true));
    expect(timeline.seq).toBe(7);
    timeline = withMessage(timeline, message('a', 1, 8, 'a, edited'));
    expect(shown(timeline)).toEqual(['c', 'd']);
    timeline = withPage(timeline, page([message('a', 1), message('b', 2)], 9));
    expect(shown(timeline)).toEqual(['a, edited', 'b', 'c', 'd']);
    expect(timeline.seq).toBe(8);
  });

  it('shows calls below the message that they followed', () => {
    let timeline = withPage(emptyTimeline, page([message('question', 1)], 1));
    timeline = withEvent(timeline, started('c1', 1));
    timeline = withEvent(timeline, started('c2', 1));
    timeline = withMessage(timeline, message('answer', 2));
    timeline = withEvent(timeline, {
      kind: 'activity',
      activity: { kind: 'tool-ended', turn: 't', call: 'c1', outcome: { kind: 'done' }, text: '' },
      after: 2,
    });
    expect(shown(timeline)).toEqual(['question', '[c1 done]', '[c2 running]', 'answer']);
    timeline = withEvent(timeline, { kind: 'activity', activity: { kind: 'turn-ended', turn: 't' }, after: 2 });
    expect(shown(timeline)).toEqual(['question', '[c1 done]', '[c2 failed]', 'answer']);
  });

  it('separates the calls of two turns with the same id', () => {
    const act = (activity: Extract<LiveEvent, { kind: 'activity' }>['activity']): LiveEvent => ({ kind: 'activity', activity, after: 1 });
    const run = (turn: string): LiveEvent[] => [
      act({ kind: 'tool-started', turn, call: 'call_0', tool: 'terminal', input: {} }),
      act({ kind: 'tool-output', turn, call: 'call_0', text: turn }),
      act({ kind: 'tool-ended', turn, call: 'call_0', outcome: { kind: 'done' }, text: '' }),
    ];
    const cards = (timeline: Timeline) =>
      itemsOf(timeline).map((item) => [item.key, item.kind === 'call' && [item.call.turn, item.call.output]]);
    const live = [...run('t1'), ...run('t2')].reduce(withEvent, emptyTimeline);
    expect(cards(live).map(([, card]) => card)).toEqual([
      ['t1', 't1'],
      ['t2', 't2'],
    ]);
    expect(new Set(cards(live).map(([key]) => key)).size).toBe(2);
    expect(cards(withEvent(emptyTimeline, { kind: 'now', calls: [...live.calls.values()] }))).toEqual(cards(live));
  });

  it('shows a call as interrupted that the restarted gateway no longer runs', () => {
    let timeline = withEvent(emptyTimeline, { kind: 'activity', activity: { kind: 'turn-started', turn: 't' }, after: undefined });
    timeline = withEvent(timeline, started('c1'));
    timeline = withEvent(timeline, { kind: 'now', calls: [] });
    expect([timeline.turn, shown(timeline)]).toEqual([undefined, ['[c1 interrupted]']]);
  });
});
