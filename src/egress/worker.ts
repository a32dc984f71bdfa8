import { parentPort, workerData } from 'node:worker_threads';
import type { EgressRules } from '../core/egress.ts';
import { serveDoors } from './doors.ts';

if (parentPort) {
  serveDoors(parentPort, workerData as EgressRules, () => ({
    acceptAtProxy: (socket) => socket.destroy(),
    acceptByName: (socket) => socket.destroy(),
    answerQuery: () => undefined,
    rulesChanged: () => undefined,
    close: () => undefined,
  }));
}
