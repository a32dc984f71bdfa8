import { hash, timingSafeEqual } from 'node:crypto';

/** A shorter secret can be guessed. */
export const minSecretCharacters = 32;

/** Security: takes as long whatever is wrong with what was given, also its length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}
