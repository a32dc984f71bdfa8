import { expect, it } from 'vitest';
import { shortCode } from '../../src/lib/short-code.ts';

it('shortCode has as many signs as asked for, none of which is mistaken for another', () => {
  const codes = Array.from({ length: 500 }, () => shortCode(8));
  for (const code of codes) expect(code).toMatch(/^[A-HJKMNP-TV-Z2-9]{8}$/);
  expect(new Set(codes).size).toBe(500);
});
