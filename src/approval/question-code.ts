import { randomInt } from 'node:crypto';

/** Without letters and digits that people mistake for each other, and without vowels, which make words. */
const signs = '23456789BCDFGHJKMNPQRSTVWXZ';
const length = 6;

/** Something a person can read out and type. */
export function newCode(): string {
  return Array.from({ length }, () => signs[randomInt(signs.length)]).join('');
}
