import { randomInt } from 'node:crypto';

/** Without letters and digits that people mistake for each other. */
const signs = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';

/** A random code that a person can read out and type. */
export function shortCode(length: number): string {
  return Array.from({ length }, () => signs[randomInt(signs.length)]).join('');
}
