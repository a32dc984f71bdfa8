import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EgressRules, HostRule } from '../../src/core/egress.ts';
import { addressClass, addressSet } from '../../src/egress/addresses.ts';
import { readClientHello } from '../../src/egress/client-hello.ts';
import { canonicalHost } from '../../src/egress/host-name.ts';
import { Names } from '../../src/egress/names.ts';
import { decide, parseDenyRule, parseHostRule } from '../../src/egress/rules.ts';
import { helloMessage, records, serverNames } from './hello-bytes.ts';

const own = addressSet(['203.0.113.7', '2001:db8::7']);

function rulesOf(allow: string[], deny: string[] = []): EgressRules {
  const accepted = (rule: HostRule | string) => (typeof rule === 'string' ? [] : [rule]);
  return {
    allow: allow.flatMap((text) => accepted(parseHostRule(text))),
    deny: deny.flatMap((text) => accepted(parseDenyRule(text))),
    private: [],
    directPorts: [],
    notesAllowed: false,
  };
}

/** What becomes of a host as a program writes it, before anything is resolved. */
function outcome(rules: EgressRules, text: string, port = 443): string {
  const host = canonicalHost(text);
  if (host === undefined) return 'malformed';
  const { verdict } = decide(rules, { host, port });
  const found = isIP(host) ? addressClass(host, own) : 'public';
  return verdict === 'allowed' && found !== 'public' ? found : verdict;
}

