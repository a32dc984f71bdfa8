import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readClientHello } from '../../src/egress/client-hello.ts';
import { extension, helloMessage, helloOfNode, message, records, serverNames, u16 } from './hello-bytes.ts';

/** What the reader says about each beginning, as one list without repetitions. */
function course(bytes: Buffer): unknown[] {
  const said: unknown[] = [];
  for (let length = 0; length <= bytes.length; length++) {
    const result = readClientHello(bytes.subarray(0, length));
    if (JSON.stringify(result) !== JSON.stringify(said.at(-1))) said.push(result);
  }
  return said;
}

const plain = helloMessage([serverNames('api.test')]);
const api = { serverName: 'api.test', alpn: [], hasEch: false };

describe('the ClientHello of a TLS client of Node', () => {
  it.each([
    [
      { servername: 'api.test', ALPNProtocols: ['h2', 'http/1.1'] },
      { serverName: 'api.test', alpn: ['h2', 'http/1.1'], hasEch: false },
    ],
    [{ servername: 'API.Test' }, api],
    [{}, { serverName: undefined, alpn: [], hasEch: false }],
    [{ servername: 'api.test', maxVersion: 'TLSv1.2' as const }, api],
  ])('is understood with %j, and no sooner than with its last byte', async (options, expected) => {
    const bytes = await helloOfNode(options);
    expect(course(bytes)).toEqual(['more', expected]);
  });

  it('is understood in records of any size', async () => {
    const bytes = await helloOfNode({ servername: 'api.test', ALPNProtocols: ['h2'] });
    const content = bytes.subarray(5);
    for (const size of [1, 2, 3, 4, 5, 7, 50, 100, 500, content.length - 1]) {
      expect(course(records(content, size)), `${size}`).toEqual(['more', { serverName: 'api.test', alpn: ['h2'], hasEch: false }]);
    }
  });
});

describe('a ClientHello', () => {
  it('is understood with what follows it in other records', () => {
    for (const next of [Buffer.from([20, 3, 3, 0, 1, 1]), Buffer.alloc(200_000, 1), records(message(Buffer.alloc(9), 16))]) {
      expect(readClientHello(Buffer.concat([records(plain), next]))).toEqual(api);
    }
  });

  it('is understood without extensions', () => {
    expect(readClientHello(records(helloMessage(undefined)))).toEqual({ serverName: undefined, alpn: [], hasEch: false });
    expect(readClientHello(records(helloMessage([])))).toEqual({ serverName: undefined, alpn: [], hasEch: false });
  });

  it.each([0xfe0d, 0xffce])('with the extension %i says that another name may be encrypted in it', (type) => {
    const hello = helloMessage([serverNames('public.test'), extension(type, Buffer.alloc(100, 1))]);
    expect(readClientHello(records(hello))).toEqual({ serverName: 'public.test', alpn: [], hasEch: true });
  });

  it('of nearly 64 KB is understood, also in records of 100 bytes', () => {
    const hello = helloMessage([serverNames('api.test'), extension(21, Buffer.alloc(60_000))]);
    expect(readClientHello(records(hello))).toEqual(api);
    expect(readClientHello(records(hello, 100))).toEqual(api);
  });

  it.each([
    ['70 KB', helloMessage([serverNames('api.test'), extension(21, Buffer.alloc(35_000)), extension(22, Buffer.alloc(35_000))])],
    ['16 MB', message(Buffer.alloc(0xffffff))],
  ])('of %s is malformed as soon as its length is there', (_size, hello) => {
    expect(course(records(hello).subarray(0, 20))).toEqual(['more', 'malformed']);
  });

  it('in records that take more than 64 KB together is malformed', () => {
    const hello = helloMessage([serverNames('api.test'), extension(21, Buffer.alloc(20_000))]);
    expect(readClientHello(records(hello, 1))).toBe('malformed');
    expect(readClientHello(records(hello, 1).subarray(0, 65_530))).toBe('more');
    expect(readClientHello(records(hello, 1).subarray(0, 65_550))).toBe('malformed');
  });
});

describe('malformed at the first byte that shows it', () => {
  it.each([
    ['a request of HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1],
    ['SSH', Buffer.from('SSH-2.0-x\r\n'), 1],
    ['a hello of SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1]), 1],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 1, 0]), 1],
    ['a record of SSL 2', Buffer.from([22, 2, 0, 0, 2]), 2],
    ['a record of an unknown version', Buffer.from([22, 3, 5, 0, 2]), 3],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0]), 5],
    ['a record of more than 16 KB', Buffer.from([22, 3, 1, 0x40, 1]), 5],
    ['a ServerHello', records(message(Buffer.alloc(40), 2)), 6],
    [
      'an empty record between two',
      Buffer.concat([records(plain.subarray(0, 9)), Buffer.from([22, 3, 1, 0, 0]), records(plain.subarray(9))]),
      19,
    ],
    ['an alert between two records', Buffer.concat([records(plain.subarray(0, 9)), Buffer.from([21, 3, 1, 0, 2, 1, 0])]), 15],
    ['another message in the same record', records(Buffer.concat([plain, message(Buffer.alloc(4), 16)])), 9],
    ['a length of the message that ends before the record', records(Buffer.concat([Buffer.from([1, 0, 0, 4]), plain.subarray(4)])), 9],
  ])('%s', (_what, bytes, at) => {
    expect(readClientHello(bytes.subarray(0, at - 1))).toBe('more');
    expect(readClientHello(bytes.subarray(0, at))).toBe('malformed');
    expect(readClientHello(bytes)).toBe('malformed');
  });
});

