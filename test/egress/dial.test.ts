import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AddressClass } from '../../src/egress/addresses.ts';
import { Dialer, type DialParts } from '../../src/egress/dial.ts';
import type { Refusal } from '../../src/egress/refusal.ts';
import { SessionLookups } from '../../src/egress/resolver.ts';
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
  return { rules: rulesOf([]), signal, lookups: new SessionLookups() };
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
