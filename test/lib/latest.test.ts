import { expect, it } from 'vitest';
import { Latest } from '../../src/lib/latest.ts';
import { collectGarbage } from '../garbage.ts';
import { until } from '../until.ts';

it('forgets the least recent unused objects, and returns the same object while it is held or needed', async () => {
  const latest = new Latest<{ id: number; isOpen: boolean }>({ max: 10, isNeeded: ({ isOpen }) => isOpen });
  const had = { id: 0, isOpen: false };
  latest.set('had', had);
  latest.set('open', { id: 1, isOpen: true });
  for (let id = 2; id < 1_000; id++) latest.set(`${id}`, { id, isOpen: false });
  expect(latest.values()).toContain(had);
  await until('the others are forgotten', () => {
    collectGarbage();
    return latest.size === 11;
  });
  expect(latest.get('had')).toBe(had);
  expect(latest.get('open')).toEqual({ id: 1, isOpen: true });
  expect(latest.get('2')).toBeUndefined();
  expect(latest.get('999')).toEqual({ id: 999, isOpen: false });
});

it('keeps an entry that was asked for again', () => {
  const latest = new Latest<{ id: number }>({ max: 2 });
  const first = { id: 1 };
  latest.set('1', first);
  latest.set('2', { id: 2 });
  latest.get('1');
  latest.set('3', { id: 3 });
  expect(
    latest
      .values()
      .map(({ id }) => id)
      .slice(0, 2),
  ).toEqual([1, 3]);
});
