import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Names } from '../../src/egress/names.ts';

const types = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33, SVCB: 64, HTTPS: 65, ANY: 255 };
const edns = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);

function wireName(name: string): Buffer {
  const labels = name.split('.').filter(Boolean);
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')])), Buffer.alloc(1)]);
}

interface QueryParts {
  type?: number;
  class?: number;
  flags?: number;
  counts?: number[];
  name?: Buffer;
  tail?: Buffer;
}

function query(name: string, parts: QueryParts = {}): Buffer {
  const { type = types.A, flags = 0x0100, tail = Buffer.alloc(0) } = parts;
  const counts = parts.counts ?? [1, 0, 0, tail.length > 0 ? 1 : 0];
  const numbers = (...values: number[]) => Buffer.concat(values.map((value) => Buffer.from([value >> 8, value & 255])));
  return Buffer.concat([numbers(0xabcd, flags, ...counts), parts.name ?? wireName(name), numbers(type, parts.class ?? 1), tail]);
}

/** The code of an answer and the address in it. */
function told(answer: Buffer | undefined): { code: number; address?: string } | undefined {
  if (answer === undefined) return undefined;
  expect(answer.readUInt16BE(0)).toBe(0xabcd);
  expect(answer.readUInt8(2) & 0x80).toBe(0x80);
  const code = answer.readUInt8(3) & 15;
  return answer.readUInt16BE(6) === 1 ? { code, address: answer.subarray(-4).join('.') } : { code };
}

function addressOf(names: Names, name: string): string {
  return told(names.answer(query(name)))?.address ?? 'none';
}

describe('a name', () => {
  it('has an address of 127.64.0.0/10 of its own, which says which name was meant', () => {
    const names = new Names();
    const hosts = ['a.test', 'b.test', 'x.a.test'];
    const addresses = hosts.map((host) => addressOf(names, host));
    expect(new Set(addresses).size).toBe(3);
    for (const address of addresses) expect(address).toMatch(/^127\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/);
    expect(addresses.map((address) => names.hostAt(address))).toEqual(hosts);
    expect(names.hostAt(`::ffff:${addresses[0]}`)).toBe('a.test');
    expect(hosts.map((host) => addressOf(names, host))).toEqual(addresses);
  });

  it('has the same address in every spelling', () => {
    const names = new Names();
    const address = addressOf(names, 'xn--bcher-kva.test');
    expect(addressOf(names, 'XN--Bcher-KVA.TEST')).toBe(address);
    expect(names.hostAt(address)).toBe('xn--bcher-kva.test');
  });

  it('is written in the answer as in the question, and expires soon', () => {
    const answer = new Names().answer(query('MiXeD.test'));
    expect(answer?.subarray(12, 12 + 16)).toEqual(query('MiXeD.test').subarray(12));
    expect(answer?.readUInt32BE(12 + 16 + 6)).toBeLessThanOrEqual(30);
  });

  it('is answered with EDNS options in the question', () => {
    expect(told(new Names().answer(query('a.test', { tail: edns })))).toEqual({ code: 0, address: '127.64.0.1' });
  });

  it.each(Object.entries(types).filter(([type]) => type !== 'A'))('has no record of type %s', (_name, type) => {
    const names = new Names();
    expect(told(names.answer(query('a.test', { type })))).toEqual({ code: 0 });
    expect(names.hostAt('127.64.0.1')).toBeUndefined();
  });

  it.each([
    'localhost',
    'x.localhost',
    'printer',
    'printer.local',
    '1.0.0.127.in-addr.arpa',
    'home.arpa',
    '',
    '127.0.0.1',
    '1.2.3.4',
    '127.1',
    '-a.test',
  ])('does not exist when it is %j', (name) => {
    const names = new Names();
    for (const type of [types.A, types.AAAA, types.PTR]) expect(told(names.answer(query(name, { type })))).toEqual({ code: 3 });
    expect(names.hostAt('127.64.0.1')).toBeUndefined();
  });

  it.each(['a.b', 'a b', 'a\0b', 'bü', 'a/b', '*', 'a@b', '%41'])('does not exist with the label %j', (label) => {
    const name = Buffer.concat([Buffer.from([label.length, ...Buffer.from(label, 'latin1')]), wireName('test')]);
    expect(told(new Names().answer(query('', { name })))).toEqual({ code: 3 });
  });

  it('may have 253 characters', () => {
    const longest = `${'a.'.repeat(126)}a`;
    const names = new Names();
    expect(names.hostAt(addressOf(names, longest))).toBe(longest);
  });
});

