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
  memory.look(true);
  memory.look(true);
  expect(collections).toBe(0);
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

it('returns collected memory to the system', () => {
  const memory = new IdleMemory();
  const before = process.memoryUsage.rss();
  let garbage: object[] | undefined = Array.from({ length: 3_000_000 }, (_, index) => ({ index }));
  expect(garbage).toHaveLength(3_000_000);
  garbage = undefined;
  const grown = process.memoryUsage.rss() - before;
  memory.look(true);
  memory.look(true);
  expect(process.memoryUsage.rss() - before).toBeLessThan(grown / 2);
});
