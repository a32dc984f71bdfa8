import { HermeticError } from '../core/errors.ts';

/** `reason` is the answer of `Backend.canRestrict`. */
export function cannotRestrict(kind: string, reason: string): HermeticError {
  return new HermeticError('backend/cannot-restrict', `The ${kind} backend cannot restrict the network of a sandbox: ${reason}.`, {
    hint: 'Remove the obstacle, use another backend, or set terminal.network to none or open.',
  });
}
