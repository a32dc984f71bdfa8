import { hash } from 'node:crypto';

/** JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Equal for equal values, and for no others. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}
