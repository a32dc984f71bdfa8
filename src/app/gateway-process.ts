import { join } from 'node:path';
import { instanceLock } from '../lib/instance.ts';
import { lockHolder } from '../lib/process-facts.ts';

/** Of programs that talk to people in the name of one home, there is one at a time. */
export function gatewaySocket(home: string): string {
  return join(home, 'gateway.sock');
}

/** The process of that program; undefined when none runs, or it cannot be seen. */
export function gatewayProcess(home: string): number | undefined {
  return lockHolder(instanceLock(gatewaySocket(home)));
}
