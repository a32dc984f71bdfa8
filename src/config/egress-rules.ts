import type { EgressRules } from '../core/egress.ts';
import type { Config } from './schema.ts';

/** What the configuration lets restricted sandboxes reach. */
export function egressRules(_config: Config): EgressRules {
  return { allow: [], deny: [], private: [], directPorts: [22, 443] };
}
