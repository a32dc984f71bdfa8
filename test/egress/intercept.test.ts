import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { BoundSecret } from '../../src/core/egress.ts';
import { credentialHeaders, placeholderFor } from '../../src/egress/bound-secret.ts';
import { HostCertificates, makeAuthority } from '../../src/egress/certificates.ts';
import { until } from '../until.ts';
import { type RigOptions, SessionRig } from './session-rig.ts';

const value = `ghp_${'R'.repeat(36)}`;
const placeholder = placeholderFor('TOKEN', value.length, 'key', 'ghp_');
const token: BoundSecret = {
  name: 'TOKEN',
  value,
  placeholder,
  destinations: [{ host: 'api.test', port: 443 }],
  headers: credentialHeaders,
  query: false,
  path: false,
  exclusive: false,
};
const other: BoundSecret = {
  ...token,
  name: 'OTHER',
  placeholder: placeholderFor('OTHER', 40, 'key'),
  destinations: [{ host: 'b.test', port: 443 }],
};
const authority = makeAuthority('Hermetic egress');
const world = makeAuthority('World');
const vault = { authority, secrets: [token, other] };

/** What arrived at the host. */
interface Arrived {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

let rig: SessionRig;
let arrived: Arrived[];
afterEach(async () => await rig.stop());

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function start(
  answer: Answer = (_, response) => response.end('hello'),
  options: RigOptions = {},
  certified = 'api.test',
): Promise<void> {
  arrived = [];
  rig = await new SessionRig({ allow: ['api.test', 'b.test', 'plain.test:443'], vault, roots: [world.certificate], ...options }).start();
  await rig.serve(443, createHttpsServer(tlsOptions(certified), answering(answer)));
}

function tlsOptions(host: string) {
  const { certificate: cert, key } = new HostCertificates(world).for(host);
  return { cert, key };
}

function answering(answer: Answer): (request: IncomingMessage, response: ServerResponse) => void {
  return (incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const body = Buffer.concat(pieces).toString();
      arrived.push({ method: incoming.method, url: incoming.url, headers: incoming.headers, body });
      answer(incoming, response, body);
    });
  };
}

