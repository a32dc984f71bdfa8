import { expect, it } from 'vitest';
import { durationText } from '../../src/lib/duration.ts';

it.each([
  [0, '0 s'],
  [-5000, '0 s'],
  [12_400, '12 s'],
  [59_600, '1 min'],
  [300_000, '5 min'],
  [310_000, '5 min 10 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [5_400_000, '1 h 30 min'],
  [172_800_000, '2 d'],
  [183_600_000, '2 d 3 h'],
])('formats %i ms for people', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
