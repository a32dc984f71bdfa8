import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { type Peer, type RigOptions, SessionRig, testCertificate } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

/** Names that TLS clients asked this host for. */
let names: (string | false | null)[] = [];

/** A TLS host on port 443, an echo on 7, a host that speaks first on 22, a web server on 80. */
async function open(options: RigOptions = {}): Promise<SessionRig> {
  names = [];
  rig = await new SessionRig({ allow: ['api.test', 'api.test:7', 'api.test:22'], ...options }).start();
  await rig.serve(
    443,
    createTlsServer(testCertificate, (socket) => {
      names.push(socket.servername);
      socket.on('error', () => undefined);
      socket.pipe(socket);
    }),
  );
  await rig.serve(
    7,
    createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)),
  );
  await rig.serve(
    22,
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.write('SSH-2.0-test\r\n');
      socket.pipe(socket);
    }),
  );
  await rig.serve(
    80,
    createHttpServer((request, response) => response.end(`${request.method} ${request.headers.host}${request.url}\n`)),
  );
  return rig;
}

/** Speaks TLS on the connection; what it sends comes back. Rejects when the connection is cut. */
async function tlsEcho(socket: Socket, servername: string): Promise<string> {
  const secure = connectTls({ socket, servername, rejectUnauthorized: false });
  secure.write('ping');
  const [answer] = (await once(secure, 'data')) as [Buffer];
  secure.destroy();
  return answer.toString();
}

/** The next bytes of a client that has said which version it speaks. */
async function socks(authority: Buffer | string, port: number, command = 1): Promise<{ peer: Peer; reply: number | undefined }> {
  const peer = await rig.connect();
  peer.socket.write(Buffer.from([5, 1, 0]));
  await peer.until('\x05\x00');
  const address = typeof authority === 'string' ? Buffer.from([3, authority.length, ...Buffer.from(authority)]) : authority;
  peer.socket.write(Buffer.from([5, command, 0, ...address, port >> 8, port & 255]));
  const reply = Buffer.from(await peer.until('\x00\x01\x00\x00\x00\x00\x00\x00'), 'latin1');
  return { peer, reply: reply[1] };
}

describe('a tunnel by CONNECT', () => {
  it('carries TLS that names the allowed host', async () => {
    await open();
    const { peer, status } = await rig.tunnel('api.test:443');
    expect(status).toBe('HTTP/1.1 200 Connection Established');
    expect(await tlsEcho(peer.socket, 'api.test')).toBe('ping');
    expect(names).toEqual(['api.test']);
    expect(rig.blocked).toEqual([]);
  });

  it.each(['other.test', ''])('cuts TLS that names %j instead, before the host gets a byte', async (servername) => {
    await open();
    const { peer } = await rig.tunnel('api.test:443');
    await expect(tlsEcho(peer.socket, servername)).rejects.toThrow();
    expect(names).toEqual([]);
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 443, reason: 'other-tls-name' }]);
  });

  it('refuses an unlisted host with 403 and never resolves its name', async () => {
    await open();
    const { peer, status } = await rig.tunnel('evil.test:443');
    expect(status).toBe('HTTP/1.1 403 Blocked');
    expect(await peer.ended()).toContain('X-Hermetic: blocked\r\n');
    expect(peer.text).toContain('evil.test:443 is blocked: no rule of network.allow');
    expect(rig.blocked).toEqual([{ host: 'evil.test', port: 443, reason: 'unlisted' }]);
    expect(rig.lookups).toEqual([]);
  });

  it('passes on what the host says first while the client is silent', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:22');
    expect(await peer.until('\r\n')).toBe('SSH-2.0-test\r\n');
    peer.socket.write('SSH-2.0-client\r\n');
    expect(await peer.until('\r\n')).toBe('SSH-2.0-client\r\n');
  });

  it('carries what the host still sends after the client has ended its half', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:7');
    peer.socket.end('last words');
    expect(await peer.ended()).toMatch(/last words$/);
  });

  it('stays open for a client that has ended its half while the host is silent', async () => {
    await open({ allow: ['api.test:9', 'api.test:7'], limits: { silentMs: 50 } });
    let atHost: Socket | undefined;
    await rig.serve(
      9,
      createServer({ allowHalfOpen: true }, (socket) => {
        atHost = socket.resume();
      }),
    );
    const { peer } = await rig.tunnel('api.test:9');
    peer.socket.end('question');
    await until('the host has the question', () => atHost?.readableEnded);
    // A later tunnel that is cut shows that the time is over.
    const later = await rig.tunnel('api.test:7');
    await later.peer.closed();
    atHost?.end('answer');
    expect(await peer.ended()).toMatch(/answer$/);
  });

  it('carries bytes that the client sends before it has the answer', async () => {
    await open();
    const peer = await rig.connect();
    peer.socket.write('CONNECT api.test:7 HTTP/1.1\r\nHost: api.test:7\r\n\r\nearly bytes');
    await peer.until('HTTP/1.1 200 Connection Established\r\n\r\n');
    await peer.until('early bytes');
  });

  it('parses plain HTTP to port 80 and rewrites its host', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:80');
    peer.socket.write('GET /a HTTP/1.1\r\nHost: other.test\r\n\r\n');
    await peer.until('\r\n\r\nGET api.test/a\n');
    peer.socket.write('GET http://other.test/b HTTP/1.1\r\nHost: other.test\r\n\r\n');
    expect(await peer.ended()).toContain('HTTP/1.1 400 Blocked');
  });
});

