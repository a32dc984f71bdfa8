import { createHmac } from 'node:crypto';
import type { BoundSecret, Destination, EgressRules } from '../core/egress.ts';
import { placeholderSign as sign } from '../lib/token-formats.ts';

/** Headers that carry credentials. */
export const credentialHeaders: readonly string[] = [
  'authorization',
  'x-api-key',
  'api-key',
  'private-token',
  'x-goog-api-key',
  'x-auth-token',
  'cookie',
];

const minLength = 30;
/** Enough that no text contains it by chance. */
const minRandom = 16;
const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * The word that stands for a secret inside sandboxes: of the length of the value where that leaves enough to be unique, so that answers keep their
 * length. The same name and key give the same word, so sandboxes of equal specs are equal. `prefix` is what programs expect a token to begin with.
 */
export function placeholderFor(name: string, valueLength: number, key: string, prefix = ''): string {
  const length = Math.max(minRandom, Math.max(minLength, valueLength) - prefix.length - sign.length);
  const digits: string[] = [];
  for (let block = 0; digits.length < length; block++) {
    for (const byte of createHmac('sha256', key).update(`${name}\0${block}`).digest()) {
      // No letter is more likely than another.
      if (byte < 252) digits.push(alphabet[byte % alphabet.length] ?? '');
    }
  }
  return prefix + sign + digits.slice(0, length).join('');
}

export function isFor({ destinations }: BoundSecret, { host, port }: Destination): boolean {
  return destinations.some((destination) => destination.host === host && destination.port === port);
}

/** Whether a secret is for it. */
export function isBound({ vault }: EgressRules, destination: Destination): boolean {
  return vault?.secrets.some((secret) => isFor(secret, destination)) ?? false;
}
