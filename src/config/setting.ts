import type { Problem } from './explain.ts';
import type { ConfigKey } from './keys.ts';

/** Where a key's value comes from. */
export type Origin =
  | { source: 'default' }
  | { source: 'config.yaml'; line: number }
  | { source: '.env'; variable: string; line: number }
  | { source: 'environment'; variable: string };

export interface Setting {
  key: ConfigKey;
  /** As it was written; the schema has accepted it. */
  value: unknown;
  origin: Origin;
}

/** The settings of one source of configuration. */
export interface Layer {
  settings: Setting[];
  problems: Problem[];
  /** Settings that load although this version does not use them. */
  warnings: Problem[];
  /** Variables that such settings name as the place of a token. */
  tokenVariables: string[];
}
