import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AddressClass } from '../../src/egress/addresses.ts';
import { Dialer, type DialerOptions, type DialParts } from '../../src/egress/dial.ts';
import type { Refusal } from '../../src/egress/refusal.ts';
import { CallSlots } from '../../src/lib/call-slots.ts';
import { until } from '../until.ts';
import { rulesOf } from './session-rig.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** Those of a sandbox of its own. */
function partsFor(signal = new AbortController().signal): DialParts {
  return { rules: rulesOf([]), signal, lookups: new CallSlots(1) };
}

const onLoopback = (address: string): AddressClass => (address === '127.0.0.1' ? 'public' : 'special');

/** The port of a server on 127.0.0.1 that closes what comes. */
async function listening(): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function reasonOrAddress(dialed: Promise<Socket | Refusal>): Promise<string | undefined> {
  const result = await dialed;
  if (!(result instanceof Socket)) return result.reason;
  sockets.push(result);
  return result.remoteAddress;
}

describe('dialling', () => {
  it('resolves a name once and connects to an address that was checked', async () => {
    const port = await listening();
    let count = 0;
    // A second answer would lead elsewhere.
    const lookup = async () => [{ address: count++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    const dialer = new Dialer({ lookup, classify: onLoopback });
    expect(await reasonOrAddress(dialer.dial({ host: 'api.test', port }, partsFor()))).toBe('127.0.0.1');
    expect(count).toBe(1);
  });

  it('tries the next address when one does not answer', async () => {
    const port = await listening();
    const lookup = async () => ['127.0.0.3', '127.0.0.1'].map((address) => ({ address, family: 4 }));
    const dialer = new Dialer({ lookup, classify: () => 'public' });
    expect(await reasonOrAddress(dialer.dial({ host: 'api.test', port }, partsFor()))).toBe('127.0.0.1');
  });

  it('asks no resolver for an address', async () => {
    const port = await listening();
    const lookup = vi.fn(async () => []);
    const dialer = new Dialer({ lookup, classify: onLoopback });
    expect(await reasonOrAddress(dialer.dial({ host: '127.0.0.1', port }, partsFor()))).toBe('127.0.0.1');
    expect(lookup).not.toHaveBeenCalled();
  });

  it('says that a host without an address is unresolved, and one that refuses is unreachable', async () => {
    const port = await listening();
    await new Promise((resolve) => servers.pop()?.close(resolve));
    const lookup = async (host: string) => {
      if (host === 'missing.test') throw new Error('ENOTFOUND');
      return [{ address: '127.0.0.1', family: 4 }];
    };
    const dialer = new Dialer({ lookup, classify: onLoopback });
    expect(await reasonOrAddress(dialer.dial({ host: 'missing.test', port }, partsFor()))).toBe('unresolved');
    expect(await reasonOrAddress(dialer.dial({ host: 'api.test', port }, partsFor()))).toBe('unreachable');
  });

  it('gives up when the client has left', async () => {
    const leaving = new AbortController();
    const answer = Promise.withResolvers<{ address: string; family: number }[]>();
    const dialer = new Dialer({ lookup: async () => await answer.promise, classify: onLoopback });
    const dialed = dialer.dial({ host: 'api.test', port: 1 }, partsFor(leaving.signal));
    leaving.abort();
    answer.resolve([{ address: '127.0.0.1', family: 4 }]);
    expect(await reasonOrAddress(dialed)).toBe('unreachable');
  });
});

describe('the class of an address', () => {
  const dialer = new Dialer({ lookup: async () => [] });
  const reasonFor = (address: string, host: string, privateRules: string[]) =>
    dialer.addressRefusal(address, { host, port: 443 }, rulesOf([], [], privateRules))?.reason;

  it('is judged by the tables and by the addresses of this machine', () => {
    expect(reasonFor('127.0.0.1', 'api.test', ['api.test'])).toBe('special-address');
    expect(reasonFor('::1', 'api.test', ['api.test'])).toBe('special-address');
    expect(reasonFor('8.8.8.8', 'api.test', [])).toBeUndefined();
  });

  it('private is opened by a host or a network of network.private, for that host or network alone', () => {
    expect(reasonFor('10.0.0.9', 'api.test', [])).toBe('private-address');
    expect(reasonFor('10.0.0.9', 'api.test', ['api.test'])).toBeUndefined();
    expect(reasonFor('10.0.0.9', 'other.test', ['api.test'])).toBe('private-address');
    expect(reasonFor('10.0.0.9', 'api.test', ['10.0.0.0/24'])).toBeUndefined();
    expect(reasonFor('10.0.1.9', 'api.test', ['10.0.0.0/24'])).toBe('private-address');
  });
});

describe('look-ups', () => {
  const refused = (): AddressClass => 'special';

  /** Look-ups that stay open until they are answered. */
  function slowLookups() {
    const open: { host: string; answer(addresses: string[]): void }[] = [];
    const lookup: DialerOptions['lookup'] = async (host) =>
      await new Promise((resolve) =>
        open.push({ host, answer: (addresses) => resolve(addresses.map((address) => ({ address, family: 4 }))) }),
      );
    const dialer = new Dialer({ lookup, classify: refused });
    const dial = async (host: string) => await reasonOrAddress(dialer.dial({ host, port: 443 }, partsFor()));
    return { open, dial };
  }

  it('are at most two at a time', async () => {
    const { open, dial } = slowLookups();
    const all = Promise.all(['a.test', 'b.test', 'c.test'].map(dial));
    await until('two look-ups are open', () => open.length === 2);
    open[0]?.answer(['127.0.0.1']);
    await until('the third one has begun', () => open.length === 3);
    for (const { answer } of open) answer(['127.0.0.1']);
    expect(await all).toEqual(Array(3).fill('special-address'));
  });

  it('of one host at the same time are one', async () => {
    const { open, dial } = slowLookups();
    const all = Promise.all(['a.test', 'a.test', 'a.test'].map(dial));
    await until('a look-up is open', () => open.length > 0);
    open[0]?.answer(['127.0.0.1']);
    await all;
    expect(open).toHaveLength(1);
  });

  it('are kept for 30 s, and failures for 5 s', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const lookup = vi.fn(async (host: string) => (host === 'missing.test' ? [] : [{ address: '127.0.0.1', family: 4 }]));
    const dialer = new Dialer({ lookup, classify: refused });
    const asked = async (host: string): Promise<number> => {
      lookup.mockClear();
      await dialer.dial({ host, port: 443 }, partsFor());
      return lookup.mock.calls.length;
    };
    expect([await asked('a.test'), await asked('missing.test')]).toEqual([1, 1]);
    vi.advanceTimersByTime(4_000);
    expect([await asked('a.test'), await asked('missing.test')]).toEqual([0, 0]);
    vi.advanceTimersByTime(2_000);
    expect([await asked('a.test'), await asked('missing.test')]).toEqual([0, 1]);
    vi.advanceTimersByTime(25_000);
    expect(await asked('a.test')).toBe(1);
  });

  it('are forgotten, the oldest first, when there are too many', async () => {
    const lookup = vi.fn(async () => [{ address: '127.0.0.1', family: 4 }]);
    const dialer = new Dialer({ lookup, classify: refused });
    for (let n = 0; n <= 1_000; n++) await dialer.dial({ host: `h${n}.test`, port: 443 }, partsFor());
    lookup.mockClear();
    await dialer.dial({ host: 'h1000.test', port: 443 }, partsFor());
    expect(lookup).not.toHaveBeenCalled();
    await dialer.dial({ host: 'h0.test', port: 443 }, partsFor());
    expect(lookup).toHaveBeenCalledTimes(1);
  });

  it('of one sandbox let those of another pass', async () => {
    const open: string[] = [];
    const lookup: DialerOptions['lookup'] = async (host) => {
      open.push(host);
      return await new Promise(() => undefined);
    };
    const dialer = new Dialer({ lookup, classify: refused });
    const greedy = partsFor();
    for (let n = 0; n < 100; n++) void dialer.dial({ host: `h${n}.test`, port: 443 }, greedy);
    void dialer.dial({ host: 'other.test', port: 443 }, partsFor());
    await until('the other sandbox has its turn', () => open.includes('other.test'));
    expect(open).toEqual(['h0.test', 'other.test']);
  });
});