describe('an address', () => {
  it.each(['127.0.0.1', '127.64.0.0', '127.64.0.2', '127.128.0.1', '::1', '', 'a.test'])(
    'that was not given out leads to no host: %j',
    (address) => {
      const names = new Names();
      addressOf(names, 'a.test');
      expect(names.hostAt(address)).toBeUndefined();
    },
  );

  it('of a name that 4,096 others have replaced leads nowhere, and to no other host', () => {
    const names = new Names();
    const first = addressOf(names, 'first.test');
    const seen = new Set<string>();
    for (let index = 0; index < 20_000; index++) seen.add(addressOf(names, `x${index}.test`));
    expect(seen.size).toBe(20_000);
    expect(seen).not.toContain(first);
    expect(names.hostAt(first)).toBeUndefined();
    expect(addressOf(names, 'first.test')).not.toBe(first);
  });

  it('stays that of a name that is used, by questions or connections', () => {
    const names = new Names(3);
    const [asked, connected] = [addressOf(names, 'asked.test'), addressOf(names, 'connected.test')];
    for (let index = 0; index < 50; index++) {
      addressOf(names, `x${index}.test`);
      expect(addressOf(names, 'asked.test')).toBe(asked);
      expect(names.hostAt(connected)).toBe('connected.test');
    }
    expect(names.hostAt(asked)).toBe('asked.test');
  });

  it('in use is not given to a second name when all have been given out once', () => {
    const names = new Names(2, 16);
    const kept = addressOf(names, 'kept.test');
    for (let index = 0; index < 100; index++) {
      expect(addressOf(names, `x${index}.test`)).not.toBe(kept);
      expect(names.hostAt(kept)).toBe('kept.test');
    }
  });
});

describe('a message that is no proper query', () => {
  const pointer = Buffer.from([0xc0, 0x0c]);
  it.each<[string, Buffer, number | undefined]>([
    ['nothing', Buffer.alloc(0), undefined],
    ['less than a header', query('a.test').subarray(0, 11), undefined],
    ['an answer', query('a.test', { flags: 0x8180 }), undefined],
    ['more than 4 KB', query('a.test', { tail: Buffer.alloc(5000) }), undefined],
    ['a header alone', query('a.test').subarray(0, 12), 1],
    ['a cut name', query('a.test').subarray(0, 15), 1],
    ['a cut type', query('a.test').subarray(0, -3), 1],
    ['no question', query('a.test', { counts: [0, 0, 0, 0] }), 1],
    ['two questions', query('a.test', { counts: [2, 0, 0, 0], tail: query('b.test').subarray(12) }), 1],
    ['an answer with the question', query('a.test', { counts: [1, 1, 0, 0] }), 1],
    ['a pointer', query('', { name: pointer }), 1],
    ['a pointer after a label', query('', { name: Buffer.concat([Buffer.from([1, 97]), pointer]) }), 1],
    ['a label of 64 bytes', query('', { name: Buffer.concat([Buffer.from([64]), Buffer.alloc(64, 97), Buffer.alloc(1)]) }), 1],
    ['a name of 256 bytes', query('', { name: wireName(`${'a.'.repeat(126)}aa`) }), 1],
    ['another class', query('a.test', { class: 3 }), 5],
    ['any class', query('a.test', { class: 255 }), 5],
    ['a status request', query('a.test', { flags: 0x1000 }), 4],
    ['an update', query('a.test', { flags: 0x2800 }), 4],
  ])('gets no address: %s', (_what, bytes, code) => {
    const names = new Names();
    expect(told(names.answer(bytes))).toEqual(code === undefined ? undefined : { code });
    expect(names.hostAt('127.64.0.1')).toBeUndefined();
  });

  it('any bytes are answered without an exception, and with at most 16 bytes more', () => {
    const names = new Names();
    const label = fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from([bytes.length, ...bytes]));
    const like = fc
      .tuple(fc.array(label, { maxLength: 6 }), fc.uint8Array({ maxLength: 12 }), fc.nat(0xffff))
      .map(([labels, tail, flags]) =>
        query('', { name: Buffer.concat(labels), tail: Buffer.from(tail), flags, counts: [1, 0, 0, tail.length % 3] }),
      );
    fc.assert(
      fc.property(fc.oneof(like, fc.uint8Array({ maxLength: 600 }).map(Buffer.from)), (bytes) => {
        const answer = names.answer(bytes);
        if (answer === undefined) return;
        expect(answer.length).toBeLessThanOrEqual(bytes.length + 16);
        expect(answer.subarray(0, 2)).toEqual(bytes.subarray(0, 2));
        expect(names.answer(answer)).toBeUndefined();
      }),
      { numRuns: 5000 },
    );
  });
});

it('the resolver of a program understands the answers', async () => {
  const names = new Names();
  const server = createSocket('udp4');
  server.on('message', (bytes, from) => {
    const answer = names.answer(bytes);
    if (answer) server.send(answer, from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${server.address().port}`]);
    const [address = ''] = await resolver.resolve4('api.test');
    expect(names.hostAt(address)).toBe('api.test');
    await expect(resolver.resolve6('api.test')).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(resolver.resolve4('printer.local')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  } finally {
    server.close();
  }
});
