// Runs as a program of its own, inside the network namespace of one sandbox: opens the sockets of its order, hands them one after the other to the
// egress thread that started it, and is then ended by it. Plain JavaScript: removing types would make every opening take twice as long.
//
//   $1 the order, `OpenerOrder` in messages.ts as JSON
//
// Sends an `OpenerReport` for each socket, with the socket, and goes on with the next one at any answer.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const retryMs = 2;
const { sockets, outside, maxMs } = JSON.parse(process.argv[2]);
const deadline = Date.now() + maxMs;

// The gateway is gone, or has all it wants.
process.on('disconnect', () => process.exit());
setTimeout(() => process.exit(1), maxMs);

// Security: never opens anything in the network of the gateway itself.
if (readlinkSync('/proc/self/ns/net') === outside) await report({ kind: 'failed', reason: 'it is not in a network of its own' });

for (const { protocol, address, port } of sockets) {
  try {
    const socket = await open(protocol, address, port);
    // In the turn of the event loop in which it was opened: this process never takes a connection itself.
    const answer = report({ kind: 'opened' }, socket);
    await answer;
  } catch (error) {
    await report({ kind: 'failed', reason: error.message, takenPort: error.code === 'EADDRINUSE' ? port : undefined });
  }
}

async function open(protocol, address, port) {
  for (;;) {
    try {
      return await (protocol === 'tcp' ? listen(address, port) : bind(address, port));
    } catch (error) {
      // The loopback interface is not up yet.
      if (error.code !== 'EADDRNOTAVAIL' || Date.now() > deadline) throw error;
      await delay(retryMs);
    }
  }
}

async function listen(host, port) {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  return server;
}

async function bind(address, port) {
  const socket = createSocket('udp4');
  socket.bind({ address, port, exclusive: true });
  await once(socket, 'listening');
  return socket;
}

async function report(message, socket) {
  const answered = once(process, 'message');
  process.send(message, socket, undefined, () => socket?.close());
  await answered;
}
