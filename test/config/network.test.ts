import { beforeEach, describe, expect, test } from 'vitest';
import { allowRules, egressRules, rulesWithoutEffect } from '../../src/config/egress-rules.ts';
import { configKeys } from '../../src/config/keys.ts';
import { checkConfig, loadConfig } from '../../src/config/load.ts';
import { presetNames } from '../../src/egress/presets.ts';
import { decide } from '../../src/egress/rules.ts';
import { makeHome, type TestHome } from './scratch.ts';

let home: TestHome;

beforeEach(() => {
  home = makeHome();
});

const load = (variables: Record<string, string> = {}) => loadConfig({ environment: { ...home.environment, ...variables } }).config;
const problems = () => checkConfig({ environment: home.environment });

describe('the section network', () => {
  test.each([
    ['allow', 'https://api.example.com/v1', /network\.allow\[1\]: "https:.*" is a URL\. Write only its host/],
    ['allow', 'api.example.com:0', /network\.allow\[1\]: .* has no valid port/],
    ['allow', 'exa mple.com', /network\.allow\[1\]: .* is not HOST/],
    ['allow', '', /network\.allow\[1\]: .* is not HOST/],
    ['allow', '*.com', /network\.allow\[1\]: .* would match too much/],
    ['allow', '*', /network\.allow\[1\]: /],
    ['allow', '10.0.0.0/8', /network\.allow\[1\]: .* belong in network\.private/],
    ['allow', 'localhost:8080', /network\.allow\[1\]: .* is never reached/],
    ['allow', '169.254.169.254', /network\.allow\[1\]: .* is never reached/],
    ['deny', 'a@b.example', /network\.deny\[1\]: .* is not HOST/],
    ['private', '127.0.0.0/8', /network\.private\[1\]: .* is not a part of a private network/],
    ['private', '203.0.113.0/24', /network\.private\[1\]: .* is not a part of a private network/],
    ['private', '*.corp.example', /network\.private\[1\]: .* has a wildcard/],
  ])('refuses %s: %s with file, line, key and a sentence', (key, entry, sentence) => {
    const good = key === 'private' ? '10.1.0.0/16' : 'good.example';
    home.writeConfig('network:', `  ${key}:`, `    - ${good}`, `    - ${JSON.stringify(entry)}`);
    const [problem, ...others] = problems();
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ code: 'config/bad-value', file: home.config, line: 4, key: `network.${key}` });
    expect(problem?.message).toMatch(sentence);
    expect(problem?.message).toContain(`${home.config}:4:`);
  });

  test.each([
    ['[0]', 'network.direct_ports[0] must be a port, 1 to 65535, not 0.'],
    ['[65536]', 'network.direct_ports[0] must be a port, 1 to 65535, not 65536.'],
    ['["ssh"]', 'network.direct_ports[0] must be a port, 1 to 65535, not "ssh".'],
    ['[22, 3128]', 'not 3128: the proxy or the resolver of the sandbox has it.'],
    ['[22, 53]', 'not 53: the proxy or the resolver of the sandbox has it.'],
    [JSON.stringify(Array.from({ length: 33 }, (_, index) => 1000 + index)), 'must be a list of at most 32 ports, not a list.'],
  ])('refuses direct_ports: %s', (value, sentence) => {
    home.writeConfig(`network: { direct_ports: ${value} }`);
    expect(problems().map(({ message }) => message)).toEqual([expect.stringContaining(sentence)]);
  });

  test('suggests the preset that was meant', () => {
    home.writeConfig('network: { presets: [package] }');
    expect(problems()[0]?.message).toContain('network.presets[0] must be one of packages, git, not "package". Did you mean packages?');
  });

  test('does not know a key of another section', () => {
    home.writeConfig('network: { secrets: true }');
    expect(problems()[0]).toMatchObject({ code: 'config/unknown-key', key: 'network.secrets' });
  });

  test('asks about hosts and logs blocked connections unless told otherwise, and refuses other values', () => {
    expect(load({}).network).toMatchObject({ ask: true, log: 'blocked' });
    home.writeConfig('network: { ask: sometimes, log: some }');
    expect(problems()).toMatchObject([
      { code: 'config/bad-value', key: 'network.ask' },
      { code: 'config/bad-value', key: 'network.log' },
    ]);
  });

  test('every key of network applies to a running gateway', () => {
    const keys = configKeys.filter(({ section }) => section === 'network');
    expect(keys.map(({ key, needsRestart }) => [key, needsRestart])).toEqual([
      ['allow', false],
      ['deny', false],
      ['presets', false],
      ['private', false],
      ['ask', false],
      ['log', false],
      ['direct_ports', false],
    ]);
  });

  test('lists of the environment are JSON, and are judged too', () => {
    expect(load({ HERMETIC_NETWORK_ALLOW: '["a.example:8443"]' }).network.allow).toEqual(['a.example:8443']);
    expect(() => load({ HERMETIC_NETWORK_ALLOW: '["a.example:x"]' })).toThrow(/HERMETIC_NETWORK_ALLOW: network\.allow\[0\]: /);
  });
});