describe('SOCKS5', () => {
  it('carries a connection to an allowed name', async () => {
    await open();
    const { peer, reply } = await socks('api.test', 443);
    expect(reply).toBe(0);
    expect(await tlsEcho(peer.socket, 'api.test')).toBe('ping');
  });

  it.each([
    ['BIND', 2, 7],
    ['UDP ASSOCIATE', 3, 7],
  ])('refuses %s', async (_name, command, code) => {
    await open();
    const { peer, reply } = await socks('api.test', 443, command);
    expect(reply).toBe(code);
    await peer.ended();
  });

  it('reaches the name for which the resolver inside gave out an address', async () => {
    await open();
    const byName = await rig.connectByName('api.test', 7);
    const address = byName.socket.remoteAddress?.split('.').map(Number) ?? [];
    const { peer, reply } = await socks(Buffer.from([1, ...address]), 443);
    expect(reply).toBe(0);
    expect(await tlsEcho(peer.socket, 'api.test')).toBe('ping');
  });

  it.each([
    ['a client that insists on a password', [5, 1, 2], [5, 0xff]],
    ['an address of an unknown type', [5, 1, 0, 5, 1, 0, 9], [5, 0, 5, 8, 0, 1, 0, 0, 0, 0, 0, 0]],
  ])('refuses %s', async (_what, sent, answer) => {
    await open();
    const peer = await rig.connect();
    peer.socket.write(Buffer.from(sent));
    expect(Buffer.from(await peer.ended(), 'latin1')).toEqual(Buffer.from(answer));
  });

  it('refuses an unlisted host with the reply for rules', async () => {
    await open();
    const { peer, reply } = await socks('evil.test', 443);
    expect(reply).toBe(2);
    await peer.ended();
    expect(rig.lookups).toEqual([]);
  });
});

describe('a connection by name', () => {
  it('leads to the host whose address the resolver inside gave out', async () => {
    await open();
    const peer = await rig.connectByName('api.test', 443);
    expect(await tlsEcho(peer.socket, 'api.test')).toBe('ping');
  });

  it('is reset and noted when the host is not allowed', async () => {
    await open();
    const peer = await rig.connectByName('evil.test', 443);
    expect(await peer.closed()).toBe('reset');
    expect(rig.blocked).toEqual([{ host: 'evil.test', port: 443, reason: 'unlisted' }]);
    expect(rig.lookups).toEqual([]);
  });

  it('is reset at an address that stands for no name', async () => {
    await open();
    const peer = await rig.connectToAddress('127.64.9.9');
    expect(await peer.closed()).toBe('reset');
    expect(rig.blocked).toEqual([]);
  });

  it('speaks HTTP with that host at port 80', async () => {
    await open();
    const peer = await rig.connectByName('api.test', 80);
    peer.socket.end('GET /x HTTP/1.1\r\nHost: 127.64.0.1\r\n\r\n');
    expect(await peer.ended()).toContain('GET api.test/x');
  });
});

describe('changed rules', () => {
  it('cut an open tunnel to a host that is no longer allowed, and leave the others', async () => {
    await open({ allow: ['api.test:7', 'other.test:7'] });
    const kept = await rig.tunnel('other.test:7');
    const cut = await rig.tunnel('api.test:7');
    cut.peer.socket.write('x');
    await cut.peer.until('x');
    rig.rules = { ...rig.rules, allow: rig.rules.allow.filter(({ host }) => host === 'other.test') };
    rig.session.rulesChanged();
    expect(await cut.peer.closed()).toBe('reset');
    kept.peer.socket.write('still here');
    await kept.peer.until('still here');
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 7, reason: 'unlisted' }]);
  });

  it('closing cuts every connection', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:7');
    const idle = await rig.connect();
    rig.session.close();
    await Promise.all([peer.closed(), idle.closed()]);
    const late = await rig.connect();
    expect(await late.closed()).toBe('reset');
    await until('all connections are released', () => rig.dialer.admit());
  });
});
