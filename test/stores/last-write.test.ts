import { expect, it } from 'vitest';
import { HermeticError } from '../../src/core/errors.ts';
import { LastWrite } from '../../src/stores/last-write.ts';

const full = new HermeticError('store/failed', 'No space is left.');

it('many who ask at once share one write, and none is made while the last one is young', async () => {
  let now = 0;
  let writes = 0;
  const last = new LastWrite(() => now);
  const write = async (): Promise<void> => {
    writes += 1;
  };
  const ask = () => Promise.all(Array.from({ length: 100 }, () => last.failure(5000, write)));
  expect(new Set(await ask())).toEqual(new Set([undefined]));
  now = 5000;
  await ask();
  expect(writes).toBe(1);
  last.ended();
  now = 10_000;
  await ask();
  expect(writes).toBe(1);
  now = 10_001;
  await ask();
  expect(writes).toBe(2);
});

it('a write that fails is told until one succeeds, and what was wrong with the write itself is not', async () => {
  let now = 0;
  const last = new LastWrite(() => now);
  const ask = (write: () => Promise<unknown>) => last.failure(5000, write);
  expect(await ask(() => Promise.reject(full))).toBe(full);
  expect(await ask(() => expect.unreachable('the last one is young'))).toBe(full);
  last.ended(new Error('there is no such conversation'));
  expect(await ask(() => expect.unreachable('the last one is young'))).toBe(full);
  now = 6000;
  expect(await ask(() => Promise.resolve())).toBeUndefined();
  last.ended(full);
  expect(await ask(() => expect.unreachable('the last one is young'))).toBe(full);
});

it('a write of its own that fails in any way is told, and not tried at every look', async () => {
  let writes = 0;
  const last = new LastWrite(() => 0);
  const damaged = new HermeticError('store/corrupt', 'It is damaged.');
  const write = async () => {
    writes += 1;
    throw damaged;
  };
  for (let look = 0; look < 10; look++) expect(await last.failure(5000, write)).toBe(damaged);
  expect(writes).toBe(1);
});
