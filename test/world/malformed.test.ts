import { describe, expect, it } from 'vitest';
import { extension, helloMessage, records, serverNames } from '../egress/hello-bytes.ts';
import type { Attempt } from './attempts.ts';
import type { Arrival } from './records.ts';
import { describeRestricted } from './restricted.ts';

const encryptedHello = extension(0xfe0d, Buffer.alloc(120, 1));
const named = (...names: string[]): Buffer => helloMessage([serverNames(...names)]);

/** What a client of TLS may begin with that is allowed to reach api.test alone. */
const refused: Readonly<Record<string, Buffer>> = {
  'another name': records(named('evil.test')),
  'another name in many records': records(named('evil.test'), 3),
  'no name': records(helloMessage([])),
  'no name before an encrypted one': records(helloMessage([encryptedHello])),
  'another name before an encrypted one': records(helloMessage([serverNames('evil.test'), encryptedHello])),
  'two names': records(named('api.test', 'evil.test')),
  'two names, the allowed one last': records(named('evil.test', 'api.test')),
  'two extensions with names': records(helloMessage([serverNames('api.test'), serverNames('evil.test')])),
  'another extension twice': records(
    helloMessage([extension(21, Buffer.alloc(1)), serverNames('api.test'), extension(21, Buffer.alloc(1))]),
  ),
  'a name with a zero byte': records(named('api.test\0.evil.test')),
  '70 KB': records(helloMessage([serverNames('api.test'), extension(21, Buffer.alloc(35_000)), extension(22, Buffer.alloc(35_000))])),
  'bytes that are no hello': Buffer.concat([Buffer.from([0x16]), Buffer.alloc(200, 0x41)]),
};
const passed: Readonly<Record<string, Buffer>> = {
  'the allowed name': records(named('api.test')),
  'the allowed name in many records': records(named('api.test'), 3),
  // Documented: only the outer name is seen.
  'the allowed name before an encrypted one': records(helloMessage([serverNames('api.test'), encryptedHello])),
};

const whole = (bytes: Buffer): string[] => [bytes.toString('latin1')];
/** So many pieces take a while each. */
const byteByByte = (bytes: Buffer): string[] => (bytes.length > 1_000 ? whole(bytes) : [...bytes.toString('latin1')]);

const post = 'POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\n';
const get = 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n';
const second = 'GET http://api.test/second HTTP/1.1\r\nHost: api.test\r\n\r\n';
const requests: Readonly<Record<string, string>> = {
  'a length and chunks': `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'two lengths': `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
  'a line that ends with LF alone': 'GET http://api.test/ HTTP/1.1\nHost: api.test\r\n\r\n',
  'a header that ends with LF alone': 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\nX: y\r\n\r\n',
  'a folded header': `${get}X: a\r\n b\r\n\r\n`,
  'two hosts': `${get}Host: evil.test\r\n\r\n`,
  'headers of 70 KB': `${get}X: ${'x'.repeat(70_000)}\r\n\r\n`,
  'a path alone': 'GET / HTTP/1.1\r\nHost: api.test\r\n\r\n',
  'user information': 'GET http://api.test@evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n',
};

const bytesIn = (arrivals: readonly Arrival[]): string =>
  arrivals.flatMap((arrival) => (arrival.kind === 'bytes' ? [arrival.text] : [])).join('');
const urlsIn = (arrivals: readonly Arrival[]): string[] => arrivals.flatMap((arrival) => (arrival.kind === 'request' ? [arrival.url] : []));

