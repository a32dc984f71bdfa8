import { hash } from 'node:crypto';
import { request } from 'node:http';
import type { NetworkInterfaceInfo } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { dockerProduct } from '../../src/backends/docker/discover.ts';
import { parseHost } from '../../src/backends/engine/address.ts';
import type { Engine } from '../../src/backends/engine/engine.ts';
import { ensureNetworkOf, networkName } from '../../src/backends/engine/network.ts';
import { clientNetwork } from '../../src/http/client-network.ts';
import { refuseInTheClear } from '../../src/http/site.ts';
import { serveHttp } from '../../src/mcp/http.ts';
import { ownAddresses } from '../../src/proof/network.ts';
import { metadataRoutes, parseRoutes, reaches } from '../../src/proof/routes.ts';
import { TestGateway, token } from '../http/gateway.ts';

/** This server has another name, or what it was called by is no name at all. */
const notOurs = expect.toBeOneOf([421, 400]);

/** Says whatever it is told to say. */
async function statusOf(port: number, headers: Record<string, string>, path = '/api/chats', host = '127.0.0.1'): Promise<number> {
  return await new Promise((resolve, reject) => {
    request({ agent: false, host, port, path, headers }, (answer) => resolve(answer.resume().statusCode ?? 0))
      .on('error', reject)
      .end();
  });
}

/** Names of this machine, and of machines beside it, that a page could have in its address. */
const strange = [
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::1%25lo]',
  '[::]',
  '[fe80::1]',
  '[fe80::1%25eth0]',
  '[fd00::1]',
  '[fd00:ec2::254]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[ff02::1]',
  '::1',
  '0.0.0.0',
  '0',
  '127.1',
  '127.0.0.2',
  '2130706433',
  '0x7f000001',
  '017700000001',
  'localhost.',
  'localhost.localdomain',
  'ip6-localhost',
];

describe('foreign host names', async () => {
  const gateway = await TestGateway.start({ limits: { requestsPerMinute: 10_000, failuresPerMinute: 10_000 } });
  afterAll(() => gateway.remove());
  const { port } = gateway.server;
  const bearer = { authorization: `Bearer ${token}` };

  it.each(strange)('refuses %s as host or origin of the web page', async (name) => {
    expect(await statusOf(port, { ...bearer, host: `${name}:${port}` })).toEqual(notOurs);
    const host = `127.0.0.1:${port}`;
    for (const scheme of ['http', 'https'])
      expect(await statusOf(port, { ...bearer, host, origin: `${scheme}://${name}:${port}` })).toBe(403);
    expect(await statusOf(port, { ...bearer, host })).toBe(200);
  });

  it.each(strange)('refuses %s as host or origin of the MCP server', async (name) => {
    const mcp = await serveHttp({ port: 0, token, makeServer: () => expect.unreachable('nobody was let in') });
    try {
      const at = Number(new URL(mcp.url).port);
      expect(await statusOf(at, { ...bearer, host: `${name}:${at}` }, '/mcp')).toEqual(notOurs);
      expect(await statusOf(at, { ...bearer, host: `127.0.0.1:${at}`, origin: `http://${name}:${at}` }, '/mcp')).toBe(403);
    } finally {
      await mcp.close();
    }
  });
});

describe('listening without encryption', () => {
  it.each([
    '::',
    '0.0.0.0',
    '::ffff:0.0.0.0',
    '::ffff:127.0.0.1',
    '::ffff:192.0.2.1',
    'fe80::1',
    'fe80::1%eth0',
    'fd00::1',
    '2001:db8::1',
    '[::1]',
    '::1%lo',
    '0:0:0:0:0:0:0:1',
    '127.999.0.1',
    '127.1',
    '127.0.0.1.example.org',
    '1270.0.0.1',
    'ip6-localhost',
    '',
  ])('refuses to listen on %j without encryption', (host) => {
    expect(() => refuseInTheClear({ host, behindTls: false, publicUrl: undefined })).toThrow(
      /anyone on the network could read the traffic/,
    );
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('listens on %s without encryption', (host) => {
    expect(() => refuseInTheClear({ host, behindTls: false, publicUrl: undefined })).not.toThrow();
  });
});

describe('rate limits by network', () => {
  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:1:2::1', '2001:0db8:0001:0002::9'],
    ['fe80::1%eth0', 'fe80::2%eth1'],
    ['fd00::1', 'fd00:0:0:0:5::'],
    ['127.0.0.1', '::ffff:127.0.0.1'],
    ['127.0.0.1', '::ffff:7f00:1'],
    ['127.0.0.1', '0:0:0:0:0:ffff:127.0.0.1'],
    ['192.0.2.7', '::ffff:192.0.2.7'],
  ])('counts %s and %s as one client', (one, other) => {
    expect(clientNetwork(other)).toBe(clientNetwork(one));
  });

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.1', '::1'],
    ['::1', '::ffff:0.0.0.1'],
    ['fd00::1', 'fd00:0:0:1::1'],
    ['unknown', '127.0.0.1'],
  ])('counts %s and %s as two clients', (one, other) => {
    expect(clientNetwork(other)).not.toBe(clientNetwork(one));
  });

  it('slows down guesses from many addresses of one network', async () => {
    const gateway = await TestGateway.start({ limits: { failuresPerMinute: 5 }, server: { behindTls: true } });
    try {
      const from = (address: string) =>
        statusOf(gateway.server.port, {
          ...{ host: `127.0.0.1:${gateway.server.port}`, authorization: 'Bearer a-guess', 'x-forwarded-for': address },
        });
      for (let guess = 0; guess < 5; guess++) expect(await from(`2001:db8::${guess.toString(16)}:1`)).toBe(401);
      expect(await from('2001:db8::9:9:9:9')).toBe(429);
      expect(await from('2001:db8:0:1::1')).toBe(401);
    } finally {
      await gateway.remove();
    }
  });
});