describe('the rules of a restricted sandbox', () => {
  const allowed = (variables: Record<string, string>, host: string, port = 443) =>
    decide(egressRules(load(variables)), { host, port }).verdict;

  test('come from network.allow and from the presets', () => {
    const variables = { HERMETIC_NETWORK_ALLOW: '["api.example.com:8443"]' };
    expect(allowed(variables, 'api.example.com', 8443)).toBe('allowed');
    expect(allowed(variables, 'api.example.com')).toBe('unlisted');
    expect(allowed(variables, 'pypi.org')).toBe('allowed');
    expect(allowed(variables, 'github.com', 22)).toBe('allowed');
    expect(allowed(variables, 'example.org')).toBe('unlisted');
  });

  test('hold only what is asked for when no preset is', () => {
    expect(egressRules(load({ HERMETIC_NETWORK_PRESETS: '[]' }))).toEqual({
      allow: [],
      deny: [],
      private: [],
      directPorts: [22, 443],
      notesAllowed: false,
    });
    const onlyGit = { HERMETIC_NETWORK_PRESETS: '["git"]' };
    expect([allowed(onlyGit, 'github.com'), allowed(onlyGit, 'pypi.org')]).toEqual(['allowed', 'unlisted']);
  });

  test('deny a host of a preset on all ports when network.deny names it without a port', () => {
    const variables = { HERMETIC_NETWORK_DENY: '["github.com"]' };
    expect([allowed(variables, 'github.com'), allowed(variables, 'github.com', 22)]).toEqual(['denied', 'denied']);
    expect(allowed(variables, 'gitlab.com')).toBe('allowed');
  });

  test('have a source each, and each preset counts once', () => {
    const twice = allowRules(load({ HERMETIC_NETWORK_PRESETS: '["git", "git"]', HERMETIC_NETWORK_ALLOW: '["a.example"]' }));
    expect(twice[0]).toMatchObject({ source: 'network.allow', rule: { host: 'a.example', ports: [80, 443] } });
    expect(twice.filter(({ rule }) => rule.text === 'codeberg.org').map(({ source }) => source)).toEqual(['preset git: Codeberg']);
  });

  test('can be made of every preset', () => {
    expect(() => egressRules(load({ HERMETIC_NETWORK_PRESETS: JSON.stringify(presetNames) }))).not.toThrow();
  });
});

describe('rules without effect', () => {
  const without = (network: Record<string, string[]>) =>
    rulesWithoutEffect(
      load(
        Object.fromEntries(
          Object.entries(network).map(([key, entries]) => [`HERMETIC_NETWORK_${key.toUpperCase()}`, JSON.stringify(entries)]),
        ),
      ),
    );

  test.each([
    { allow: ['a.example'], deny: ['a.example'] },
    { allow: ['a.example:8443'], deny: ['a.example:*'] },
    { allow: ['*.b.a.example'], deny: ['*.a.example'] },
    { allow: ['b.a.example'], deny: ['*.a.example:80', '*.a.example'] },
  ])('tells of a rule that network.deny covers: %j', (network) => {
    expect(without(network)).toEqual([
      expect.stringContaining(`allows nothing, because network.deny has ${JSON.stringify(network.deny.at(-1))}.`),
    ]);
  });

  test.each([
    { allow: ['a.example'], deny: ['*.a.example'] },
    { allow: ['a.example'], deny: ['a.example:80'] },
    { allow: ['*.a.example'], deny: ['b.a.example'] },
    { allow: ['10.1.2.3'], private: ['10.1.0.0/16'] },
    { allow: ['203.0.113.9'] },
  ])('says nothing about rules that work: %j', (network) => {
    expect(without(network as Record<string, string[]>)).toEqual([]);
  });

  test('tells of a private address that network.private does not have', () => {
    expect(without({ allow: ['10.1.2.3'], private: ['10.2.0.0/16'] })).toEqual([
      'network.allow: "10.1.2.3" is a private address, and network.private does not have it.',
    ]);
  });
});
