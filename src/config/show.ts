import { type ConfigKey, valueAt } from './keys.ts';
import type { Config } from './schema.ts';
import type { Origin } from './setting.ts';

const hidden = '***';

/** A key's value as it may be shown: the values of secrets are replaced, their names are not. */
export function shownValue(key: ConfigKey, config: Config): unknown {
  const value = valueAt(config, key);
  if (!key.notes.secret || value === undefined) return value;
  if (typeof value !== 'object' || value === null) return hidden;
  return Object.fromEntries(Object.keys(value).map((name) => [name, hidden]));
}

export function valueText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function originText(origin: Origin): string {
  if (origin.source === 'default') return 'default';
  if (origin.source === 'config.yaml') return `config.yaml:${origin.line}`;
  return `${origin.source} ${origin.variable}`;
}
