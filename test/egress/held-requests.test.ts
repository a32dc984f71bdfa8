import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { type Peer, SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

const request = 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n';

/** A host that answers no request for /wait. */
async function open(): Promise<void> {
  rig = await new SessionRig({ allow: ['api.test'] }).start();
  await rig.serve(
    80,
    createServer((socket) => {
      socket.on('data', (data) => {
        if (data.toString().startsWith('GET / ')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer');
      });
    }),
  );
}

function waiting(headers: string): string {
  return `GET http://api.test/wait HTTP/1.1\r\nHost: api.test\r\n${headers}\r\n`;
}

function isClosed({ socket }: Peer): boolean {
  return socket.readableEnded || socket.destroyed;
}

const longHeader = `X: ${'a'.repeat(30_000)}\r\n`;
const manyHeaders = Array.from({ length: 4_000 }, (_, at) => `${at}:\r\n`).join('');

describe('requests that wait for their answer', () => {
  it.each([
    ['one long header', longHeader, 32],
    ['many short headers', manyHeaders, 2],
  ])('with %s are cut off before they take much memory, and the next ones are served', async (_title, headers, perConnection) => {
    await open();
    const peers: Peer[] = [];
    for (let n = 0; n < 50; n++) {
      const peer = await rig.connect();
      peer.socket.write(waiting(headers).repeat(perConnection));
      peers.push(peer);
    }
    await until('some connections are cut', () => peers.some(isClosed));
    for (const { socket } of peers) socket.destroy();
    await until('a new request is answered', async () => {
      const peer = await rig.connect();
      peer.socket.write(request);
      return (await peer.until('answer').catch(() => '')) !== '';
    });
  });

  it('are all served when they are ordinary ones, on every connection of a session', async () => {
    await open();
    const headers = Array.from({ length: 20 }, (_, at) => `X-Header-${at}: ${'v'.repeat(50)}\r\n`).join('');
    const peers: Peer[] = [];
    for (let n = 0; n < 250; n++) {
      const peer = await rig.connect();
      peer.socket.write(waiting(headers).repeat(5));
      peers.push(peer);
    }
    const last = await rig.connect();
    last.socket.write(request);
    await last.until('answer');
    expect(peers.filter(isClosed)).toEqual([]);
  });

  it('with more than 32 KB of headers are refused', async () => {
    await open();
    const peer = await rig.connect();
    peer.socket.write(waiting(`X: ${'a'.repeat(33_000)}\r\n`));
    expect(await peer.ended()).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('the connection to a host', () => {
  it('that has ended before the first request of its tunnel is closed, and the request gets another one', async () => {
    rig = await new SessionRig({ allow: ['api.test'] }).start();
    const atHost: Socket[] = [];
    await rig.serve(
      80,
      createServer({ allowHalfOpen: true }, (socket) => {
        atHost.push(socket);
        socket.on('error', () => undefined);
        if (atHost.length === 1) socket.resume().end();
        else socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer'));
      }),
    );
    const { peer } = await rig.tunnel('api.test:80');
    await until('the host has ended it', () => atHost[0]?.writableFinished);
    await until('a request is answered', async () => {
      peer.socket.write('GET / HTTP/1.1\r\nHost: api.test\r\n\r\n');
      return await peer.until('answer').catch(() => 'cut');
    });
    expect(peer.text).toContain('answer');
    await until('the first one is closed', () => atHost[0]?.destroyed, { withinMs: 10_000 });
  });

  it('on which it switches the protocol unasked is closed', async () => {
    rig = await new SessionRig({ allow: ['api.test'] }).start();
    const atHost: Socket[] = [];
    await rig.serve(
      80,
      createServer({ allowHalfOpen: true }, (socket) => {
        atHost.push(socket);
        socket.on('error', () => undefined);
        socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'));
      }),
    );
    const peer = await rig.connect();
    peer.socket.write(request);
    expect(await peer.until('\r\n\r\n')).toMatch(/^HTTP\/1\.1 502 /);
    await until('it is closed', () => atHost[0]?.readableEnded || atHost[0]?.destroyed, { withinMs: 10_000 });
  });
});
