import { expect, it } from 'vitest';
import { IdleMemory } from '../../src/lib/idle-memory.ts';

const mebibyte = 1024 * 1024;

it('collects memory once after work that took much of it, and not during work', () => {
  let resident = 80 * mebibyte;
  let collections = 0;
  const memory = new IdleMemory({
    residentBytes: () => resident,
    collect: () => {
      collections += 1;
      resident = 100 * mebibyte;
    },
  });
  // After the start, which takes much as well.
  memory.look(true);
  expect(collections).toBe(0);
  memory.look(true);
  memory.look(true);
  expect(collections).toBe(1);
  collections = 0;
  resident = 300 * mebibyte;
  memory.look(false);
  memory.look(true);
  expect(collections).toBe(0);
  memory.look(true);
  expect(collections).toBe(1);
  memory.look(true);
  resident = 120 * mebibyte;
  memory.look(true);
  expect(collections).toBe(1);
});

/** At least so much more is resident meanwhile; pages that the heap has already do not count. */
function takeMemory(bytes: number): void {
  const before = process.memoryUsage.rss();
  const taken: object[][] = [];
  while (process.memoryUsage.rss() - before < bytes) taken.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
}

it('returns collected memory to the system', () => {
  const before = process.memoryUsage.rss();
  const memory = new IdleMemory();
  takeMemory(128 * mebibyte);
  memory.look(true);
  memory.look(true);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * mebibyte);
});