/** TLS of a program inside, which trusts the authority of the installation. */
async function tls(host = 'api.test', port = 443, servername = host): Promise<TLSSocket> {
  const { peer, status } = await rig.tunnel(`${host}:${port}`);
  expect(status).toContain('200');
  const socket = connect({ socket: peer.socket, servername, ca: [authority.certificate, world.certificate], ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  return socket;
}

/** Resolves when the connection has ended, in any way. */
async function closed(socket: TLSSocket): Promise<void> {
  const ended = new Promise((resolve) => socket.once('error', resolve).once('end', resolve).once('close', resolve));
  socket.on('error', () => undefined).resume();
  if (!socket.readableEnded && !socket.destroyed) await ended;
}

interface Sent {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A request of a program inside, and the whole answer. */
async function send(
  { body, ...options }: Sent,
  socket?: TLSSocket,
): Promise<{ status: number; headers: IncomingMessage['headers']; text: string }> {
  const stream = socket ?? (await tls());
  const outgoing = request({ createConnection: () => stream, host: 'api.test', ...options });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(pieces).toString('latin1') };
}

describe('a request to a host that has a secret', () => {
  it('gets the value in place of the placeholder, over TLS that is verified', async () => {
    await start();
    const { text } = await send({ headers: { authorization: `Bearer ${placeholder}` } });
    expect(text).toBe('hello');
    expect(arrived[0]?.headers).toMatchObject({ authorization: `Bearer ${value}`, host: 'api.test' });
  });

  it('sees a certificate of the installation for this host', async () => {
    await start();
    const socket = await tls();
    expect(socket.getPeerCertificate()).toMatchObject({ subjectaltname: 'DNS:api.test', issuer: { CN: 'Hermetic egress' } });
  });

  it('works by name, without the proxy', async () => {
    await start();
    const peer = await rig.connectByName('api.test', 443);
    const socket = connect({ socket: peer.socket, servername: 'api.test', ca: authority.certificate });
    await send({ headers: { 'x-api-key': placeholder } }, socket);
    expect(arrived[0]?.headers['x-api-key']).toBe(value);
  });

  it('carries a body as it is, with a placeholder in it', async () => {
    await start((_, response, body) => response.end(body));
    const { text } = await send({ method: 'POST', body: `token=${placeholder}`, headers: { authorization: placeholder } });
    expect([arrived[0]?.body, text]).toEqual([`token=${placeholder}`, `token=${placeholder}`]);
  });

  it('answers several requests on one connection, each judged anew', async () => {
    await start();
    const socket = await tls();
    const ask = (host: string): void => void socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${placeholder}\r\n\r\n`);
    let received = '';
    socket.on('data', (data) => {
      received += data.toString();
    });
    ask('api.test');
    ask('b.test');
    while (received.split('hello').length < 3) await once(socket, 'data');
    expect(arrived.map(({ headers }) => headers.host)).toEqual(['api.test', 'api.test']);
  });

  it('is refused in the absolute form of another host', async () => {
    await start();
    const { status } = await send({ path: 'http://b.test/', headers: { authorization: placeholder } });
    expect([status, arrived]).toEqual([400, []]);
  });

  it.each([
    ['another header', { 'user-agent': placeholder }, '/'],
    ['the query', {}, `/?t=${placeholder}`],
  ])('never gets the value in %s', async (_, headers, path) => {
    await start();
    await send({ headers: headers as Record<string, string>, path });
    expect(JSON.stringify(arrived)).toContain(placeholder);
    expect(JSON.stringify(arrived)).not.toContain(value);
  });

  it('with a secret of another host is refused and noted', async () => {
    await start();
    const { status, headers } = await send({ headers: { authorization: other.placeholder } });
    expect([status, headers['x-hermetic'], arrived]).toEqual([403, 'blocked', []]);
    expect(rig.blocked).toContainEqual({ host: 'api.test', port: 443, reason: 'wrong-credential' });
  });

  it('with another credential is refused where the secret is exclusive', async () => {
    await start(undefined, { vault: { authority, secrets: [{ ...token, exclusive: true }] } });
    expect((await send({ headers: { authorization: 'Bearer attacker' } })).status).toBe(403);
    expect((await send({ headers: { authorization: `Bearer ${placeholder}` } })).status).toBe(200);
    expect(arrived).toHaveLength(1);
  });
});

it('another credential is refused over plain HTTP too where the secret is exclusive', async () => {
  await start(undefined, { vault: { authority, secrets: [{ ...token, exclusive: true }] } });
  await rig.serve(80, createHttpServer(answering((_request, response) => response.end())));
  const peer = await rig.connect();
  peer.socket.write('GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer attacker\r\nConnection: close\r\n\r\n');
  expect(await peer.ended()).toContain('403 Blocked');
  expect(arrived).toEqual([]);
});

describe('nothing is sent to a host that has a secret', () => {
  it.each([
    ['of another name', 'other.test', world],
    ['of an unknown authority', 'api.test', makeAuthority('Somebody')],
    ['that has expired', 'api.test', undefined],
  ])('with a certificate %s', async (_, name, signer) => {
    await start();
    const yearAgo = Date.now() - 365 * 86_400_000;
    const { certificate: cert, key } = signer ? new HostCertificates(signer).for(name) : new HostCertificates(world).for(name, yearAgo);
    await rig.serve(
      443,
      createHttpsServer(
        { cert, key },
        answering((_request, response) => response.end()),
      ),
    );
    const { status, text } = await send({ headers: { authorization: placeholder } });
    expect([status, arrived]).toEqual([502, []]);
    expect(text).toContain('certificate');
    expect(rig.blocked).toContainEqual({ host: 'api.test', port: 443, reason: 'unverified-certificate' });
  });

  it('without TLS', async () => {
    const bytes: string[] = [];
    await start();
    await rig.serve(
      443,
      createTcpServer((socket: Socket) => socket.on('data', (data) => bytes.push(data.toString()))),
    );
    const { peer } = await rig.tunnel('api.test:443');
    peer.socket.write(`GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: ${placeholder}\r\n\r\n`);
    expect(await peer.closed()).toBe('reset');
    expect(bytes).toEqual([]);
    expect(rig.blocked).toContainEqual({ host: 'api.test', port: 443, reason: 'secret-needs-tls' });
  });

  it('with another name in TLS', async () => {
    await start();
    const { peer } = await rig.tunnel('api.test:443');
    const socket = connect({ socket: peer.socket, servername: 'b.test', rejectUnauthorized: false });
    await closed(socket);
    expect(rig.blocked).toContainEqual({ host: 'api.test', port: 443, reason: 'other-tls-name' });
    expect(arrived).toEqual([]);
  });

  it('over plain HTTP: the placeholder stays one', async () => {
    await start();
    await rig.serve(80, createHttpServer(answering((_request, response) => response.end())));
    const peer = await rig.connect();
    peer.socket.write(`GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nAuthorization: ${placeholder}\r\nConnection: close\r\n\r\n`);
    await peer.ended();
    expect(arrived[0]?.headers.authorization).toBe(placeholder);
    expect(rig.allowed.take()).toMatchObject([{ host: 'api.test', port: 80, secrets: [], placeholders: ['TOKEN'] }]);
  });
});

it('connections to a host that has a secret are noted, with the secrets that were put in; other allowed ones are not', async () => {
  await start(undefined, {}, 'plain.test');
  await send({}, await tls('plain.test'));
  await rig.serve(
    443,
    createHttpsServer(
      tlsOptions('api.test'),
      answering((_request, response) => response.end()),
    ),
  );
  await send({});
  await send({ headers: { authorization: placeholder } });
  expect(rig.allowed.take()).toMatchObject([{ host: 'api.test', port: 443, count: 2, secrets: ['TOKEN'], placeholders: [] }]);
});

it('TLS to a host without a secret is not touched', async () => {
  await start(undefined, {}, 'plain.test');
  const socket = await tls('plain.test');
  expect(socket.getPeerCertificate()).toMatchObject({ issuer: { CN: 'World' } });
  await send({ headers: { authorization: placeholder } }, socket);
  expect(arrived[0]?.headers.authorization).toBe(placeholder);
});

it('the value is not put in at another port of the host', async () => {
  await start(undefined, { allow: ['api.test:*'] });
  await rig.serve(
    8443,
    createHttpsServer(
      tlsOptions('api.test'),
      answering((_request, response) => response.end()),
    ),
  );
  const socket = await tls('api.test', 8443);
  expect(socket.getPeerCertificate()).toMatchObject({ issuer: { CN: 'World' } });
  await send({ headers: { authorization: placeholder } }, socket);
  expect(arrived[0]?.headers.authorization).toBe(placeholder);
});

describe('an answer', () => {
  const echoes: Record<string, Answer> = {
    body: (_request, response) => response.end(`you sent ${value}`),
    header: (_request, response) => response.setHeader('x-echo', value).end(),
    'reason of the status': (_request, response) => response.writeHead(200, `ok ${value}`).end(),
    'gzip, though it was not asked for': (_request, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(`you sent ${value}`)),
    brotli: (_request, response) => response.setHeader('content-encoding', 'br').end(brotliCompressSync(`you sent ${value}`)),
    'chunks of one byte': (_request, response) => {
      for (const letter of `you sent ${value}`) response.write(letter);
      response.end();
    },
    base64: (_request, response) => response.end(Buffer.from(`xy${value}`).toString('base64')),
    hexadecimal: (_request, response) => response.end(Buffer.from(value).toString('hex')),
    trailer: (_request, response) => {
      response.writeHead(200, { trailer: 'x-echo' });
      response.write('hello');
      response.addTrailers({ 'x-echo': value });
      response.end();
    },
  };
  it.each(Object.entries(echoes))('that repeats the value in its %s comes back without it', async (_, answer) => {
    await start(answer);
    const socket = await tls();
    let raw = '';
    socket.on('data', (data: Buffer) => {
      raw += data.toString('latin1');
    });
    socket.write(`GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer ${placeholder}\r\nTE: trailers\r\nConnection: close\r\n\r\n`);
    await once(socket, 'end');
    expect(arrived[0]?.headers.authorization).toBe(`Bearer ${value}`);
    const unchunked = raw.replaceAll(/\r\n[0-9a-f]+\r\n/g, '');
    for (const text of [raw, unchunked]) {
      expect(text).not.toContain('RRRRRR');
      expect(text).not.toContain(Buffer.from('RRRRRRRRR').toString('base64'));
      expect(text).not.toContain(Buffer.from('RRRRRR').toString('hex'));
    }
    expect(raw).toMatch(/^HTTP\/1.1 200/);
  });

  it('in an encoding that cannot be looked into is refused', async () => {
    await start((_request, response) => response.setHeader('content-encoding', 'secret-sauce').end(value));
    const { status, text } = await send({ headers: { authorization: placeholder } });
    expect([status, text.includes(value)]).toEqual([502, false]);
  });

  it('is asked for whole, in an encoding and a character set that can be looked into', async () => {
    await start();
    await send({ headers: { range: 'bytes=0-6', 'if-range': '"tag"', 'accept-charset': 'utf-16', 'accept-encoding': 'gzip' } });
    const { range, 'if-range': ifRange, 'accept-charset': charset, 'accept-encoding': encoding } = arrived[0]?.headers ?? {};
    expect([range, ifRange, charset, encoding]).toEqual([undefined, undefined, undefined, 'identity']);
  });

  it.each([
    ['in several ranges', 200, 'Multipart/ByteRanges; boundary=x'],
    ['in a part', 206, 'text/plain'],
  ])('%s is refused', async (_, code, type) => {
    await start((_request, response) => response.writeHead(code, { 'content-type': type }).end(value));
    const { status, text } = await send({ headers: { 'request-range': 'bytes=0-6' } });
    expect([status, text.includes(value), arrived[0]?.headers['request-range']]).toEqual([502, false, undefined]);
  });

  it.each([
    ['a client of HTTP/1.0 with trailers that cannot follow', 'HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 8\r\n', '1.0'],
    ['a client with trailers that cannot follow', 'HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 8\r\n', '1.1'],
    ['a client with a status that does not exist', 'HTTP/1.1 099 X\r\n', '1.1'],
    ['a client with a switch to nothing', 'HTTP/1.1 101 X\r\nTrailer: x\r\n', '1.1'],
  ])('that cannot be decoded harms nothing but itself, for %s', async (_, head, version) => {
    await start();
    const broken = createTlsServer(tlsOptions('api.test'), (socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(`${head}Content-Encoding: gzip\r\n\r\nnot gzip`));
    });
    await rig.serve(443, broken);
    const socket = await tls();
    socket.write(`GET / HTTP/${version}\r\nHost: api.test\r\nConnection: close\r\n\r\n`);
    await closed(socket);
    await rig.serve(
      443,
      createHttpsServer(
        tlsOptions('api.test'),
        answering((_request, response) => response.end('still here')),
      ),
    );
    expect((await send({})).text).toBe('still here');
  });

  it('over plain HTTP of a host that has a secret at another port comes back without it', async () => {
    await start(undefined, { allow: ['api.test', 'plain.test'] });
    await rig.serve(80, createHttpServer(answering((_request, response) => response.end(`you sent ${value}`))));
    const ask = async (host: string): Promise<string> => {
      const peer = await rig.connect();
      peer.socket.write(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`);
      return await peer.ended();
    };
    expect(await ask('api.test')).toContain(`you sent ${placeholder}`);
    expect(await ask('plain.test')).toContain(`you sent ${value}`);
    expect(arrived.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'gzip']);
  });

  it('to HEAD has the headers of an encoded body that does not come', async () => {
    await start((_request, response) => response.setHeader('content-encoding', 'gzip').setHeader('content-length', 20).end());
    const { status, headers } = await send({ method: 'HEAD' });
    expect([status, headers['content-encoding'], headers['content-length']]).toEqual([200, 'gzip', '20']);
  });

  it('keeps its length, and its bytes where no value is in it', async () => {
    const bytes = Buffer.alloc(300_000, 'abc\xff', 'latin1');
    await start((_request, response) => response.setHeader('content-length', bytes.length).end(bytes));
    const { text, headers } = await send({});
    expect([text === bytes.toString('latin1'), headers['content-length']]).toEqual([true, String(bytes.length)]);
  });

  it('of server-sent events arrives event by event', async () => {
    let next: (() => void) | undefined;
    await start((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      next = () => response.end('data: 2\n\n');
    });
    const socket = await tls();
    socket.write('GET / HTTP/1.1\r\nHost: api.test\r\n\r\n');
    let received = '';
    while (!received.includes('data: 1')) received += String((await once(socket, 'data'))[0]);
    next?.();
    while (!received.includes('data: 2')) received += String((await once(socket, 'data'))[0]);
  });
});

