import { expect, it } from 'vitest';
import { backoffMs } from '../../src/lib/backoff.ts';

it('backoffMs doubles with every failure up to the longest wait', () => {
  expect([1, 2, 3, 4, 5].map((failures) => backoffMs(failures, { firstMs: 100, maxMs: 1000 }))).toEqual([100, 200, 400, 800, 1000]);
});

it('backoffMs stays at the longest wait, however many failures there were', () => {
  expect(backoffMs(1_000_000, { firstMs: 100, maxMs: 1000 })).toBe(1000);
});

it('backoffMs spreads the waits between half and all of it', () => {
  const waits = Array.from({ length: 200 }, () => backoffMs(2, { firstMs: 500, maxMs: 5000, isSpread: true }));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(500);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
  expect(new Set(waits).size).toBeGreaterThan(20);
});
