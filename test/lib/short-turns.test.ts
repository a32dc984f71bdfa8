import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ShortTurns } from '../../src/lib/short-turns.ts';

/** A clock that says that each piece of work takes 1 ms, and nothing else takes any time. */
function rig(maxMs: number) {
  const done: string[] = [];
  const turns = new ShortTurns(maxMs, () => done.length);
  const work = (name: string) => turns.run(() => done.push(name));
  return { done, turns, work };
}

describe('short turns', () => {
  it('lets work begin at once while its time is not over', () => {
    const { done, work } = rig(3);
    void work('a');
    void work('b');
    expect(done).toEqual(['a', 'b']);
  });

  it('does no more in a round of the event loop than there is time for, in the order in which it came', async () => {
    const { done, work } = rig(3);
    const names = Array.from({ length: 10 }, (_, index) => `${index}`);
    const all = Promise.all(names.map(work));
    const perRound: number[] = [];
    for (let before = done.length; done.length < names.length; before = done.length) {
      await nextRound();
      perRound.push(done.length - before);
    }
    await all;
    expect(done).toEqual(names);
    expect(Math.max(...perRound)).toBe(3);
  });

  it('gives a turn to those who wait before one who asks again', async () => {
    const { done, work } = rig(1);
    const greedy = (async () => {
      for (let index = 0; index < 3; index++) await work('greedy');
    })();
    await Promise.all([greedy, work('other'), work('third')]);
    expect(done).toEqual(['greedy', 'other', 'third', 'greedy', 'greedy']);
  });
});