describe('malformed when it is complete', () => {
  const sni = (content: Buffer) => helloMessage([extension(0, content)]);
  const alpn = (content: Buffer) => helloMessage([serverNames('api.test'), extension(16, content)]);
  const body = plain.subarray(4);
  const changed = (at: number, ...values: number[]) => {
    const copy = Buffer.from(body);
    copy.set(values, at);
    return message(copy);
  };

  it.each([
    ['two names', helloMessage([serverNames('api.test', 'evil.test')])],
    ['the same name twice', helloMessage([serverNames('api.test', 'api.test')])],
    ['two extensions with names', helloMessage([serverNames('api.test'), serverNames('evil.test')])],
    ['any extension twice', helloMessage([extension(21, Buffer.alloc(1)), serverNames('api.test'), extension(21, Buffer.alloc(2))])],
    ['an empty extension of names', sni(Buffer.alloc(0))],
    ['an empty list of names', sni(u16(0))],
    ['an empty name', helloMessage([serverNames('')])],
    ['a name of an unknown kind', sni(Buffer.from([0, 4, 1, 0, 1, 97]))],
    ['a name of an unknown kind before the host', sni(Buffer.from([0, 8, 1, 0, 1, 97, 0, 0, 1, 97]))],
    ['a list of names that ends before its extension', sni(Buffer.from([0, 4, 0, 0, 1, 97, 0]))],
    ['a list of names that ends after its extension', sni(Buffer.from([0, 5, 0, 0, 1, 97]))],
    ['a name that ends after its list', sni(Buffer.from([0, 4, 0, 0, 2, 97]))],
    ['a name with a zero byte', helloMessage([serverNames('api.test\0.evil.test')])],
    ['a name with a space', helloMessage([serverNames('api test')])],
    ['a name that is not ASCII', helloMessage([serverNames('bücher.test')])],
    ['a name with a letter of Latin 1', sni(Buffer.from([0, 4, 0, 0, 1, 0xfc]))],
    ['a name that is no host', helloMessage([serverNames('api.test/evil.test')])],
    ['a name of 300 characters', helloMessage([serverNames('a.'.repeat(150))])],
    ['an empty list of protocols', alpn(u16(0))],
    ['an empty protocol', alpn(Buffer.from([0, 1, 0]))],
    ['a protocol that ends after its list', alpn(Buffer.from([0, 3, 3, 104, 50]))],
    ['bytes after the protocols', alpn(Buffer.from([0, 3, 2, 104, 50, 0]))],
    ['an extension that ends after the message', helloMessage([serverNames('api.test'), Buffer.from([0, 21, 0, 9, 1])])],
    ['half an extension', helloMessage([serverNames('api.test'), Buffer.from([0, 21, 0])])],
    ['a session of more than 32 bytes', changed(34, 33)],
    ['a session that ends after the message', changed(34, 255)],
    ['an odd number of bytes of suites', changed(35, 0, 3)],
    ['no suites', changed(35, 0, 0)],
    ['suites that end after the message', changed(35, 255, 254)],
    ['no method of compression', changed(39, 0)],
    ['extensions that end before the message', changed(41, 0, 0)],
    ['extensions that end after the message', changed(41, 255, 255)],
    ['bytes after the extensions', message(Buffer.concat([body, Buffer.alloc(3)]))],
    ['one byte after the compression', message(Buffer.concat([helloMessage(undefined).subarray(4), Buffer.alloc(1)]))],
    ['a message of no bytes', message(Buffer.alloc(0))],
    ['a message of 33 bytes', message(body.subarray(0, 33))],
  ])('%s', (_what, hello) => {
    expect(course(records(hello))).toEqual(['more', 'malformed']);
    expect(readClientHello(records(hello, 3))).toBe('malformed');
  });
});

describe('any bytes', () => {
  const answers = (bytes: Buffer) => {
    const result = readClientHello(bytes);
    if (typeof result === 'string') expect(['more', 'malformed']).toContain(result);
    else expect(result.serverName ?? 'none').toMatch(/^[a-z0-9_.:-]+$/);
    return result;
  };

  it('are answered without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        answers(Buffer.from(bytes));
        answers(records(Buffer.from(bytes)));
        answers(records(message(Buffer.from(bytes))));
      }),
      { numRuns: 3000 },
    );
  });

  it('get the same answer once it is not "more", also when more bytes follow', async () => {
    const real = await helloOfNode({ servername: 'api.test', ALPNProtocols: ['h2', 'http/1.1'] });
    const change = fc.tuple(fc.nat(real.length - 1), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 4 }),
        fc.integer({ min: 1, max: 600 }),
        fc.uint8Array({ maxLength: 20 }),
        (changes, size, next) => {
          const bytes = Buffer.from(real);
          for (const [at, value] of changes) bytes[at] = value;
          const cut = Buffer.concat([changes.some(([at]) => at < 5) ? bytes : records(bytes.subarray(5), size), Buffer.from(next)]);
          const said = course(cut).filter((result) => result !== 'more');
          expect(said.length).toBeLessThanOrEqual(1);
          if (said.length === 1) expect(answers(cut)).toEqual(said[0]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('that arrive in records of one byte are understood up to 64 KB', () => {
    const hello = helloMessage([serverNames('api.test'), extension(21, Buffer.alloc(10_000))]);
    const bytes = records(hello, 1);
    // Every 16th beginning, to keep the test short.
    for (let length = 0; length < bytes.length; length += 16) expect(readClientHello(bytes.subarray(0, length))).toBe('more');
    expect(readClientHello(bytes)).toEqual(api);
  });
});
