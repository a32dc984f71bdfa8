import { hash, timingSafeEqual } from 'node:crypto';

/** A shorter secret can be guessed. */
export const minSecretCharacters = 32;

/** Security: takes the same time for every wrong value, also one of another length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}
