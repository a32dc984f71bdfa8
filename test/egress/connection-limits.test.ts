import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { type Peer, type RigOptions, SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

async function open(options: RigOptions = {}): Promise<void> {
  rig = await new SessionRig({ allow: ['api.test', 'api.test:7'], ...options }).start();
  await rig.serve(
    80,
    createHttpServer((_request, response) => response.end('answer')),
  );
  await rig.serve(
    7,
    createServer((socket) => socket.pipe(socket)),
  );
}

const request = 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n';

describe('the connections of a session', () => {
  it('are at most 256; more are reset and noted, and a closed one makes room', async () => {
    await open();
    const peers: Peer[] = [];
    for (let n = 0; n < 256; n++) peers.push(await rig.connect());
    const surplus = await Promise.all(Array.from({ length: 44 }, async () => await rig.connect()));
    expect(await Promise.all(surplus.map(async (peer) => await peer.closed()))).toEqual(Array(44).fill('reset'));
    expect(rig.blocked).toEqual(Array(44).fill({ host: '127.0.0.1', port: 3128, reason: 'too-many-connections' }));
    peers[0]?.socket.destroy();
    await until('a new connection is served', async () => {
      const peer = await rig.connect();
      peer.socket.write(request);
      return (await peer.until('answer').catch(() => '')) !== '';
    });
  });

  it('share a limit with those of other sessions', async () => {
    await open({ dialer: { maxConnections: 2 } });
    expect([rig.dialer.admit(), rig.dialer.admit()]).toEqual([true, true]);
    const peer = await rig.connectByName('api.test', 7);
    expect(await peer.closed()).toBe('reset');
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 7, reason: 'too-many-connections' }]);
    rig.dialer.release();
    const next = await rig.connectByName('api.test', 7);
    next.socket.write('echo');
    await next.until('echo');
  });

  it('are all released when they are closed, however they end', async () => {
    await open({ dialer: { maxConnections: 6 } });
    const idle = await rig.connect();
    const answered = await rig.connect();
    answered.socket.write(request);
    await answered.until('answer');
    const { peer: tunnel } = await rig.tunnel('api.test:7');
    const { peer: refused } = await rig.tunnel('evil.test:443');
    const byName = await rig.connectByName('api.test', 7);
    const broken = await rig.connect();
    broken.socket.write('\0');
    await broken.closed();
    for (const peer of [idle, answered, refused, byName]) peer.socket.destroy();
    tunnel.socket.resetAndDestroy();
    let free = 0;
    await until('all are released', () => {
      while (rig.dialer.admit()) free += 1;
      return free === 6;
    });
  });
});

describe('time limits', () => {
  it.each([
    ['sends nothing', { firstByteMs: 30 }, ''],
    ['sends its headers slowly', { openingMs: 30 }, 'GET http://api.test/ HTTP/1.1\r\nHost:'],
    ['sends its SOCKS request slowly', { openingMs: 30 }, '\x05\x01'],
    ['sends no second request', { idleMs: 30 }, request],
    ['sends a second request slowly', { idleMs: 30 }, `${request}GET http://api.test/ HT`],
  ])('a client of the proxy that %s is cut', async (_what, limits, text) => {
    await open({ limits });
    const peer = await rig.connect();
    peer.socket.write(text);
    await peer.closed();
  });

  it('a tunnel on which neither side says anything is cut', async () => {
    await open({ limits: { silentMs: 30 } });
    const { peer } = await rig.tunnel('api.test:7');
    expect(await peer.closed()).toBe('reset');
  });

  it('a tunnel whose ClientHello does not go on is cut', async () => {
    await open({ limits: { openingMs: 30 } });
    const { peer } = await rig.tunnel('api.test:7');
    peer.socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1]));
    expect(await peer.closed()).toBe('reset');
  });

  it('a tunnel on which only the host has spoken stays open', async () => {
    await open({ limits: { silentMs: 30 }, allow: ['api.test:22', 'api.test:7'] });
    await rig.serve(
      22,
      createServer((socket) => {
        socket.write('SSH-2.0-test\r\n');
        socket.pipe(socket);
      }),
    );
    const { peer } = await rig.tunnel('api.test:22');
    await peer.until('\r\n');
    // A later tunnel that is cut shows that the time is over.
    const later = await rig.tunnel('api.test:7');
    await later.peer.closed();
    peer.socket.write('still here');
    await peer.until('still here');
  });
});
