import type { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { EgressRules } from '../../src/core/egress.ts';
import { serveDoors } from '../../src/egress/doors.ts';

/**
 * The egress thread with sessions that say where a connection arrived and what the first deny rule is. A line that a program sends is a command:
 * `block HOST`, `crash`, `spin`; any other one is sent back.
 */
if (parentPort) {
  serveDoors(parentPort, workerData as EgressRules, ({ rules, onBlocked }) => {
    const open = new Set<Socket>();
    const accept = (kind: string, socket: Socket): void => {
      open.add(socket.on('error', () => undefined).on('close', () => open.delete(socket)));
      socket.write(`${kind} ${socket.localAddress}:${socket.localPort} ${rules().deny[0]?.text ?? 'no rule'}\n`);
      socket.on('data', (data) => {
        const [word, host = ''] = data.toString().trim().split(' ');
        if (word === 'block') onBlocked({ host, port: 443 }, 'unlisted');
        if (word === 'crash') throw new Error('a bug of the toy');
        socket.write(data);
        for (; word === 'spin'; );
      });
    };
    return {
      acceptAtProxy: (socket) => accept('proxy', socket),
      acceptByName: (socket) => accept('name', socket),
      answerQuery: (query) => Buffer.concat([Buffer.from('answer to '), query]),
      settle: async () => undefined,
      rulesChanged: () => {
        for (const socket of open) socket.destroy();
      },
      close: () => {
        for (const socket of open) socket.destroy();
      },
    };
  });
}