describe('the network of sandboxes', () => {
  const installation = '0123456789ab';
  const wish = { Labels: { 'hermetic.installation': installation }, HostConfig: { NetworkMode: networkName(installation) } };

  /** An engine that has, or makes, a network as it is told to, with IPv6 or without. */
  function engineWith(given: { found: boolean; EnableIPv6: boolean | undefined }): { engine: Engine; made: Record<string, unknown>[] } {
    const made: Record<string, unknown>[] = [];
    let isThere = given.found;
    const request = async (method: string, path: string, body?: Record<string, unknown>): Promise<unknown> => {
      if (method === 'POST' && path === '/networks/create' && body) {
        made.push(body);
        isThere = true;
        return {};
      }
      const name = networkName(installation);
      const Options = { 'com.docker.network.bridge.enable_icc': 'false', 'com.docker.network.bridge.name': bridgeName };
      const { EnableIPv6 } = given;
      return isThere ? [{ Id: '1', Name: name, Driver: 'bridge', Internal: false, EnableIPv6, Labels: wish.Labels, Options }] : [];
    };
    return { engine: { request, product: dockerProduct() } as unknown as Engine, made };
  }
  const bridgeName = `hm-${hash('sha256', installation).slice(0, 12)}`;

  it('makes the network of sandboxes without IPv6', async () => {
    const { engine, made } = engineWith({ found: false, EnableIPv6: undefined });
    await ensureNetworkOf(engine, wish);
    expect(made).toMatchObject([{ EnableIPv6: false }]);
  });

  it('refuses an existing network with IPv6', async () => {
    const { engine } = engineWith({ found: true, EnableIPv6: true });
    await expect(ensureNetworkOf(engine, wish)).rejects.toMatchObject({ code: 'sandbox/open-failed' });
  });

  it('refuses a network that the engine made with IPv6', async () => {
    const { engine } = engineWith({ found: false, EnableIPv6: true });
    await expect(ensureNetworkOf(engine, wish)).rejects.toMatchObject({ code: 'sandbox/open-failed' });
  });

  it('accepts an existing network without IPv6', async () => {
    const { engine, made } = engineWith({ found: true, EnableIPv6: false });
    await ensureNetworkOf(engine, wish);
    expect(made).toEqual([]);
  });
});

describe('IPv6 addresses of the host', () => {
  const table = (...lines: [network: string, bits: string, flags?: string, name?: string][]) =>
    parseRoutes(
      [],
      lines.map(([network, bits, flags = '00000001', name = 'eth0']) => {
        const none = '00000000000000000000000000000000';
        return `${network.padEnd(32, '0')} ${bits} ${none} 00 ${none} 00000100 00000001 00000000 ${flags} ${name}`;
      }),
    );
  const address = (family: 'IPv6' | 'IPv4', given: string, more: Partial<NetworkInterfaceInfo> = {}) =>
    ({ family, address: given, internal: false, scopeid: 0, netmask: '', mac: '', cidr: null, ...more }) as NetworkInterfaceInfo;
  const here = {
    eth0: [address('IPv4', '192.0.2.2'), address('IPv6', 'fd00::2'), address('IPv6', 'fe80::fc:ff:fe00:1', { scopeid: 4 })],
    lo: [address('IPv6', '::1', { internal: true })],
    other: [address('IPv6', '2001:db8::abcd')],
  };

  it.each<[string, ReturnType<typeof table>, string[]]>([
    ['a way to everywhere', table(['', '00']), ['fd00::2', '2001:db8::abcd']],
    ['a way to the network of one of them', table(['fd00', '40']), ['fd00::2']],
    ['a way to one of them alone', table(['20010db800000000000000000000abcd', '80']), ['2001:db8::abcd']],
    ['a way that is closed', table(['', '00', '00200200', 'lo']), []],
    ['a way to the own link alone', table(['fe80', '40'], ['ff00', '08']), []],
    ['a way to others', table(['20010db900000000', '40']), []],
  ])('finds the addresses that routes reach: %s', (_what, routes, far) => {
    expect(ownAddresses(routes, here)).toEqual({ near: [], far });
  });

  it.each([
    ['fd00:ec2::254', table(['fd000ec2', '20'])],
    ['fd20:ce::254', table(['fd2000ce', '20'])],
    ['fd00:c1::a9fe:a9fe', table(['fd0000c10000000000000000a9fea9fe', '80'])],
  ])('finds a route to the cloud metadata at %s', (metadata, routes) => {
    expect(reaches(routes, metadata)).toBe(true);
    expect(metadataRoutes(routes)).toEqual([metadata]);
  });
});

describe('IPv6 addresses of an engine', () => {
  it.each([
    ['tcp://[::1]:2375', '::1'],
    ['tcp://[fe80::1]:2375', 'fe80::1'],
  ])('parses %s as the address of an engine', (text, host) => {
    expect(parseHost(text, 'a test', dockerProduct())).toMatchObject({ kind: 'tcp', host, port: 2375 });
  });

  it.each(['tcp://::1:2375', 'tcp://[::1', 'tcp://[::1%25lo]:2375', 'tcp://[::ffff:127.0.0.1:2375', 'tcp://[]:2375', 'tcp://'])(
    'refuses %s as the address of an engine',
    (text) => {
      expect(() => parseHost(text, 'a test', dockerProduct())).toThrow(/is not the address of a Docker engine/);
    },
  );
});
