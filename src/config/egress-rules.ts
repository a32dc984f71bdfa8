import type { EgressRules } from '../core/egress.ts';
import type { Config } from './schema.ts';

/** What the configuration lets restricted sandboxes reach. */
export function egressRules({ network }: Config): EgressRules {
  return { allow: [], deny: [], private: [], directPorts: [...new Set(network.direct_ports)] };
}