describe('an address that sandboxes never reach', () => {
  const texts = [
    ...[
      '127.0.0.1',
      '0',
      '0.0.0.0',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0x7f000001',
      '017700000001',
      '0177.1',
      '127.0.0.1.',
      '１２７.０.０.１',
      '①②⑦.1',
    ],
    ...[
      '[::1]',
      '::1',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
      '[::ffff:0:127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::7f00:1]',
    ],
    ...[
      '[2002:7f00:1::]',
      '[2001:0:7f00:1::]',
      '[2001:0:5db8:d822:0:0:80ff:fffe]',
      '[2001:db8::5efe:127.0.0.1]',
      '[fe80::1%25lo]',
      '[fe80::1%lo]',
      '[fe80::1]',
    ],
    ...[
      '169.254.169.254',
      '2852039166',
      '0xa9fea9fe',
      '[::ffff:a9fe:a9fe]',
      '[64:ff9b::a9fe:a9fe]',
      'fd00:ec2::254',
      '[fd00:ec2::254]',
      '100.100.100.200',
      '168.63.129.16',
    ],
    ...[
      '10.0.0.1',
      '167772161',
      '0xa.1',
      '192.168.1.1',
      '172.16.0.1',
      '100.64.0.1',
      '[::ffff:10.0.0.1]',
      'fd12::1',
      '224.0.0.1',
      '255.255.255.255',
      '[ff02::1]',
    ],
    ...['203.0.113.7', '3405803783', '[::ffff:203.0.113.7]', '[64:ff9b::203.0.113.7]', '[2002:cb00:7107::]', '[2001:DB8::0007]'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'x.localhost', 'localhost。'],
  ];

  it.each(texts)('is not reached as %s, also when every rule that can be written names it', (text) => {
    const bare = text.replace(/^\[|\]$/g, '');
    const rules = rulesOf([text, `${text}:*`, bare, `[${bare}]:*`, `*.${text}:*`, `*.${bare}`]);
    for (const port of [22, 80, 443, 3128]) expect(outcome(rules, text, port)).not.toBe('allowed');
    expect(outcome(rulesOf(['api.test', '*.api.test:*']), text)).not.toBe('allowed');
  });

  it('is not reached in any mixture of decimal, octal and hexadecimal numbers', () => {
    const spelled = (value: number, base: number) =>
      base === 8 ? `0${value.toString(8)}` : base === 16 ? `0X${value.toString(16)}` : `${value}`;
    const bases = fc.tuple(...[0, 1, 2, 3].map(() => fc.constantFrom(8, 10, 16)));
    const first = fc.constantFrom([127], [10], [169, 254], [192, 168], [0], [224], [100, 64]);
    fc.assert(
      fc.property(
        first,
        fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
        bases,
        fc.integer({ min: 1, max: 4 }),
        (start, random, used, count) => {
          const bytes = [...start, ...random].slice(0, 4);
          const head = bytes.slice(0, count - 1);
          const last = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0);
          const text = [...head, last].map((value, index) => spelled(value, used[index] ?? 10)).join('.');
          const host = canonicalHost(text);
          expect(host).toBe(bytes.join('.'));
          expect(addressClass(host ?? '')).not.toBe('public');
          expect(outcome(rulesOf([text, `${text}:*`]), text)).not.toBe('allowed');
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('rules for api.test and what is below it', () => {
  const rules = rulesOf(['api.test', '*.api.test', 'bücher.test'], ['secret.api.test']);

  it.each([
    'api.test',
    'API.test',
    'api.test.',
    'ａｐｉ.test',
    'api。test',
    'x.api.test',
    'X.Y.API.TEST.',
    'bücher.test',
    'BÜCHER.test',
    'xn--bcher-kva.test',
  ])('allow the host in the spelling %s', (text) => {
    expect(outcome(rules, text)).toBe('allowed');
  });

  it.each(['secret.api.test', 'SECRET.api.test', 'secret.api.test.', 'ｓｅｃｒｅｔ.api.test', 'secret。api。test'])(
    'deny the host in the spelling %s on every port',
    (text) => {
      for (const port of [22, 80, 443, 8443]) expect(outcome(rules, text, port)).toBe('denied');
    },
  );

  it.each([
    ...[
      'evilapi.test',
      'api.test.evil.test',
      'xapi.test',
      'api.tes',
      'pi.test',
      'test',
      'api-test',
      'api.test-evil.test',
      'аpi.test',
      'bucher.test',
    ],
    ...['xn--api.test', 'api.test.api.evil.test', '93.184.216.34', '[2606:4700::1111]', '198.51.100.9'],
  ])('do not list %s', (text) => {
    expect(outcome(rules, text)).toBe('unlisted');
  });

  it.each([
    ...[
      'evil.test@api.test',
      'api.test@evil.test',
      'evil.test%2eapi.test',
      'evil.test%00.api.test',
      'evil.test\0.api.test',
      'evil.test#.api.test',
      'evil.test?.api.test',
    ],
    ...[
      'evil.test/.api.test',
      'evil.test\\.api.test',
      'evil.test:443.api.test',
      'evil.test .api.test',
      'evil.test\r\n.api.test',
      'evil.test,x.api.test',
      '*.api.test',
    ],
    ...[
      '.api.test',
      '..api.test',
      'x..api.test',
      'api.test..',
      `${'a'.repeat(64)}.api.test`,
      `${'a.'.repeat(123)}api.test`,
      'a\u200b.api.test',
      '\u202eapi.test',
      'ap\u00adi.test',
    ],
  ])('find no host in %j', (text) => {
    expect(outcome(rules, text)).toBe('malformed');
  });

  it.each([1, 22, 53, 81, 444, 3128, 8080, 8443, 65_535])('do not list port %i, which they do not name', (port) => {
    for (const text of ['api.test', 'x.api.test']) expect(outcome(rules, text, port)).toBe('unlisted');
  });

  it('are never matched by a text that another reader takes for another host', () => {
    const unit = fc.constantFrom(
      'api.test',
      '.',
      'evil.test',
      '@',
      '#',
      '?',
      '/',
      '\\',
      '%2e',
      '%00',
      ':',
      '443',
      'x',
      '。',
      '\u00ad',
      '[',
      ']',
      ' ',
      '\t',
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 6 }), (parts) => {
        const text = parts.join('');
        if (outcome(rules, text) !== 'allowed') return;
        expect(new URL(`http://${text}`).hostname.replace(/\.$/, '')).toMatch(/^(?:.+\.)?api\.test$/);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('the name in TLS', () => {
  it.each(['evil.test', 'x.api.test', 'api.test.evil.test', 'evilapi.test', 'test'])('%s is another host than api.test', (name) => {
    expect(readClientHello(records(helloMessage([serverNames(name)])))).toMatchObject({ serverName: name });
  });

  it.each(['api.test', 'API.TEST', 'api.test.'])('%s is the host api.test', (name) => {
    expect(readClientHello(records(helloMessage([serverNames(name)])))).toMatchObject({ serverName: 'api.test' });
  });

  it.each([
    'api.test@evil.test',
    'api.test:443',
    'api.test/',
    'api.test\0',
    'ａｐｉ.test',
    ' api.test',
    'api.test#',
    '%61pi.test',
    '*.test',
  ])('%j is malformed', (name) => {
    expect(readClientHello(records(helloMessage([serverNames(name)])))).toBe('malformed');
  });
});

it('data in names is answered inside, and the same question has the same answer', () => {
  const names = new Names();
  const question = (label: string) =>
    Buffer.from([
      0,
      1,
      1,
      0,
      0,
      1,
      0,
      0,
      0,
      0,
      0,
      0,
      label.length,
      ...Buffer.from(label),
      4,
      ...Buffer.from('evil'),
      4,
      ...Buffer.from('test'),
      0,
      0,
      1,
      0,
      1,
    ]);
  for (const label of ['c2VjcmV0', 'x'.repeat(63)]) {
    const first = names.answer(question(label));
    expect(first?.subarray(-4, -2).join('.')).toBe('127.64');
    expect(names.answer(question(label))).toEqual(first);
  }
});
