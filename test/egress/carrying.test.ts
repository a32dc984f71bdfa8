import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { type Peer, type RigOptions, SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

/** The last connection that a host has accepted. */
let atHost: Socket;

async function open(options: RigOptions = {}): Promise<void> {
  rig = await new SessionRig({ allow: ['api.test', 'api.test:7', 'other.test', 'other.test:7'], ...options }).start();
  await rig.serve(
    7,
    createServer({ allowHalfOpen: true }, (socket) => {
      atHost = socket;
    }),
  );
}

/** A tunnel on which both sides have spoken, and the host's end of it. */
async function openTunnel(host = 'api.test'): Promise<Peer> {
  const before = atHost;
  const { peer } = await rig.tunnel(`${host}:7`);
  peer.socket.write('x');
  await until('the host has the connection', () => atHost !== before);
  atHost.resume();
  return peer;
}

/** Resolves with a count once it no longer grows. */
async function settled(count: () => number): Promise<number> {
  let last = -1;
  await until('the count no longer grows', async () => {
    const before = last;
    last = count();
    await delay(100);
    return before === last && last > 0;
  });
  return last;
}

describe('a tunnel', () => {
  it('carries what the client still sends after the host has ended its half', async () => {
    await open();
    const peer = await openTunnel();
    let received = '';
    atHost.on('data', (data) => {
      received += data.toString();
    });
    atHost.end('bye');
    expect(await peer.ended()).toMatch(/bye$/);
    peer.socket.end('more from the client');
    await until('the host has it', () => received.endsWith('more from the client'));
    await until('the host sees the end', () => atHost.readableEnded);
  });

  it('is reset for the client when the host resets it', async () => {
    await open();
    const peer = await openTunnel();
    atHost.resetAndDestroy();
    expect(await peer.closed()).toBe('reset');
  });

  it('ends at the host when the client resets it', async () => {
    await open();
    const peer = await openTunnel();
    peer.socket.resetAndDestroy();
    await until('the host sees it', () => atHost.destroyed || atHost.readableEnded);
  });

  it('delivers the last bytes of a client that leaves at once', async () => {
    await open();
    const peer = await openTunnel();
    const bytes = Buffer.alloc(300_000, 1);
    peer.socket.end(bytes);
    await until('the host has all', () => atHost.bytesRead === 1 + bytes.length);
  });

  it('holds little of what a client does not read', async () => {
    await open();
    const peer = await openTunnel();
    peer.socket.pause();
    const total = 200 * 2 ** 20;
    const chunk = Buffer.alloc(2 ** 20);
    const fill = (): void => {
      while (atHost.bytesWritten < total && atHost.write(chunk));
    };
    atHost.on('drain', fill);
    fill();
    // What the kernel has taken is in its buffers or in the tunnel.
    const taken = await settled(() => atHost.bytesWritten - atHost.writableLength);
    expect(taken).toBeLessThan(total / 4);
  });

  it('holds little of what a host does not read', async () => {
    await open();
    const peer = await openTunnel();
    atHost.pause();
    const total = 200 * 2 ** 20;
    const chunk = Buffer.alloc(2 ** 20);
    const fill = (): void => {
      while (peer.socket.bytesWritten < total && peer.socket.write(chunk));
    };
    peer.socket.on('drain', fill);
    fill();
    const taken = await settled(() => peer.socket.bytesWritten - peer.socket.writableLength);
    expect(taken).toBeLessThan(total / 4);
  });
});

describe('a connection whose client does not read', () => {
  it.each(['before', 'after'])('is cut at once when the session closes %s the host has ended its half', async (when) => {
    await open({ dialer: { maxConnections: 1 } });
    const peer = await openTunnel();
    peer.socket.pause();
    while (atHost.write(Buffer.alloc(2 ** 20)) || atHost.bytesWritten < 2 ** 25);
    await settled(() => atHost.bytesWritten - atHost.writableLength);
    if (when === 'after') atHost.end();
    rig.session.close();
    await until('its place is free', () => rig.dialer.admit());
  });
});

describe('an HTTP answer', () => {
  it('is held back for a client that does not read it', async () => {
    await open();
    let sent = 0;
    await rig.serve(
      80,
      createHttpServer((_request, response) => {
        const chunk = Buffer.alloc(2 ** 20);
        const fill = (): void => {
          while (sent < 200 * 2 ** 20 && !response.writableNeedDrain) {
            sent += chunk.length;
            response.write(chunk);
          }
        };
        response.on('drain', fill);
        fill();
      }),
    );
    const peer = await rig.connect();
    peer.socket.pause();
    peer.socket.write('GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n');
    expect(await settled(() => sent)).toBeLessThan(50 * 2 ** 20);
  });

  it('that comes before the whole body of the request is delivered, and the next request is answered', async () => {
    await open();
    await rig.serve(
      80,
      createHttpServer((request, response) => {
        if (request.method === 'GET') response.end('next answer');
        else response.writeHead(413, { Connection: 'close', 'Content-Length': '9' }).end('too large');
      }),
    );
    const peer = await rig.connect();
    const size = 3_000_000;
    peer.socket.write(`POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: ${size}\r\n\r\n`);
    await peer.until('too large');
    peer.socket.write(Buffer.alloc(size));
    peer.socket.write('GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n');
    await peer.until('next answer');
  });
});

describe('changed rules', () => {
  const withoutApi = (): void => {
    rig.rules = { ...rig.rules, allow: rig.rules.allow.filter(({ host }) => host !== 'api.test') };
    rig.session.rulesChanged();
  };

  it('cut a request that waits for its answer, and leave a connection that is idle between requests', async () => {
    await open();
    let waiting = 0;
    await rig.serve(
      80,
      createHttpServer((request, response) => {
        if (request.headers.host === 'api.test') waiting += 1;
        else response.end('answer');
      }),
    );
    const idle = await rig.connect();
    const request = (host: string): string => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    idle.socket.write(request('other.test'));
    await idle.until('answer');
    const busy = await rig.connect();
    busy.socket.write(request('api.test'));
    await until('the host has the request', () => waiting === 1);
    withoutApi();
    expect(await busy.closed()).toBe('reset');
    idle.socket.write(request('other.test'));
    await idle.until('answer');
    idle.socket.write(request('api.test'));
    await idle.until('HTTP/1.1 403 Blocked');
  });

  it('cut an idle connection to port 80 by CONNECT', async () => {
    await open();
    await rig.serve(
      80,
      createHttpServer((_request, response) => response.end('answer')),
    );
    const { peer } = await rig.tunnel('api.test:80');
    peer.socket.write('GET / HTTP/1.1\r\nHost: api.test\r\n\r\n');
    await peer.until('answer');
    withoutApi();
    expect(await peer.closed()).toBe('reset');
  });

  it('cut a connection whose name is being resolved, and it is never made', async () => {
    const answer = Promise.withResolvers<void>();
    let isAsked = false;
    await open({
      lookup: async () => {
        isAsked = true;
        await answer.promise;
        return [{ address: '127.0.0.1', family: 4 }];
      },
    });
    let connections = 0;
    await rig.serve(
      7,
      createServer(() => {
        connections += 1;
      }),
    );
    const peer = await rig.connect();
    peer.socket.write('CONNECT api.test:7 HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('the name is asked for', () => isAsked);
    withoutApi();
    expect(await peer.closed()).toBe('reset');
    answer.resolve();
    await openTunnelAgain();
    expect(connections).toBe(1);
  });

  it('cut a connection to a private address that network.private no longer names', async () => {
    await open();
    const peer = await openTunnel();
    rig.dialer.addressRefusal = () => ({ reason: 'private-address', sentence: '' });
    rig.session.rulesChanged();
    expect(await peer.closed()).toBe('reset');
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 7, reason: 'private-address' }]);
  });
});

/** Shows that connections are made again. */
async function openTunnelAgain(): Promise<void> {
  const { status } = await rig.tunnel('other.test:7');
  expect(status).toContain('200');
}

describe('a client that leaves while its name is resolved', () => {
  it('is noticed, and no connection is made for it', async () => {
    const answer = Promise.withResolvers<void>();
    const asked: string[] = [];
    await open({
      lookup: async (host) => {
        asked.push(host);
        if (host === 'api.test') await answer.promise;
        return [{ address: '127.0.0.1', family: 4 }];
      },
      dialer: { maxConnections: 1 },
    });
    const peer = await rig.connect();
    peer.socket.write('CONNECT api.test:7 HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('the name is asked for', () => asked.length === 1);
    peer.socket.resetAndDestroy();
    await until('its place is free', () => rig.dialer.admit());
    expect(rig.blocked).toEqual([]);
    answer.resolve();
  });
});