it('a websocket gets the value in its handshake, and its frames come back without it', async () => {
  await start();
  const server = createHttpsServer(tlsOptions('api.test'));
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket) => {
    arrived.push({ method: incoming.method, url: incoming.url, headers: incoming.headers, body: '' });
    const said = Buffer.from(`you are ${incoming.headers.authorization}`);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    socket.write(Buffer.concat([Buffer.from([0x81, said.length]), said]));
    socket.on('data', (data) => socket.write(data));
  });
  await rig.serve(443, server);
  const socket = await tls();
  const extension = 'Sec-WebSocket-Extensions: permessage-deflate';
  socket.write(
    `GET / HTTP/1.1\r\nHost: api.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nAuthorization: ${placeholder}\r\n${extension}\r\n\r\n`,
  );
  let received = '';
  while (!received.includes('you are')) received += String((await once(socket, 'data'))[0]);
  socket.write(Buffer.from('\u0081\u0004echo', 'latin1'));
  while (!received.endsWith('echo')) received += String((await once(socket, 'data'))[0]);
  // A frame that ends as the value begins is not held back: the host says no more before the client answers.
  const last = `all of it ${value.slice(0, 3)}`;
  socket.write(Buffer.concat([Buffer.from([0x81, last.length]), Buffer.from(last)]));
  while (!received.endsWith(last)) received += String((await once(socket, 'data'))[0]);
  expect(received).toContain('101 Switching Protocols');
  expect(received).not.toContain('RRRR');
  expect(arrived[0]?.headers).toMatchObject({ authorization: value });
  expect(arrived[0]?.headers['sec-websocket-extensions']).toBeUndefined();
});

