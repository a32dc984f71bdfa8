import { describe, expect, it } from 'vitest';
import type { Attempt } from './attempts.ts';
import { badAnswers, forbidden } from './forbidden.ts';
import type { Arrival } from './records.ts';
import { describeRestricted } from './restricted.ts';
import { worldAddress } from './world.ts';

const questions = (arrivals: readonly Arrival[]): string[] =>
  arrivals.flatMap((arrival) => (arrival.kind === 'question' ? [`${arrival.name} ${arrival.type}`] : []));
const connections = (arrivals: readonly Arrival[]): string[] =>
  arrivals.flatMap((arrival) => (arrival.kind === 'connection' ? [`${arrival.address}:${arrival.port}`] : []));

const allow = ['api.test', '*.wild.test', 'xn--bcher-kva.test', ...Object.keys(badAnswers).map((name) => `${name}.bad.test`)];
const mixed = ['mixed.test', 'moving.test', 'inner.test'];

await describeRestricted({ allow: [...allow, ...mixed], deny: ['no.wild.test'], private: ['inner.test'] }, ({ world, restricted }) => {
  const connectTo = (targets: readonly string[]): Record<string, Attempt> =>
    Object.fromEntries(targets.map((target) => [target, { try: 'connect', target } as const]));

  it('the proxy connects to no address of the machine, of a private network or of cloud metadata, however it is written', async () => {
    await Promise.all([world().arrivals(), world().baitArrivals()]);
    const results = await restricted().attack(connectTo(forbidden.flatMap((host) => [`${host}:80`, `${host}:7070`])));
    for (const [target, { status }] of Object.entries(results)) expect([400, 403], target).toContain(status);
    const bare = forbidden.map((host) => host.replace(/^\[(.*)\]$/, '$1'));
    const named = await restricted().attack(Object.fromEntries(bare.map((host) => [host, { try: 'socks', host, port: 80 } as const])));
    const plain = await restricted().attack(
      Object.fromEntries(
        forbidden.map((host) => {
          const send = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
          return [host, { try: 'raw', send } as const];
        }),
      ),
    );
    for (const [host, { reply }] of Object.entries(named)) expect(reply, host).not.toBe(0);
    for (const [host, { status }] of Object.entries(plain)) expect([400, 403], host).toContain(status);
    const literals = await restricted().attack({
      loopback: { try: 'socks', host: '127.0.0.1', port: 7070, kind: 1 },
      private: { try: 'socks', host: '10.66.0.10', port: 80, kind: 1 },
      mapped: { try: 'socks', host: '::ffff:10.66.0.10', port: 80, kind: 4 },
      loopback6: { try: 'socks', host: '::1', port: 7070, kind: 4 },
    });
    for (const [title, { reply }] of Object.entries(literals)) expect(reply, title).not.toBe(0);
    expect(await world().arrivals()).toEqual([]);
    expect(await world().baitArrivals()).toEqual([]);
  });

  it('an allowed name that leads to a forbidden address is looked up, and nothing is connected', async () => {
    for (const [name, answer] of Object.entries(badAnswers)) await world().answerName(`${name}.bad.test`, answer);
    await Promise.all([world().arrivals(), world().baitArrivals()]);
    const results = await restricted().attack(connectTo(Object.keys(badAnswers).map((name) => `${name}.bad.test:443`)));
    for (const [target, { status }] of Object.entries(results)) expect(status, target).toBe(403);
    expect(results['private.bad.test:443']?.text).toContain('network.private');
    const arrivals = await world().arrivals();
    expect(connections(arrivals)).toEqual([]);
    expect(questions(arrivals)).toContain('private.bad.test A');
    expect(await world().baitArrivals()).toEqual([]);
  });

  it('of several addresses of an allowed name only a permitted one is connected', async () => {
    await world().answerName('mixed.test', { addresses: ['10.66.0.10', '127.0.0.1', worldAddress, '169.254.169.254'] });
    await world().arrivals();
    const { stdout, stderr } = await restricted().run('curl -sS https://mixed.test/', 'attacker');
    expect(stdout, stderr).toBe('hello from mixed.test\n');
    expect(connections(await world().arrivals())).toEqual([`${worldAddress}:443`]);
  });

  it('a name is looked up once for a connection, which goes to the address that was checked', async () => {
    await world().answerName('moving.test', { addresses: [worldAddress] }, { addresses: ['10.66.0.10'] });
    await world().arrivals();
    const { stdout, stderr } = await restricted().run('curl -sS https://moving.test/', 'attacker');
    expect(stdout, stderr).toBe('hello from moving.test\n');
    const arrivals = await world().arrivals();
    expect(questions(arrivals).filter((question) => question === 'moving.test A')).toHaveLength(1);
    expect(connections(arrivals)).toEqual([`${worldAddress}:443`]);
    // A later sandbox asks again, and is refused.
    expect((await restricted().run('curl -sS https://moving.test/', 'attacker')).code).not.toBe(0);
    expect(connections(await world().arrivals())).toEqual([]);
  });

  it('a private address is reached by the name that network.private lists', async () => {
    await world().answerName('inner.test', { through: ['host.inner.test'], addresses: ['10.66.0.10'] });
    await world().arrivals();
    const { stdout, stderr } = await restricted().run('curl -sS https://inner.test/', 'attacker');
    expect(stdout, stderr).toBe('hello from inner.test\n');
    expect(connections(await world().arrivals())).toEqual(['10.66.0.10:443']);
  });

  it('neither the address of an allowed host nor a port without a rule is reached', async () => {
    await world().arrivals();
    const targets = [`${worldAddress}:443`, 'api.test:8443', 'api.test:22', 'api.test:5432', 'api.test:0', 'api.test:65536', 'api.test'];
    const results = await restricted().attack(connectTo(targets));
    for (const [target, { status }] of Object.entries(results)) expect([400, 403], target).toContain(status);
    expect(await world().arrivals()).toEqual([]);
  });

  it('a name that only looks like an allowed one is refused, and is not looked up', async () => {
    await world().arrivals();
    const alike = [
      ...['evilapi.test', 'api.test.evil.test', 'xapi.test', 'api.tes', 'wild.test', 'xwild.test', '.wild.test', 'a..wild.test'],
      ...['api.test@evil.test', 'evil.test@api.test', 'api%2etest', 'api.test%00.evil.test', 'api.test#.evil.test', 'api.test/.evil.test'],
      ...['api.test\\.evil.test', 'api.test?.evil.test', 'api.test:443.evil.test', 'аpi.test', 'api.test..', ' api.test.evil.test'],
      ...['*.wild.test', `${'a'.repeat(64)}.wild.test`, `${'a.'.repeat(123)}wild.test`, `${'a'.repeat(300)}.test`],
    ];
    const results = await restricted().attack(connectTo(alike.map((host) => `${host}:443`)));
    for (const [target, { status }] of Object.entries(results)) expect([400, 403], target).toContain(status);
    expect(await world().arrivals()).toEqual([]);
  });

  it('every spelling of an allowed name is that name', async () => {
    await world().arrivals();
    const spellings = {
      'API.Test': 'api.test',
      'api.test.': 'api.test',
      'A.b.WILD.test': 'a.b.wild.test',
      'xn--bcher-kva.test': 'xn--bcher-kva.test',
    };
    const results = await restricted().attack(connectTo(Object.keys(spellings).map((host) => `${host}:443`)));
    expect(Object.values(results).map(({ status }) => status)).toEqual(Object.keys(spellings).map(() => 200));
    const names = questions(await world().arrivals()).map((question) => question.split(' ')[0]);
    expect(new Set(names)).toEqual(new Set(Object.values(spellings)));
  });

  describe.each([
    ['through the proxy', false],
    ['by its name', true],
  ])('a connection to an allowed host %s', (_, direct) => {
    it('is closed when TLS names another host, or none', async () => {
      await world().arrivals();
      const results = await restricted().attack({
        other: { try: 'tls', target: 'api.test:443', name: 'evil.test', direct },
        below: { try: 'tls', target: 'api.test:443', name: 'x.api.test', direct },
        allowedToo: { try: 'tls', target: 'api.test:443', name: 'a.wild.test', direct },
        none: { try: 'tls', target: 'api.test:443', name: null, direct },
        same: { try: 'tls', target: 'api.test:443', name: 'api.test', direct },
      });
      const { same, ...closed } = results;
      for (const [title, result] of Object.entries(closed)) expect(result, title).toMatchObject({ error: expect.any(String) });
      expect(same).toMatchObject({ connected: true });
      const arrivals = await world().arrivals();
      expect(arrivals.filter(({ kind }) => kind === 'tls-name')).toEqual([{ kind: 'tls-name', port: 443, name: 'api.test' }]);
      expect(arrivals.filter(({ kind }) => kind === 'request')).toHaveLength(1);
    });
  });

  it('a denied host is refused also when another rule allows it, and a redirect leads to no other host', async () => {
    await world().arrivals();
    const { stdout } = await restricted().run(
      'curl -sS https://no.wild.test/; curl -sSL "https://api.test/redirect?to=https://unlisted.test/"; curl -sS -i http://unlisted.test/',
      'attacker',
    );
    expect(stdout).toMatch(/^HTTP\/1\.1 403 .*\r\n(?:.*\r\n)*X-Hermetic: blocked\r\n/i);
    const names = questions(await world().arrivals()).map((question) => question.split(' ')[0]);
    expect(new Set(names)).toEqual(new Set(['api.test']));
  });

  it('a command ends with a note that names what was blocked', async () => {
    const { stdout, stderr } = await restricted().run('curl -sS https://unlisted.test/; true', 'attacker');
    expect(stdout).toBe('');
    expect(stderr).toContain('unlisted.test');
  });
});
