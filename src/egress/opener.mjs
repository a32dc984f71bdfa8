// Runs as a program of its own, inside the network namespace of one sandbox: opens the sockets of its order, hands them one after the other to the
// egress thread that started it, and is then ended by it. Plain JavaScript: removing types would make every opening take twice as long.
//
//   $1 the order, `OpenerOrder` in messages.ts as JSON   descriptor 4: closes when the gateway dies
//
// Sends an `OpenerReport` for each socket, with the socket, and opens the next one at any answer.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { createServer, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const retryMs = 2;
const { sockets, outside, maxMs } = JSON.parse(process.argv[2]);

// Descriptor 4 closes when the gateway dies. The end of the IPC channel is not always told: not when a socket is being sent.
new Socket({ fd: 4 }).on('close', () => process.exit()).resume();
setTimeout(() => process.exit(1), maxMs);

const namespace = readlinkSync('/proc/self/ns/net');
// Security: never opens anything in the network of the gateway itself.
if (namespace === outside) await fail('it is not in a network of its own');

while (!isLoopbackUp()) await delay(retryMs);

for (const { protocol, address, port } of sockets) {
  try {
    const socket = await (protocol === 'tcp' ? listen(address, port) : bind(address, port));
    // In the turn of the event loop in which it was opened: this process never takes a connection itself.
    await hand(socket);
  } catch (error) {
    await fail(error.message, error.code === 'EADDRINUSE' ? port : undefined);
  }
}

/** Only then can programs inside connect. Some kernels let a socket be opened before. */
function isLoopbackUp() {
  return networkInterfaces().lo?.some(({ address }) => address === '127.0.0.1') ?? false;
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

async function hand(socket) {
  const answered = once(process, 'message');
  process.send({ kind: 'opened', namespace }, socket, undefined, () => socket.close());
  await answered;
}

/** Then the egress thread ends this program. */
async function fail(reason, takenPort) {
  process.send({ kind: 'failed', reason, takenPort }, () => undefined);
  await new Promise(() => undefined);
}
