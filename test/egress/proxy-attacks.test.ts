import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { addressClass, addressSet } from '../../src/egress/addresses.ts';
import { helloOfNode } from './hello-bytes.ts';
import { type RigOptions, SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

/** What hosts received: bytes on any port but 80, requests on port 80. */
let arrived: string[] = [];

async function open(options: RigOptions = {}): Promise<void> {
  arrived = [];
  rig = await new SessionRig({ allow: ['api.test', '*.wild.test', 'api.test:7'], ...options }).start();
  const web = createHttpServer((request, response) => {
    arrived.push(`${request.method} ${request.headers.host} ${request.url}`);
    request.resume();
    response.end('answer');
  });
  await rig.serve(80, web);
  for (const port of [7, 443]) {
    const server = createServer((socket) => socket.on('data', (data) => arrived.push(data.toString('latin1'))));
    await rig.serve(port, server);
  }
}

/** Judges addresses as in the product. */
const own = addressSet(['203.0.113.77', '2001:db8:77::1']);
const asInProduct: RigOptions['dialer'] = { classify: (address) => addressClass(address, own) };

async function sent(text: string): Promise<string> {
  const peer = await rig.connect();
  peer.socket.write(Buffer.from(text, 'latin1'));
  return await peer.ended();
}

async function statusOfTunnel(authority: string): Promise<number> {
  const answer = await sent(`CONNECT ${authority} HTTP/1.1\r\nHost: api.test\r\n\r\n`);
  return Number(answer.split(' ')[1]);
}

describe('attacks on the address of a destination', () => {
  const addresses = [
    '127.0.0.1:3128',
    '127.0.0.1:80',
    '0:80',
    '0.0.0.0:443',
    '127.1:443',
    '2130706433:443',
    '0x7f.1:443',
    '017700000001:443',
    '[::1]:443',
    '[::]:443',
    '[::ffff:127.0.0.1]:443',
    '[64:ff9b::7f00:1]:443',
    '[2002:7f00:1::]:443',
    '203.0.113.77:443',
    '[2001:db8:77::1]:443',
    '169.254.169.254:80',
    '[fd00:ec2::254]:80',
    '100.100.100.200:80',
    '10.1.2.3:443',
    '[fe80::1%25lo]:443',
    '[fe80::1%lo]:443',
  ];

  it.each(addresses)('CONNECT to %s is refused, and nothing is resolved or reached', async (authority) => {
    await open({ dialer: asInProduct });
    expect([400, 403]).toContain(await statusOfTunnel(authority));
    expect(rig.blocked.map(({ reason }) => reason)).not.toContain('unlisted');
    expect(rig.lookups).toEqual([]);
  });

  it.each(['10.1.2.3', '192.168.0.9'])('an address that is listed but private is refused: %s', async (address) => {
    await open({ allow: [address], dialer: asInProduct });
    const peer = await rig.connect();
    peer.socket.write(`CONNECT ${address}:443 HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await peer.ended()).toContain('An entry of network.private would allow it.');
    expect(rig.blocked).toEqual([{ host: address, port: 443, reason: 'private-address' }]);
  });

  it.each([
    ['loopback', ['127.0.0.1'], 'special-address'],
    ['metadata', ['169.254.169.254'], 'special-address'],
    ['a private address', ['10.0.0.9'], 'private-address'],
    ['a mapped address', ['::ffff:127.0.0.1'], 'special-address'],
    ['NAT64', ['64:ff9b::a9fe:a9fe'], 'special-address'],
    ['the gateway itself', ['203.0.113.77'], 'own-address'],
    ['private and special addresses', ['10.0.0.9', '127.0.0.1'], 'special-address'],
  ])('an allowed name that leads to %s is refused', async (_what, found, reason) => {
    await open({ dialer: asInProduct, hosts: { 'api.test': found } });
    expect(await statusOfTunnel('api.test:443')).toBe(403);
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 443, reason }]);
    expect(arrived).toEqual([]);
  });

  it('a name with good and bad addresses is reached at a good one', async () => {
    await open({ hosts: { 'api.test': ['169.254.169.254', '127.0.0.1', '10.0.0.1'] } });
    const { status } = await rig.tunnel('api.test:7');
    expect(status).toContain('200');
  });
});

describe('attacks on the name of a destination', () => {
  it.each([
    'evilapi.test:443',
    'api.test.evil.test:443',
    'wild.test:443',
    'xwild.test:443',
    'api.test:8443',
    'api.test:22',
    'localhost:443',
    'user@api.test:443',
    'api.test@evil.test:443',
    'api%2etest:443',
    'api.test%00.evil.test:443',
    'api.test#.evil.test:443',
    'api.test/:443',
    'api.test\\.evil.test:443',
    `${'a'.repeat(64)}.wild.test:443`,
    `${'a.'.repeat(125)}wild.test:443`,
    'api.test',
    'api.test:0',
    'api.test:65536',
    'api.test:443:443',
    ':443',
    '[api.test]:443',
    'http://api.test:443',
  ])('CONNECT %s is refused, and nothing is resolved', async (authority) => {
    await open();
    expect([400, 403]).toContain(await statusOfTunnel(authority));
    expect(rig.lookups).toEqual([]);
  });

  it.each(['API.TEST:7', 'api.test.:7', 'ａｐｉ.test:7'])('%s is another spelling of the allowed host', async (authority) => {
    await open();
    const peer = await rig.connect();
    const bytes = Buffer.from(authority);
    peer.socket.write(Buffer.from([5, 1, 0]));
    await peer.until('\x05\x00');
    const host = bytes.subarray(0, -2);
    peer.socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, host.length]), host, Buffer.from([0, 7])]));
    expect(await peer.until('\x00\x01\x00\x00\x00\x00\x00\x00')).toBe('\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00');
    expect(rig.lookups).toEqual(['api.test']);
  });

  it('a note of a malformed host has no control characters and is short', async () => {
    await open();
    const peer = await rig.connect();
    peer.socket.write(Buffer.from([5, 1, 0]));
    await peer.until('\x05\x00');
    const host = Buffer.from(`\x1b[31m\n${'x'.repeat(200)}`);
    peer.socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, host.length]), host, Buffer.from([1, 187])]));
    await peer.ended();
    expect(rig.blocked).toEqual([{ host: `??31m?${'x'.repeat(58)}`, port: 443, reason: 'malformed' }]);
  });
});

describe('attacks on the name in TLS', () => {
  it('a ClientHello that comes byte by byte is read to its end before the host gets a byte', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:443');
    const hello = await helloOfNode({ servername: 'evil.test' });
    for (const byte of hello) {
      if (peer.socket.destroyed) break;
      await new Promise((resolve) => peer.socket.write(Buffer.from([byte]), resolve));
    }
    expect(await peer.closed()).toBe('reset');
    expect(arrived).toEqual([]);
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 443, reason: 'other-tls-name' }]);
  });

  it('an allowed ClientHello that comes byte by byte arrives whole', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:443');
    const hello = await helloOfNode({ servername: 'api.test' });
    for (const byte of hello) await new Promise((resolve) => peer.socket.write(Buffer.from([byte]), resolve));
    peer.socket.write('after');
    await expect.poll(() => arrived.join('')).toBe(`${hello.toString('latin1')}after`);
  });

  it.each([
    ['garbage after the first byte of a handshake', Buffer.concat([Buffer.from([0x16]), Buffer.alloc(200, 0x41)])],
    ['records of a ClientHello that never ends', endlessHello()],
  ])('%s is cut', async (_what, bytes) => {
    await open();
    const { peer } = await rig.tunnel('api.test:443');
    peer.socket.write(bytes);
    await peer.closed();
    expect(arrived).toEqual([]);
    expect(rig.blocked).toEqual([{ host: 'api.test', port: 443, reason: 'other-tls-name' }]);
  });

  it('another name is also refused on a port that is not 443', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:7');
    peer.socket.write(await helloOfNode({ servername: 'evil.test' }));
    expect(await peer.closed()).toBe('reset');
    expect(arrived).toEqual([]);
  });
});

describe('attacks on the parser of requests', () => {
  const post = 'POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\n';
  const second = 'GET http://api.test/second HTTP/1.1\r\nHost: api.test\r\n\r\n';

  it.each([
    ['a length and chunks', `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks and a length', `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ['a length with a sign', `${post}Content-Length: +5\r\n\r\nhello`],
    ['two hosts', `GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nHost: evil.test\r\n\r\n`],
    ['no host', 'GET http://api.test/ HTTP/1.1\r\n\r\n'],
    ['a line that ends with LF alone', 'GET http://api.test/ HTTP/1.1\nHost: api.test\r\n\r\n'],
    ['a header that ends with LF alone', 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\nX: y\r\n\r\n'],
    ['a header that ends with CR alone', 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\rX: y\r\n\r\n'],
    ['a folded header', 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nX: a\r\n b\r\n\r\n'],
    ['a space before a colon', 'GET http://api.test/ HTTP/1.1\r\nHost : api.test\r\n\r\n'],
    ['headers of 70 KB', `GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`],
    ['another transfer encoding', `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['an unknown transfer encoding', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['chunks in HTTP/1.0', 'POST http://api.test/ HTTP/1.0\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['no version', 'GET http://api.test/\r\n\r\n'],
    ['another version', 'GET http://api.test/ HTTP/2.0\r\nHost: api.test\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a path alone', 'GET / HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['an https URL', 'GET https://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['a file URL', 'GET file:///etc/passwd HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['user information', 'GET http://me@api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['a fragment', 'GET http://api.test/#x HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['a backslash in the host', 'GET http://evil.test\\@api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'],
  ])('a request with %s gets 400, and what follows it is not read as a request', async (_what, text) => {
    await open();
    expect(await sent(`${text}${second}`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(arrived).toEqual([]);
    expect(rig.lookups).toEqual([]);
  });

  it('a body that breaks off its chunks never completes a request at the host', async () => {
    await open();
    await sent(`${post}Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n${second}`);
    expect(arrived.filter((line) => line.includes('second'))).toEqual([]);
  });

  it('CONNECT after a request that is not answered yet cuts the connection', async () => {
    await open();
    const text = 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\nCONNECT api.test:7 HTTP/1.1\r\nHost: api.test:7\r\n\r\nraw';
    expect(await sent(text)).not.toContain('Established');
    expect(arrived).not.toContain('raw');
  });

  it('CONNECT inside a tunnel to port 80 is refused', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:80');
    peer.socket.write('CONNECT api.test:7 HTTP/1.1\r\nHost: api.test:7\r\n\r\n');
    expect(await peer.ended()).toContain('HTTP/1.1 400 Blocked');
  });

  it('a second request in a tunnel to port 80 also gets the allowed host', async () => {
    await open();
    const { peer } = await rig.tunnel('api.test:80');
    for (const path of ['/1', '/2']) {
      peer.socket.write(`GET ${path} HTTP/1.1\r\nHost: evil.test\r\n\r\n`);
      await peer.until('answer');
    }
    expect(arrived).toEqual(['GET api.test /1', 'GET api.test /2']);
  });

  it('more requests at once than the proxy holds cut the connection', async () => {
    await open();
    await sent('GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'.repeat(200));
    expect(arrived.length).toBeLessThan(40);
  });

  it('requests without end after a malformed one cut the connection', async () => {
    await open();
    const peer = await rig.connect();
    const flood = Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${second.repeat(1_000)}`);
    peer.socket.write(flood);
    await peer.closed();
    expect(arrived).toEqual([]);
  });

  it.each([
    ['0', [0]],
    ['SOCKS4', [4, 1, 0, 80, 1, 2, 3, 4, 0]],
    ['TLS', [0x16, 3, 1, 0, 5]],
    ['UTF-8', [0xc3, 0xa4]],
    ['a line end', [13, 10]],
  ])('a connection that begins with %s is cut', async (_what, bytes) => {
    await open();
    expect(await sent(String.fromCharCode(...bytes))).toBe('');
  });
});

/** The header of a ClientHello of 16 MB, in records of 1 KB. */
function endlessHello(): Buffer {
  const record = Buffer.alloc(1_029);
  record.set([0x16, 3, 1, 4, 0]);
  const first = Buffer.from(record);
  first.set([1, 0, 0xff, 0xff], 5);
  return Buffer.concat([first, ...Array<Buffer>(80).fill(record)]);
}
