import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EgressRules, HostRule } from '../../src/core/egress.ts';
import { decide, directPorts, matches, parseDenyRule, parseHostRule, parsePrivateRule } from '../../src/egress/rules.ts';

function parsed<Rule extends object>(rule: Rule | string): Rule {
  if (typeof rule === 'string') throw new Error(rule);
  return rule;
}

function rulesOf(allow: string[], deny: string[] = [], ports: number[] = []): EgressRules {
  return {
    allow: allow.map((text) => parsed(parseHostRule(text))),
    deny: deny.map((text) => parsed(parseDenyRule(text))),
    private: [],
    directPorts: ports,
    notesAllowed: false,
  };
}

describe('parseHostRule', () => {
  it.each<[string, Omit<HostRule, 'text'>]>([
    ['example.com', { host: 'example.com', isWildcard: false, ports: [80, 443] }],
    [' Example.COM. ', { host: 'example.com', isWildcard: false, ports: [80, 443] }],
    ['*.example.com', { host: 'example.com', isWildcard: true, ports: [80, 443] }],
    ['example.com:22', { host: 'example.com', isWildcard: false, ports: [22] }],
    ['example.com:65535', { host: 'example.com', isWildcard: false, ports: [65535] }],
    ['*.example.com:8443', { host: 'example.com', isWildcard: true, ports: [8443] }],
    ['example.com:*', { host: 'example.com', isWildcard: false, ports: 'all' }],
    ['*.example.com:*', { host: 'example.com', isWildcard: true, ports: 'all' }],
    ['bücher.example', { host: 'xn--bcher-kva.example', isWildcard: false, ports: [80, 443] }],
    ['*.bücher.example', { host: 'xn--bcher-kva.example', isWildcard: true, ports: [80, 443] }],
    ['intranet', { host: 'intranet', isWildcard: false, ports: [80, 443] }],
    ['203.0.113.7', { host: '203.0.113.7', isWildcard: false, ports: [80, 443] }],
    ['10.0.0.5:5432', { host: '10.0.0.5', isWildcard: false, ports: [5432] }],
    ['2001:db8::1', { host: '2001:db8::1', isWildcard: false, ports: [80, 443] }],
    ['[2001:DB8::1]', { host: '2001:db8::1', isWildcard: false, ports: [80, 443] }],
    ['[2001:db8::1]:22', { host: '2001:db8::1', isWildcard: false, ports: [22] }],
    ['[2001:db8::1]:*', { host: '2001:db8::1', isWildcard: false, ports: 'all' }],
    ['[::ffff:203.0.113.7]:22', { host: '203.0.113.7', isWildcard: false, ports: [22] }],
  ])('reads %j', (text, rule) => {
    expect(parseHostRule(text)).toEqual({ ...rule, text });
  });

  it.each([
    ['', /is not HOST/],
    ['*', /is not HOST/],
    ['*:443', /is not HOST/],
    ['*.', /is not HOST/],
    ['*.*.example.com', /is not HOST/],
    ['example.*', /is not HOST/],
    ['*example.com', /is not HOST/],
    ['a.*.example.com', /is not HOST/],
    ['example.com/path', /is not HOST/],
    ['user@example.com', /is not HOST/],
    ['exa mple.com', /is not HOST/],
    ['example.com:80:443', /is not HOST/],
    ['https://example.com/', /is a URL/],
    ['*.com', /too much/],
    ['*.localhost', /too much/],
    ['*.203.0.113.7', /too much/],
    ['*.[2001:db8::1]', /too much/],
    ['*.10.1', /too much/],
    ['example.com:', /port/],
    ['example.com:0', /port/],
    ['example.com:65536', /port/],
    ['example.com:0443', /port/],
    ['example.com:443x', /port/],
    ['example.com:**', /port/],
    ['example.com:-1', /port/],
    ['example.com:1-1024', /port/],
    ['localhost', /never reached/],
    ['localhost:8080', /never reached/],
    ['LOCALHOST.', /never reached/],
    ['x.localhost', /never reached/],
    ['*.x.localhost', /never reached/],
    ['127.0.0.1', /never reached/],
    ['127.1:80', /never reached/],
    ['2130706433', /never reached/],
    ['0.0.0.0', /never reached/],
    ['[::1]:80', /never reached/],
    ['::1', /never reached/],
    ['169.254.169.254', /never reached/],
    ['[64:ff9b::7f00:1]', /never reached/],
    ['100.100.100.200', /never reached/],
    ['fd00:ec2::254', /never reached/],
    ['10.0.0.0/8', /address range/],
    ['fd00::/8', /address range/],
    ['203.0.113.0/24', /address range/],
    ['[fe80::1%25lo]:80', /is not HOST/],
  ])('refuses %j with a sentence', (text, reason) => {
    for (const parse of [parseHostRule, parseDenyRule]) {
      const message = parse(text);
      expect(message).toMatch(reason);
      expect(message).toMatch(/\.$/);
    }
  });

  it('never throws, and reads its own spelling the same way', () => {
    const unit = fc.constantFrom(...'a.*:[]0183/-@%x ü');
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit, maxLength: 30 }), fc.string({ maxLength: 30 })), (text) => {
        parsePrivateRule(text);
        const rule = parseHostRule(text);
        if (typeof rule === 'string') return;
        const host = rule.host.includes(':') ? `[${rule.host}]` : rule.host;
        const port = rule.ports === 'all' ? ':*' : rule.ports.length === 1 ? `:${rule.ports[0]}` : '';
        const spelled = `${rule.isWildcard ? '*.' : ''}${host}${port}`;
        expect(parseHostRule(spelled)).toEqual({ ...rule, text: spelled });
      }),
      { numRuns: 3000 },
    );
  });
});