// Port 5432 of the world echoes, so that every byte that arrives is seen; the proxy reads a ClientHello on every port.
await describeRestricted({ allow: ['api.test', 'api.test:5432', 'api.test:8080'], presets: [] }, ({ world, restricted }) => {
  describe.each([
    ['through the proxy', false],
    ['by its name', true],
  ])('a connection to an allowed host %s', (_, direct) => {
    const sending = (hellos: Readonly<Record<string, Buffer>>, cut: (bytes: Buffer) => string[]): Record<string, Attempt> =>
      Object.fromEntries(
        Object.entries(hellos).map(([title, bytes]) => [title, { try: 'pieces', target: 'api.test:5432', direct, pieces: cut(bytes) }]),
      );

    it.each([
      ['at once', whole],
      ['byte by byte', byteByByte],
    ])(
      'is cut before the host gets a byte of a ClientHello with another name, or that two readers may understand in two ways, sent %s',
      async (_how, cut) => {
        await world().arrivals();
        const results = await restricted().attack(sending(refused, cut));
        for (const [title, { then = '' }] of Object.entries(results)) expect(then, title).toBe('');
        expect(bytesIn(await world().arrivals())).toBe('');
      },
    );

    it('carries a ClientHello with the allowed name as it is, in any number of records', async () => {
      for (const cut of [whole, byteByByte]) {
        const results = await restricted().attack(sending(passed, cut));
        for (const [title, bytes] of Object.entries(passed)) expect(results[title]?.then, title).toBe(bytes.toString('latin1'));
      }
    });
  });

  it('the result of a command names the connection that was cut for its name in TLS', async () => {
    const { stderr } = await restricted().run(`curl -sSk --connect-to evil.test:443:api.test:443 https://evil.test/`, 'attacker');
    expect(stderr).toMatch(/Network: .*api\.test:443/);
  });

  it('a request that two readers may understand in two ways gets 400, and what follows it is not read as a request', async () => {
    await world().arrivals();
    const attempts = Object.fromEntries<Attempt>(
      Object.entries(requests).map(([title, text]) => [title, { try: 'raw', send: `${text}${second}` }]),
    );
    for (const [title, { status }] of Object.entries(await restricted().attack(attempts))) expect(status, title).toBe(400);
    expect(urlsIn(await world().arrivals())).toEqual([]);
  });

  it('CONNECT behind a request or inside of a tunnel opens no second way', async () => {
    await world().arrivals();
    const connect = 'CONNECT api.test:5432 HTTP/1.1\r\nHost: api.test:5432\r\n\r\n';
    const evil = connect.replaceAll('api.test', 'evil.test');
    const results = await restricted().attack({
      pipelined: { try: 'raw', send: `${get}\r\n${connect}raw bytes` },
      pipelinedTwice: { try: 'raw', send: `${evil}${connect}raw bytes` },
      inside: { try: 'pieces', target: 'api.test:80', pieces: [`${connect}raw bytes`] },
      otherInside: { try: 'pieces', target: 'api.test:80', pieces: ['GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n'] },
    });
    expect(results.pipelined.text).not.toContain('Established');
    expect(results.pipelinedTwice.status).toBe(403);
    expect(results.inside.then).toMatch(/^HTTP\/1\.1 400 /);
    expect(results.otherInside.then).not.toContain('hello from evil.test');
    const arrivals = await world().arrivals();
    expect(bytesIn(arrivals)).toBe('');
    expect(JSON.stringify(arrivals)).not.toContain('evil.test');
  });

  it.each<[string, { send?: string; half?: boolean }]>([
    ['have sent half of their headers', { send: `${get}X-Slow: ` }],
    ['have sent half of a greeting of SOCKS', { send: '\x05' }],
    ['have ended their half', { half: true }],
    ['wait in a tunnel without a ClientHello', { send: 'CONNECT api.test:5432 HTTP/1.1\r\nHost: api.test:5432\r\n\r\n\x16' }],
  ])('300 connections that %s leave the network of the sandbox and of another one usable', async (_, manner) => {
    const { crowd } = await restricted().attack({ crowd: { try: 'crowd', count: 300, most: 256, ...manner } });
    expect(crowd.open).toBeLessThanOrEqual(256);
    for (const session of ['attacker', 'beside']) {
      const { stdout, stderr } = await restricted().run('curl -sS https://api.test/', session);
      expect(stdout, stderr).toBe('hello from api.test\n');
    }
  });

  it('a command that kills everything in its sandbox leaves the next one with its network and nothing else', async () => {
    await restricted().run('kill -KILL -1; kill -KILL -- -1', 'killed');
    await world().arrivals();
    const { stdout, stderr } = await restricted().run('curl -sS https://api.test/; curl -sSk https://evil.test/', 'killed');
    expect(stdout, stderr).toBe('hello from api.test\n');
    expect(JSON.stringify(await world().arrivals())).not.toContain('evil.test');
  });
});
