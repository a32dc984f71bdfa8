import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { type Peer, type RigOptions, SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

/** A request that arrived at a host. */
interface Arrived {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const hello: Answer = (request, response) => response.end(`hello from ${request.headers.host}${request.url}`);

/** A host on port 80; `answer` is called when the whole request is there. */
async function open(answer: Answer = hello, options: RigOptions = {}): Promise<Arrived[]> {
  const arrived: Arrived[] = [];
  rig = await new SessionRig({ allow: ['api.test'], ...options }).start();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      arrived.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      answer(request, response);
    });
  });
  await rig.serve(80, server);
  return arrived;
}

async function sent(...lines: string[]): Promise<Peer> {
  const peer = await rig.connect();
  peer.socket.write(Buffer.from(lines.join('\r\n'), 'latin1'));
  return peer;
}

/** The whole answer to a request after which the connection ends. */
async function ask(url: string, ...headers: string[]): Promise<string> {
  const peer = await sent(`GET ${url} HTTP/1.1`, 'Host: api.test', 'Connection: close', ...headers, '', '');
  return await peer.ended();
}

describe('a request to the proxy', () => {
  it('reaches an allowed host with the path and query as they are written', async () => {
    const arrived = await open();
    const answer = await ask('http://API.test:80/a/../b%2f?x=1');
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('hello from api.test/a/../b%2f?x=1');
    expect(arrived).toMatchObject([{ method: 'GET', url: '/a/../b%2f?x=1' }]);
  });

  it('carries the allowed host in Host, not the host that the client wrote there', async () => {
    const arrived = await open();
    const peer = await sent('GET http://api.test/ HTTP/1.1', 'Host: evil.test', 'Connection: close', '', '');
    await peer.ended();
    expect(arrived[0]?.headers.host).toBe('api.test');
  });

  it('names a port other than 80 in Host', async () => {
    await open(hello, { allow: ['api.test:8080'] });
    await rig.serve(8080, createServer(hello));
    expect(await ask('http://api.test:8080/')).toContain('hello from api.test:8080/');
  });

  it('loses the headers that belong to a connection, in both directions', async () => {
    const arrived = await open((_request, response) => {
      response.writeHead(200, { 'X-Answer': 'yes', 'Keep-Alive': 'timeout=9', Connection: 'X-Private, close', 'X-Private': 'secret' });
      response.end();
    });
    const peer = await sent(
      'GET http://api.test/ HTTP/1.1',
      'Host: api.test',
      'Connection: close, X-Hop, Host',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic abc',
      'TE: trailers',
      'Keep-Alive: 5',
      'X-Hop: secret',
      'X-Kept: yes',
      '',
      '',
    );
    const answer = await peer.ended();
    expect(Object.keys(arrived[0]?.headers ?? {}).sort()).toEqual(['connection', 'host', 'x-kept']);
    expect(answer).toContain('X-Answer: yes\r\n');
    expect(answer).not.toMatch(/private|timeout=9/i);
  });

  it('keeps headers that are there twice', async () => {
    await open((request, response) => {
      response.writeHead(200, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2']);
      response.end(request.headers['x-two']);
    });
    const answer = await ask('http://api.test/', 'X-Two: 1', 'X-Two: 2');
    expect(answer).toContain('Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n');
    expect(answer).toContain('1, 2');
  });

  it.each([
    ['a length', ['Content-Length: 5', '', 'hello']],
    ['chunks', ['Transfer-Encoding: chunked', '', '2', 'he', '3', 'llo', '0', '', '']],
    ['a length that Connection lists, so that it is framed anew', ['Connection: Content-Length', 'Content-Length: 5', '', 'hello']],
  ])('carries a body with %s', async (_how, lines) => {
    const arrived = await open();
    const peer = await sent('POST http://api.test/ HTTP/1.1', 'Host: api.test', ...lines);
    await peer.until('hello from');
    expect(arrived).toMatchObject([{ method: 'POST', body: 'hello' }]);
  });

  it('asks the host before the client sends a body that waits for 100 Continue', async () => {
    const arrived = await open();
    const peer = await sent('PUT http://api.test/ HTTP/1.1', 'Host: api.test', 'Expect: 100-continue', 'Content-Length: 5', '', '');
    expect(await peer.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    peer.socket.write('hello');
    await peer.until('hello from');
    expect(arrived).toMatchObject([{ method: 'PUT', body: 'hello' }]);
  });

  it('is refused without 100 Continue, and the connection ends because the body may not come', async () => {
    await open();
    const peer = await sent('PUT http://evil.test/ HTTP/1.1', 'Host: evil.test', 'Expect: 100-continue', 'Content-Length: 5', '', '');
    expect(await peer.ended()).toMatch(/^HTTP\/1\.1 403 Blocked\r\n/);
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('%s with status %i has an answer without a body, after which the next request is answered', async (method, status) => {
    await open((request, response) => {
      response.writeHead(request.url === '/last' ? 200 : status, { 'Content-Length': '4' });
      response.end('last');
    });
    const peer = await sent(`${method} http://api.test/ HTTP/1.1`, 'Host: api.test', '', '');
    expect(await peer.until('\r\n\r\n')).toContain(`HTTP/1.1 ${status} `);
    peer.socket.write('GET http://api.test/last HTTP/1.1\r\nHost: api.test\r\n\r\n');
    expect(await peer.until('last')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('gets the trailers of the answer', async () => {
    await open((_request, response) => {
      response.writeHead(200, { Trailer: 'X-Sum' });
      response.write('body');
      response.addTrailers({ 'X-Sum': '42' });
      response.end();
    });
    expect(await ask('http://api.test/')).toMatch(/4\r\nbody\r\n0\r\nX-Sum: 42\r\n\r\n$/);
  });

  it('of an HTTP/1.0 client gets an answer without chunks that ends with the connection', async () => {
    await open((_request, response) => {
      response.write('one ');
      response.end('two');
    });
    const peer = await sent('GET http://api.test/ HTTP/1.0', '', '');
    expect(await peer.ended()).toMatch(/\r\n\r\none two$/);
  });

  it('is answered also when the client ends its half right after it', async () => {
    await open();
    const peer = await rig.connect();
    peer.socket.end('GET http://api.test/half HTTP/1.1\r\nHost: api.test\r\n\r\n');
    expect(await peer.ended()).toContain('hello from api.test/half');
  });

  it.each([
    ['resets', {}, (peer: Peer) => peer.socket.resetAndDestroy()],
    ['ends', { limits: { silentMs: 50 } }, (peer: Peer) => peer.socket.destroy()],
  ])('ends at the host when the client %s the connection', async (_how, leaving: RigOptions, leave) => {
    let isClosed = false;
    await open((_request, response) => {
      response.write('begun');
      response.once('close', () => {
        isClosed = true;
      });
    }, leaving);
    const peer = await sent('GET http://api.test/ HTTP/1.1', 'Host: api.test', '', '');
    await peer.until('begun');
    leave(peer);
    await until('the host sees that the client has left', () => isClosed);
  });

  it('ends without an orderly end when the host breaks off its answer', async () => {
    await open((_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('part', () => response.destroy());
    });
    const peer = await sent('GET http://api.test/ HTTP/1.1', 'Host: api.test', '', '');
    await peer.ended();
    expect(peer.text).toMatch(/part$/);
  });

  it('gets 502 when the host ends the connection without an answer', async () => {
    await open((_request, response) => response.destroy());
    expect(await ask('http://api.test/')).toMatch(/^HTTP\/1\.1 502 Blocked\r\n/);
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 80, reason: 'unreachable' }]);
  });

  it('gets 502 when the name has no address', async () => {
    await open(hello, { hosts: { 'api.test': [] } });
    expect(await ask('http://api.test/')).toContain('its name has no address');
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 80, reason: 'unresolved' }]);
  });

  it('to an unlisted host gets 403 with one sentence, and the connection can be used again', async () => {
    await open();
    const peer = await sent('POST http://evil.test/ HTTP/1.1', 'Host: evil.test', 'Content-Length: 4', '', 'data');
    const refused = await peer.until('allows it.\n');
    expect(refused).toMatch(/^HTTP\/1\.1 403 Blocked\r\n/);
    expect(refused).toContain('X-Hermetic: blocked\r\n');
    expect(refused).toContain('evil.test:80 is blocked');
    peer.socket.write('GET http://api.test/next HTTP/1.1\r\nHost: api.test\r\n\r\n');
    await peer.until('hello from api.test/next');
    expect(rig.blocked).toEqual([{ host: 'evil.test', port: 80, reason: 'unlisted' }]);
    expect(rig.lookups).toEqual(['api.test']);
  });

  it('answers the requests of a client that does not wait, in order and one at a time', async () => {
    let active = 0;
    let most = 0;
    const arrived = await open((request, response) => {
      active += 1;
      most = Math.max(most, active);
      setImmediate(() => {
        active -= 1;
        hello(request, response);
      });
    });
    const peer = await sent(...[1, 2, 3, 4].flatMap((n) => [`GET http://api.test/${n} HTTP/1.1`, 'Host: api.test', '']), '');
    for (const n of [1, 2, 3, 4]) await peer.until(`hello from api.test/${n}`);
    expect(arrived.map(({ url }) => url)).toEqual(['/1', '/2', '/3', '/4']);
    expect(most).toBe(1);
  });
});

describe('an upgrade to WebSocket', () => {
  const switching = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: abc', 'Sec-WebSocket-Version: 13'];

  it('is forwarded, and bytes go both ways afterwards', async () => {
    await open();
    const server = createServer(hello);
    server.on('upgrade', (request, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Host: ${request.headers.host}\r\n\r\nfirst`,
      );
      socket.pipe(socket);
    });
    await rig.serve(80, server);
    const peer = await sent('GET http://api.test/chat HTTP/1.1', 'Host: evil.test', ...switching, '', 'early ');
    const head = await peer.until('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(head).toContain('X-Host: api.test\r\n');
    expect(head).toContain('Upgrade: websocket\r\n');
    await peer.until('first');
    peer.socket.write('late');
    await peer.until('early late');
  });

  it('that the host declines gets its answer, and bytes after it are never a second request', async () => {
    const arrived = await open();
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n';
    const peer = await sent('GET http://api.test/chat HTTP/1.1', 'Host: api.test', ...switching, '', smuggled);
    expect(await peer.ended()).toContain('hello from api.test/chat');
    expect(arrived.map(({ url }) => url)).toEqual(['/chat']);
  });

  it('to an unlisted host gets 403', async () => {
    await open();
    const peer = await sent('GET http://evil.test/chat HTTP/1.1', 'Host: api.test', ...switching, '', '');
    expect(await peer.ended()).toMatch(/^HTTP\/1\.1 403 Blocked\r\n/);
  });

  it('to h2c is forwarded as a plain request', async () => {
    const arrived = await open();
    const answer = await ask(
      'http://api.test/',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAAP__',
      'Connection: Upgrade, HTTP2-Settings, close',
    );
    expect(answer).toContain('hello from api.test/');
    expect(arrived[0]?.headers.upgrade).toBeUndefined();
  });
});