describe('parseDenyRule', () => {
  it.each<[string, HostRule['ports']]>([
    ['example.com', 'all'],
    ['*.example.com', 'all'],
    ['example.com:*', 'all'],
    ['example.com:80', [80]],
  ])('covers with %s the ports %j', (text, ports) => {
    expect(parsed(parseDenyRule(text)).ports).toEqual(ports);
  });
});

describe('parsePrivateRule', () => {
  it.each([
    ['nas', { kind: 'host', host: 'nas' }],
    ['NAS.Example.', { kind: 'host', host: 'nas.example' }],
    ['10.0.0.0/8', { kind: 'network', address: '10.0.0.0', prefix: 8, family: 'ipv4' }],
    ['192.168.1.20', { kind: 'network', address: '192.168.1.20', prefix: 32, family: 'ipv4' }],
    ['100.64.0.0/10', { kind: 'network', address: '100.64.0.0', prefix: 10, family: 'ipv4' }],
    ['fd00::/8', { kind: 'network', address: 'fd00::', prefix: 8, family: 'ipv6' }],
    ['[fd00::5]', { kind: 'network', address: 'fd00::5', prefix: 128, family: 'ipv6' }],
    ['::ffff:10.0.0.1', { kind: 'network', address: '10.0.0.1', prefix: 32, family: 'ipv4' }],
  ])('reads %j', (text, rule) => {
    expect(parsePrivateRule(text)).toEqual({ ...rule, text });
  });

  it.each([
    ['', /is not a host/],
    ['nas:80', /is not a host/],
    ['http://nas', /is not an address range/],
    ['*.lan.example', /wildcard/],
    ['*', /wildcard/],
    ['localhost', /never reached/],
    ['x.localhost', /never reached/],
    ['127.0.0.1', /not a part of a private network/],
    ['127.0.0.0/8', /not a part of a private network/],
    ['169.254.169.254/32', /not a part of a private network/],
    ['169.254.0.0/16', /not a part of a private network/],
    ['8.8.8.8', /not a part of a private network/],
    ['8.8.8.0/24', /not a part of a private network/],
    ['0.0.0.0/0', /not a part of a private network/],
    ['::/0', /not a part of a private network/],
    ['10.0.0.0/7', /not a part of a private network/],
    ['100.100.100.200', /not a part of a private network/],
    ['fd00:ec2::/32', /not a part of a private network/],
    ['::ffff:10.0.0.0/104', /not a part of a private network/],
    ['64:ff9b::10.0.0.1', /not a part of a private network/],
    ['10.0.0.0/33', /is not an address range/],
    ['10.0.0.0/', /is not an address range/],
    ['10.0.0.0/08', /is not an address range/],
    ['10.0.0.0/8/8', /is not an address range/],
    ['10.0.0.0/-8', /is not an address range/],
    ['10.1/16', /is not an address range/],
    ['fd00::/129', /is not an address range/],
    ['fd00::%eth0/64', /is not an address range/],
    ['nas/24', /is not an address range/],
  ])('refuses %j with a sentence', (text, reason) => {
    const message = parsePrivateRule(text);
    expect(message).toMatch(reason);
    expect(message).toMatch(/\.$/);
  });
});