/** A WebSocket of a program inside to a host that does this after the handshake. */
async function webSocket(act: (socket: Socket) => void): Promise<TLSSocket> {
  await start();
  const server = createHttpsServer(tlsOptions('api.test'));
  server.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => undefined).resume();
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    act(socket);
  });
  await rig.serve(443, server);
  const socket = await tls();
  socket.write('GET / HTTP/1.1\r\nHost: api.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
  return socket;
}

it('all that a host sends over a websocket before it closes reaches a client that reads late', async () => {
  const size = 3_000_000;
  const header = Buffer.from([0x82, 127, 0, 0, 0, 0, ...Buffer.from(size.toString(16).padStart(8, '0'), 'hex')]);
  let hasEnded = false;
  const socket = await webSocket((host) => {
    host.once('end', () => host.end(Buffer.concat([header, Buffer.alloc(size, 'x'), Buffer.from([0x88, 0])]), () => (hasEnded = true)));
  });
  await once(socket, 'readable');
  socket.end();
  await until('the host has sent all of it, or can send no more', () => hasEnded || socket.readableLength >= socket.readableHighWaterMark);
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  const received = Buffer.concat(pieces);
  expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(header.length + size + 2);
});

it.each([
  ['masked', [0x81, 0x85, 1, 2, 3, 4, 0x69, 0x67, 0x6f, 0x68, 0x6e]],
  ['compressed', [0xc1, 5, 1, 2, 3, 4, 5]],
  ['of an unknown kind', [0x83, 1, 0]],
  ['to control, and long', [0x89, 126, 0, 200]],
])('a host that sends a frame that is %s over a websocket is cut off', async (_, bytes) => {
  const socket = await webSocket((host) => host.write(Buffer.from(bytes)));
  let received = '';
  socket.on('data', (data: Buffer) => (received += data.toString('latin1')));
  await closed(socket);
  expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe('');
});

describe('when the secrets change', () => {
  it('a connection that passes by a new secret is cut', async () => {
    await start(undefined, { vault: { authority, secrets: [other] } });
    const socket = await tls();
    expect(socket.getPeerCertificate()).toMatchObject({ issuer: { CN: 'World' } });
    rig.rules = { ...rig.rules, vault };
    rig.session.rulesChanged();
    await closed(socket);
    expect((await tls()).getPeerCertificate()).toMatchObject({ issuer: { CN: 'Hermetic egress' } });
  });

  it('a connection whose secret was removed is cut', async () => {
    await start();
    const socket = await tls();
    rig.rules = { ...rig.rules, vault: undefined };
    rig.session.rulesChanged();
    await closed(socket);
  });

  it('the next request has the new value', async () => {
    await start();
    const socket = await tls();
    rig.rules = { ...rig.rules, vault: { authority, secrets: [{ ...token, value: 'N'.repeat(40) }] } };
    rig.session.rulesChanged();
    await send({ headers: { authorization: placeholder } }, socket);
    expect(arrived[0]?.headers.authorization).toBe('N'.repeat(40));
  });
});
