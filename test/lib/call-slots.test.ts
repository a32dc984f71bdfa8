import { expect, it } from 'vitest';
import { CallSlots } from '../../src/lib/call-slots.ts';

it('runs a limited number of calls at once and the others in order, also after some of them fail', async () => {
  const slots = new CallSlots(2);
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const runs = ends.map(({ promise }, index) =>
    slots.run(async () => {
      begun.push(index);
      await promise;
      return index;
    }),
  );
  expect(begun).toEqual([0, 1]);
  expect(slots.isFull).toBe(true);
  ends[1]?.reject(new Error('failed'));
  await expect(runs[1]).rejects.toThrow('failed');
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  expect(await Promise.all([runs[0], runs[2], runs[3], runs[4]])).toEqual([0, 2, 3, 4]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  expect(slots.isFull).toBe(false);
});

it('a call that is aborted while it waits never begins, and the next one takes its turn', async () => {
  const slots = new CallSlots(1);
  const first = Promise.withResolvers<void>();
  const begun: number[] = [];
  const leaving = new AbortController();
  const runs = [
    slots.run(async () => await first.promise),
    slots.run(async () => void begun.push(1), leaving.signal),
    slots.run(async () => void begun.push(2)),
  ];
  leaving.abort(new Error('gone'));
  await expect(runs[1]).rejects.toThrow('gone');
  first.resolve();
  await runs[2];
  expect(begun).toEqual([2]);
  await expect(slots.run(async () => void begun.push(3), leaving.signal)).rejects.toThrow('gone');
  expect([begun, slots.isFull]).toEqual([[2], false]);
});

it('a call that is aborted between its turn and its beginning never begins', async () => {
  for (let moments = 0; moments < 12; moments++) {
    const slots = new CallSlots(1);
    const first = Promise.withResolvers<void>();
    const leaving = new AbortController();
    const states: boolean[] = [];
    void slots.run(async () => await first.promise);
    const second = slots.run(async () => void states.push(leaving.signal.aborted), leaving.signal).catch(() => undefined);
    first.resolve();
    for (let moment = 0; moment < moments; moment++) await Promise.resolve();
    leaving.abort(new Error('gone'));
    await second;
    expect(states).not.toContain(true);
    expect(slots.isFull).toBe(false);
  }
});
