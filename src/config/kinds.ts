import * as z from 'zod';
import { nearest } from '../lib/nearest.ts';
import { notes } from '../lib/setting-kinds.ts';
import { backendNames } from './backend-names.ts';

export function backend() {
  return z.enum(backendNames).register(notes, { expects: `one of ${backendNames.join(', ')}`, code: 'backend/unknown' });
}

const priceNames = ['input', 'output', 'cached_input', 'cache_write'];

/** Of one model, or of several by name. */
export function prices() {
  const price = z.number().min(0).register(notes, { expects: 'a price, 0 or more' });
  const ofModel = z.strictObject({ input: price, output: price, cached_input: price.optional(), cache_write: price.optional() });
  const value = z
    .union([price, ofModel])
    .register(notes, { expects: 'a price, 0 or more, or a map of input, output, cached_input and cache_write', names: priceNames });
  return z.record(z.string().min(1), value).superRefine(areOfOneModelOrNamed).register(notes, {
    expects: 'a map of prices (input, output, cached_input, cache_write), or of names of models to such maps',
    names: priceNames,
  });
}

function areOfOneModelOrNamed(value: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const isPrice = (one: unknown): boolean => typeof one === 'number';
  const [names, all] = [Object.keys(value), Object.values(value)];
  if (!all.some(isPrice)) return;
  const unknown = names.filter((name) => !priceNames.includes(name));
  // Otherwise they may be names of models.
  const areMisspelt = unknown.length < names.length || unknown.every((name) => nearest(name, priceNames));
  if (all.every(isPrice) && unknown.length > 0 && areMisspelt) {
    context.addIssue({ code: 'unrecognized_keys', keys: unknown, input: value });
  } else if (!all.every(isPrice) || !('input' in value && 'output' in value)) {
    context.addIssue({ code: 'custom', message: 'one model has input and output, and several have a map each', input: value });
  }
}

/** `~/` and `$HERMETIC_HOME/` are left for the loader, which knows what they mean. */
export function hostPath() {
  return z
    .string()
    .regex(/^(\/|~\/|\$HERMETIC_HOME\/)[^\0]*$/)
    .register(notes, { expects: 'an absolute path, or one that starts with ~/ or $HERMETIC_HOME/' });
}
