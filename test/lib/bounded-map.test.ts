import { expect, it } from 'vitest';
import { BoundedMap } from '../../src/lib/bounded-map.ts';

it('forgets what was set longest ago, and nothing before it is full', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect([map.get('a'), map.get('b')]).toEqual([3, 2]);
  map.set('c', 4);
  expect([map.has('a'), map.has('b'), map.has('c')]).toEqual([true, false, true]);
  expect(map.delete('a')).toBe(true);
  expect(map.get('a')).toBeUndefined();
});
