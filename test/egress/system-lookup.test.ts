import type { Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { namesIn } from '../../src/egress/hosts-file.ts';
import { Resolver, SessionLookups } from '../../src/egress/resolver.ts';
import { systemLookup } from '../../src/egress/system-lookup.ts';
import { until } from '../until.ts';
import { NameServer } from '../world/name-server.ts';
import { Arrivals, type NameAnswer } from '../world/records.ts';

const directory = mkdtempSync(join(tmpdir(), 'hermetic-hosts-'));
const hostsFile = join(directory, 'hosts');
const sockets: Socket[] = [];
afterEach(async () => {
  await Promise.all(sockets.splice(0).map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))));
  rmSync(hostsFile, { force: true });
});

afterAll(() => rmSync(directory, { recursive: true }));

const silent: NameAnswer = { addresses: ['203.0.113.9'], silent: ['A', 'AAAA'] };
const always = new AbortController().signal;

/** A name server on loopback, and the questions it got, each once: a program asks again when an answer takes long. */
async function serve(answers: Readonly<Record<string, NameAnswer>> = {}) {
  const arrivals = new Arrivals();
  const server = new NameServer(arrivals, '203.0.113.10');
  for (const [name, answer] of Object.entries(answers)) server.answerName(name, [answer]);
  const socket = await server.listen('127.0.0.1', 0);
  sockets.push(socket);
  const asked = new Set<string>();
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: (): readonly string[] => {
      for (const arrival of arrivals.take()) if (arrival.kind === 'question') asked.add(`${arrival.name} ${arrival.type}`);
      return [...asked];
    },
  };
}

describe('name servers', () => {
  it('that leave the names of 20 sandboxes unanswered do not delay those of another one', async () => {
    const sandboxes = Array.from({ length: 20 }, (_, n) => [`one.silent${n}.test`, `two.silent${n}.test`, `three.silent${n}.test`]);
    const server = await serve(Object.fromEntries(sandboxes.flat().map((name) => [name, silent])));
    const resolver = new Resolver(systemLookup({ hostsFile, servers: [server.address] }));
    const gone = new AbortController();
    let ended = 0;
    for (const names of sandboxes) {
      const lookups = new SessionLookups();
      for (const name of names) void resolver.addressesOf(name, lookups, gone.signal).then(() => (ended += 1));
    }
    const begun = sandboxes.flatMap(([one = '', two = '']) => [one, two]).flatMap((name) => [`${name} A`, `${name} AAAA`]);
    await until('two names of each are asked for', () => server.asked().length >= begun.length);
    expect(server.asked().toSorted()).toEqual(begun.toSorted());
    const other = new SessionLookups();
    for (const host of ['a.test', 'b.test', 'c.test']) {
      expect(await resolver.addressesOf(host, other, always)).toEqual([{ address: '203.0.113.10', family: 4 }]);
    }
    expect(ended).toBe(0);
    gone.abort();
    await until('no look-up is left', () => ended === 60);
    // The third names had no turn, and none is asked for again.
    expect(await resolver.addressesOf('d.test', other, always)).toHaveLength(1);
    expect(server.asked().filter((question) => question.includes('.silent'))).toHaveLength(begun.length);
  });

  it('are asked for addresses of both families, which alternate', async () => {
    const server = await serve({
      'both.test': { addresses: ['203.0.113.1', '203.0.113.2', '203.0.113.3', '2001:db8::1'] },
      'six.test': { through: ['far.test'], addresses: ['2001:db8::6'] },
      'missing.test': { addresses: [] },
    });
    const look = systemLookup({ hostsFile, servers: [server.address] });
    const both = await look('both.test', always);
    expect(both.toSorted((one, other) => one.address.localeCompare(other.address))).toEqual([
      { address: '2001:db8::1', family: 6 },
      ...['203.0.113.1', '203.0.113.2', '203.0.113.3'].map((address) => ({ address, family: 4 })),
    ]);
    expect(
      both
        .slice(0, 2)
        .map(({ family }) => family)
        .toSorted(),
    ).toEqual([4, 6]);
    expect(await look('six.test', always)).toEqual([{ address: '2001:db8::6', family: 6 }]);
    expect(await look('missing.test', always)).toEqual([]);
  });

  it('that are silent about one family do not take the addresses of the other one away', async () => {
    const server = await serve({
      'half.test': { addresses: ['203.0.113.1'], silent: ['AAAA'] },
      'next.test': { addresses: ['203.0.113.2'] },
    });
    const look = systemLookup({ hostsFile, servers: [server.address] });
    const deadline = new AbortController();
    const half = look('half.test', deadline.signal);
    // By then the answer about IPv4 is here.
    await look('next.test', always);
    deadline.abort();
    expect(await half).toEqual([{ address: '203.0.113.1', family: 4 }]);
  });

  it('that refuse a name, or cannot be reached, leave it to the next one', async () => {
    const refusing = await serve({ 'inner.test': { addresses: [], refused: true } });
    const knowing = await serve({ 'inner.test': { addresses: ['203.0.113.7'] } });
    const found = [{ address: '203.0.113.7', family: 4 }];
    expect(await systemLookup({ hostsFile, servers: [refusing.address, knowing.address] })('inner.test', always)).toEqual(found);
    const closed = await serve();
    await new Promise<void>((resolve) => sockets.pop()?.close(() => resolve()));
    expect(await systemLookup({ hostsFile, servers: [closed.address, knowing.address] })('inner.test', always)).toEqual(found);
    expect(await systemLookup({ hostsFile, servers: [refusing.address] })('inner.test', always)).toEqual([]);
  });
});

