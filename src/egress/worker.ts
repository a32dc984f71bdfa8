import { parentPort, workerData } from 'node:worker_threads';
import type { EgressRules } from '../core/egress.ts';
import { Dialer } from './dial.ts';
import { serveDoors } from './doors.ts';
import { Interceptor } from './interceptor.ts';
import { SessionEgress } from './session-egress.ts';

if (parentPort) {
  const dialer = new Dialer();
  const interceptor = new Interceptor();
  serveDoors(parentPort, workerData as EgressRules, (parts) => new SessionEgress({ ...parts, dialer, interceptor }));
}
