import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RateLimit } from '../../src/core/channel.ts';
import { Pace, type Waiting } from '../../src/gateway/outbox/pace.ts';

const never = { signal: new AbortController().signal };
const all: RateLimit = { of: 'all', everyMs: 100, burst: 1 };

describe('the pace of a platform', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** What begins, and when, of so many turns that are asked for at once. */
  async function begun(pace: Pace, turns: readonly { saying: Waiting; name: string; limits: readonly RateLimit[] }[]) {
    const seen: { name: string; atMs: number }[] = [];
    const start = performance.now();
    const ended = turns.map(async ({ saying, name, limits }) => {
      using turn = await pace.turn(saying, limits, never);
      if (turn) seen.push({ name, atMs: Math.round(performance.now() - start) });
    });
    await vi.advanceTimersByTimeAsync(3_600_000);
    await Promise.all(ended);
    return seen;
  }

  it('lets questions go first, then messages and last changes, then drafts, then growth', async () => {
    const order: readonly Waiting[] = ['growth', 'draft', 'change', 'message', 'question', 'growth', 'message'];
    const turns = order.map((saying, index) => ({ saying, name: `${index} ${saying}`, limits: [all] }));
    // The first that comes begins at once.
    expect((await begun(new Pace(), turns)).map(({ name }) => name)).toEqual([
      '0 growth',
      '4 question',
      '2 change',
      '3 message',
      '6 message',
      '1 draft',
      '5 growth',
    ]);
  });

  it('begins a burst at once, and one each interval after it', async () => {
    const limits = [{ of: 'all', everyMs: 100, burst: 3 }];
    const turns = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ saying: 'message' as const, name, limits }));
    expect((await begun(new Pace(), turns)).map(({ atMs }) => atMs)).toEqual([0, 0, 0, 100, 200]);
  });

  it('says whether something waits', async () => {
    const pace = new Pace();
    const turns = [1, 2].map(() => pace.turn('message', [all], never));
    expect(pace.isHeldUp).toBe(true);
    await vi.advanceTimersByTimeAsync(100);
    await Promise.all(turns);
    expect(pace.isHeldUp).toBe(false);
  });

  it('is not held up by a chat that may say nothing yet', async () => {
    const chat = (name: string): RateLimit => ({ of: name, everyMs: 1000, burst: 1 });
    const turns = ['a', 'a', 'b'].map((name) => ({ saying: 'message' as const, name, limits: [all, chat(name)] }));
    expect(await begun(new Pace(), turns)).toEqual([
      { name: 'a', atMs: 0 },
      { name: 'b', atMs: 100 },
      { name: 'a', atMs: 1000 },
    ]);
  });

  it('takes nothing from a limit for what was given up', async () => {
    const pace = new Pace();
    expect(await pace.turn('message', [all], never)).toBeDefined();
    const given = new AbortController();
    const up = pace.turn('growth', [all], { signal: given.signal });
    given.abort();
    expect(await up).toBeUndefined();
    expect(await pace.turn('message', [all], { ...never, withinMs: 99 })).toBeUndefined();
    expect(await begun(pace, [{ saying: 'message', name: 'next', limits: [all] }])).toEqual([{ name: 'next', atMs: 100 }]);
  });

  it('lets signs through only while there is room, and makes others wait for them', async () => {
    const pace = new Pace();
    expect([pace.takeNow([all]), pace.takeNow([all])]).toEqual([true, false]);
    expect(await begun(pace, [{ saying: 'question', name: 'next', limits: [all] }])).toEqual([{ name: 'next', atMs: 100 }]);
  });

  it('lets no sign through before what waits, also when its timer is late', async () => {
    const pace = new Pace();
    pace.takeNow([all]);
    const waiting = pace.turn('growth', [all], never);
    // Time goes on, and no timer has its turn.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 150);
    expect(pace.takeNow([all])).toBe(false);
    expect(await waiting).toBeDefined();
    vi.restoreAllMocks();
  });

  it('hands over no more at once than the platform answers, and what shows progress leaves half of it to the rest', async () => {
    const pace = new Pace(6);
    const begun: string[] = [];
    const ask = (saying: Waiting, name: string) =>
      pace.turn(saying, [], never).then((turn) => {
        begun.push(name);
        return turn;
      });
    const [first] = ['a', 'b', 'c', 'd'].map((name) => ask('growth', name));
    const messages = ['m', 'n', 'o'].map((name) => ask('message', name));
    // Messages leave one place to questions.
    const questions = ['q', 'r'].map((name) => ask('question', name));
    await vi.advanceTimersByTimeAsync(1000);
    expect(begun).toEqual(['a', 'b', 'c', 'm', 'n', 'q']);
    (await first)?.[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(1000);
    expect(begun.slice(6)).toEqual(['r']);
    for (const turn of [questions[0], messages[0]]) (await turn)?.[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(1000);
    expect(begun.slice(7)).toEqual(['o']);
  });

  it('waits for what refusals at several places have in common, and not because of one place', async () => {
    const pace = new Pace();
    const elsewhere: RateLimit = { of: 'another workspace', everyMs: 100, burst: 1 };
    const turns = [
      { saying: 'message' as const, name: 'here', limits: [all] },
      { saying: 'message' as const, name: 'elsewhere', limits: [elsewhere] },
    ];
    for (const ms of [500, 500, 500]) pace.refused('a', [all], ms);
    pace.refused('b', [all], 300);
    expect((await begun(pace, turns)).map(({ atMs }) => atMs)).toEqual([0, 0]);
    for (const place of ['a', 'b', 'c']) pace.refused(place, [all], 500);
    expect(await begun(pace, turns)).toEqual([
      { name: 'elsewhere', atMs: 0 },
      { name: 'here', atMs: 500 },
    ]);
  });

  it('never begins more in a window than its limits allow, and begins everything', async () => {
    const saying = fc.constantFrom<Waiting>('question', 'message', 'change', 'draft', 'growth');
    const turn = fc.record({ saying, chat: fc.constantFrom('a', 'b', 'c') });
    const property = fc.asyncProperty(
      fc.array(turn, { maxLength: 60 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      async (turns, burst, chatBurst) => {
        const limitsFor = (chat: string): readonly RateLimit[] => [
          { of: 'all', everyMs: 40, burst },
          { of: chat, everyMs: 500, burst: chatBurst },
        ];
        const named = turns.map(({ saying: one, chat }) => ({ saying: one, name: chat, limits: limitsFor(chat) }));
        const seen = await begun(new Pace(), named);
        expect(seen).toHaveLength(turns.length);
        for (const name of ['all', 'a', 'b', 'c']) {
          const [everyMs, most] = name === 'all' ? [40, burst] : [500, chatBurst];
          const times = seen.filter((one) => name === 'all' || one.name === name).map(({ atMs }) => atMs);
          const inWindow = (from: number): number => times.filter((at) => at >= from && at < from + 1000).length;
          for (const from of times) expect(inWindow(from)).toBeLessThanOrEqual(most + 1000 / everyMs);
        }
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });
});
