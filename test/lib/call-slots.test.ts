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