describe('matches', () => {
  it.each([
    ['api.test', 'api.test', 443, true],
    ['api.test', 'api.test', 80, true],
    ['api.test', 'api.test', 22, false],
    ['api.test', 'api.test', 8443, false],
    ['api.test', 'x.api.test', 443, false],
    ['api.test', 'evilapi.test', 443, false],
    ['api.test', 'api.test.evil.test', 443, false],
    ['*.api.test', 'x.api.test', 443, true],
    ['*.api.test', 'y.x.api.test', 443, true],
    ['*.api.test', 'api.test', 443, false],
    ['*.api.test', 'xapi.test', 443, false],
    ['*.api.test', 'x.api.test.evil.test', 443, false],
    ['*.api.test', 'x.api.test', 22, false],
    ['*.api.test:22', 'x.api.test', 22, true],
    ['api.test:*', 'api.test', 1, true],
    ['203.0.113.7', '203.0.113.7', 443, true],
    ['203.0.113.7', '203.0.113.70', 443, false],
  ])('the rule %s and %s:%i match: %s', (text, host, port, expected) => {
    expect(matches(parsed(parseHostRule(text)), { host, port })).toBe(expected);
  });

  it('a wildcard matches no address, also when the address ends like it', () => {
    const rule: HostRule = { host: '0.113.7', isWildcard: true, ports: 'all', text: '*.0.113.7' };
    expect(matches(rule, { host: '203.0.113.7', port: 443 })).toBe(false);
  });
});

describe('decide', () => {
  const rules = rulesOf(
    ['*.example.com:*', 'example.com', 'github.com', 'github.com:22'],
    ['secret.example.com', '*.bad.example.com', 'example.com:80'],
  );

  it.each([
    ['www.example.com', 443, { verdict: 'allowed', rule: rules.allow[0] }],
    ['example.com', 443, { verdict: 'allowed', rule: rules.allow[1] }],
    ['github.com', 22, { verdict: 'allowed', rule: rules.allow[3] }],
    ['secret.example.com', 443, { verdict: 'denied', rule: rules.deny[0] }],
    ['secret.example.com', 22, { verdict: 'denied', rule: rules.deny[0] }],
    ['x.bad.example.com', 443, { verdict: 'denied', rule: rules.deny[1] }],
    ['bad.example.com', 443, { verdict: 'allowed', rule: rules.allow[0] }],
    ['example.com', 80, { verdict: 'denied', rule: rules.deny[2] }],
    ['example.com', 22, { verdict: 'unlisted' }],
    ['example.org', 443, { verdict: 'unlisted' }],
    ['203.0.113.7', 443, { verdict: 'unlisted' }],
  ])('decides about %s:%i', (host, port, decision) => {
    expect(decide(rules, { host, port })).toEqual(decision);
  });

  it('a denied host is denied on every port that a preset allows', () => {
    const denied = rulesOf(['github.com', 'github.com:22', 'github.com:*'], ['github.com']);
    for (const port of [22, 80, 443, 9418]) expect(decide(denied, { host: 'github.com', port }).verdict).toBe('denied');
  });

  it('allows nothing without rules', () => {
    expect(decide(rulesOf([]), { host: 'example.com', port: 443 })).toEqual({ verdict: 'unlisted' });
  });
});

describe('directPorts', () => {
  it.each([
    [[22, 443], [], [22, 443]],
    [
      [22, 443],
      ['db.test:5432', '*.x.test:8443', 'y.test', 'z.test:*'],
      [22, 443, 5432, 8443],
    ],
    [[], ['y.test'], []],
    [[], ['y.test:80', 'y.test:443'], [443]],
    [[80], ['y.test:80'], [80]],
    [[53, 3128, 22], ['y.test:53', 'y.test:3128'], [22]],
    [[22, 22], ['y.test:22'], [22]],
    [[0, -1, 65_536, 1.5, Number.NaN, 22], [], [22]],
  ])('opens for the direct ports %j and the rules %j the ports %j', (ports, allow, expected) => {
    expect(directPorts(rulesOf(allow, [], ports))).toEqual(expected);
  });

  it('opens no more than 64 ports, those of the configuration first', () => {
    const allow = Array.from({ length: 1000 }, (_, index) => `x.test:${1000 + index}`);
    const ports = directPorts(rulesOf(allow, [], [22, 443]));
    expect(ports).toHaveLength(64);
    expect(ports.slice(0, 3)).toEqual([22, 443, 1000]);
  });

  it('opens no port for what is denied', () => {
    expect(directPorts(rulesOf([], ['x.test:9000'], []))).toEqual([]);
  });
});