describe('the hosts file', () => {
  const unused = { servers: ['127.0.0.1:9'] };
  const four = (address: string) => ({ address, family: 4 });

  it('wins over name servers, in lower and upper case, with all addresses of a name in their order', async () => {
    const server = await serve();
    writeFileSync(
      hostsFile,
      '# a comment\n127.0.0.1\tlocalhost\n  203.0.113.5 Git.Corp.test git # other.test\n2001:db8::5 git.corp.test\r\nnonsense git.corp.test\n10.0.0.1\n203.0.113.6 more git.corp.test',
    );
    const look = systemLookup({ hostsFile, servers: [server.address] });
    expect(await look('git.corp.test', always)).toEqual([four('203.0.113.5'), { address: '2001:db8::5', family: 6 }, four('203.0.113.6')]);
    expect(await look('git', always)).toEqual([four('203.0.113.5')]);
    expect(server.asked()).toEqual([]);
    expect(await look('other.test', always)).toEqual([four('203.0.113.10')]);
  });

  it('is followed when it changes, is replaced, goes away or comes back', async () => {
    const look = systemLookup({ hostsFile, ...unused });
    const found = async (): Promise<string[]> => (await look('a.test', always)).map(({ address }) => address);
    expect(await found()).toEqual([]);
    writeFileSync(hostsFile, '203.0.113.1 a.test\n');
    expect(await found()).toEqual(['203.0.113.1']);
    writeFileSync(hostsFile, '203.0.113.2 a.test\n203.0.113.3 b.test\n');
    expect(await found()).toEqual(['203.0.113.2']);
    rmSync(hostsFile);
    expect(await found()).toEqual([]);
    writeFileSync(hostsFile, '203.0.113.4 a.test\n');
    expect(await found()).toEqual(['203.0.113.4']);
  });

  it('is read a few lines at a time, so that a long one does not stop the thread', () => {
    const lines = Array.from({ length: 10_000 }, (_, number) => `0.0.0.0 ads${number}.example # ${number}`);
    const steps = namesIn([...lines, `1.2.3.4 ${'x '.repeat(10_000)}`, '203.0.113.1 a.test A.test'].join('\n'));
    let count = 0;
    let step = steps.next();
    for (; !step.done; count++) step = steps.next();
    expect(count).toBeGreaterThan(30);
    expect(step.value.size).toBe(10_001);
    expect(step.value.get('a.test')).toHaveLength(2);
  });

  it('of more than 16 MB is left out', async () => {
    const look = systemLookup({ hostsFile, ...unused });
    writeFileSync(hostsFile, `203.0.113.1 a.test\n${'#'.repeat(16 * 1024 * 1024)}`);
    expect(await look('a.test', always)).toEqual([]);
  });
});
