import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { helloOfNode } from './hello-bytes.ts';
import { SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

const rounds = Number(process.env.HERMETIC_FUZZ_ROUNDS ?? 300);
const seed = Number(process.env.HERMETIC_FUZZ_SEED ?? Date.now() % 1_000_000);

/** Numbers below `end`, the same for each seed (mulberry32). */
function randomNumbers(start: number): (end: number) => number {
  let state = start;
  return (end) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
}

describe(`a client that sends garbage (seed ${seed})`, () => {
  it('harms neither other clients nor the count of connections, and reaches no other host', async () => {
    const maxConnections = 200;
    const hosts = new Set<string | undefined>();
    rig = await new SessionRig({
      allow: ['api.test', 'api.test:7'],
      dialer: { maxConnections },
      limits: { firstByteMs: 200, openingMs: 200, idleMs: 200, silentMs: 200 },
    }).start();
    await rig.serve(
      80,
      createHttpServer((request, response) => {
        hosts.add(request.headers.host);
        request.resume();
        response.end('answer');
      }),
    );
    for (const port of [7, 443])
      await rig.serve(
        port,
        createServer((socket) => socket.pipe(socket)),
      );

    const random = randomNumbers(seed);
    const hello = await helloOfNode({ servername: 'api.test' });
    const connectHead = 'CONNECT api.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n';
    const socksHead = Buffer.from([5, 1, 0, 5, 1, 0, 3, 8, ...Buffer.from('api.test'), 0, 80]);
    const seeds = [
      Buffer.from('GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'),
      Buffer.from('POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'),
      Buffer.from('GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
      Buffer.concat([Buffer.from(connectHead), hello]),
      Buffer.from('CONNECT api.test:80 HTTP/1.1\r\nHost: api.test\r\n\r\nGET / HTTP/1.1\r\nHost: api.test\r\n\r\n'),
      Buffer.concat([socksHead, Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')]),
    ];
    /** One of the seeds with some bytes changed, left out or doubled. */
    const mutant = (): Buffer => {
      const bytes = [...(seeds[random(seeds.length)] ?? [])];
      for (let n = random(4); n > 0; n--) {
        const at = random(bytes.length);
        const kind = random(4);
        if (kind === 0) bytes[at] = random(256);
        else if (kind === 1) bytes.splice(at, 1 + random(20));
        else if (kind === 2) bytes.splice(at, 0, ...bytes.slice(at, at + 1 + random(60)));
        else bytes.splice(at, 0, ...Array.from({ length: random(8) }, () => random(256)));
      }
      return Buffer.from(bytes);
    };

    const one = async (): Promise<void> => {
      const peer = random(8) === 0 ? await rig.connectByName('api.test', [80, 443, 7][random(3)] ?? 7) : await rig.connect();
      const bytes = random(10) === 0 ? Buffer.from(Array.from({ length: random(300) }, () => random(256))) : mutant();
      for (let at = 0; at < bytes.length; ) {
        const size = random(3) === 0 ? 1 + random(9) : bytes.length;
        if (peer.socket.writable) await new Promise((resolve) => peer.socket.write(bytes.subarray(at, at + size), resolve));
        at += size;
      }
      const ending = random(4);
      if (ending === 0) peer.socket.resetAndDestroy();
      else if (ending === 1) peer.socket.destroy();
      else if (ending === 2) peer.socket.end();
      else {
        // A tunnel on which both have spoken stays open.
        const { socket } = peer;
        await until('there is an answer, or the connection is cut', () => peer.text !== '' || socket.readableEnded || socket.destroyed);
        socket.destroy();
      }
    };
    for (let n = 0; n < rounds; n += 10) await Promise.all(Array.from({ length: 10 }, one));

    for (const host of hosts) expect(['api.test', undefined]).toContain(host);
    const { peer } = await rig.tunnel('api.test:7');
    peer.socket.write('still here');
    await peer.until('still here');
    peer.socket.destroy();
    let free = 0;
    await until('all connections are released', () => {
      while (rig.dialer.admit()) free += 1;
      return free === maxConnections;
    });
  });
});
