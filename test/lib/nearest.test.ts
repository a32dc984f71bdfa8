import { describe, expect, test } from 'vitest';
import { editDistance, nearest } from '../../src/lib/nearest.ts';

describe('nearest', () => {
  test('finds a word with a letter missing, added, wrong or swapped', () => {
    const candidates = ['docker', 'podman', 'local'];
    expect(['docer', 'dockerr', 'docket', 'dcoker'].map((word) => nearest(word, candidates))).toEqual(Array(4).fill('docker'));
  });

  test('compares words without case', () => {
    expect(nearest('DOCKER', ['docker'])).toBe('docker');
  });

  test('suggests nothing when nothing is close', () => {
    expect(nearest('kubernetes', ['local', 'ssh'])).toBeUndefined();
    expect(nearest('x', [])).toBeUndefined();
  });

  test('counts two swapped neighbours as one mistake', () => {
    expect(editDistance('ab', 'ba')).toBe(1);
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('same', 'same')).toBe(0);
  });
});
