import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { EgressRules } from '../../src/core/egress.ts';
import { presetNames, presets } from '../../src/egress/presets.ts';
import { decide, directPorts, parseHostRule } from '../../src/egress/rules.ts';

const texts = presetNames.flatMap((name) => presets[name].flatMap((part) => part.rules));
const allow = texts.map(parseHostRule).filter((rule) => typeof rule !== 'string');
const rules: EgressRules = { allow, deny: [], private: [], directPorts: [22, 443], notesAllowed: false };

describe.each(presetNames)('the preset %s', (name) => {
  it.each(presets[name])('names valid hosts for $title', ({ rules: listed }) => {
    for (const text of listed) {
      const rule = parseHostRule(text);
      expect(rule).toMatchObject({ text });
      if (typeof rule === 'string') return;
      expect(isIP(rule.host)).toBe(0);
      expect(rule.host).toContain('.');
      expect(rule.ports).not.toBe('all');
      // In the one spelling, so that the list shows what is compared.
      expect(text.replace(/^\*\./, '').replace(/:\d+$/, '')).toBe(rule.host);
    }
  });
});

it('presets name nothing twice', () => {
  expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
});

it('presets name no storage in which anyone can rent a place below the name', () => {
  const rented =
    /^\*\.(?:.*\.)?(?:amazonaws|googleapis|cloudfront|azureedge|windows|fastly|githubusercontent|github)\.|^storage\.googleapis\.com|^s3\./;
  expect(texts.filter((text) => rented.test(text))).toEqual([]);
});

it.each([
  ['registry.npmjs.org', 443],
  ['pypi.org', 443],
  ['files.pythonhosted.org', 443],
  ['index.crates.io', 443],
  ['static.crates.io', 443],
  ['proxy.golang.org', 443],
  ['sum.golang.org', 443],
  ['rubygems.org', 443],
  ['repo.maven.apache.org', 443],
  ['repo1.maven.org', 443],
  ['deb.debian.org', 80],
  ['security.ubuntu.com', 80],
  ['de.archive.ubuntu.com', 80],
  ['dl-cdn.alpinelinux.org', 443],
  ['registry.yarnpkg.com', 443],
  ['conda.anaconda.org', 443],
  ['repo.packagist.org', 443],
  ['api.nuget.org', 443],
  ['repo.hex.pm', 443],
  ['github.com', 443],
  ['github.com', 22],
  ['ssh.github.com', 443],
  ['codeload.github.com', 443],
  ['raw.githubusercontent.com', 443],
  ['gitlab.com', 22],
  ['altssh.gitlab.com', 443],
  ['bitbucket.org', 22],
  ['codeberg.org', 22],
])('presets allow %s:%i', (host, port) => {
  expect(decide(rules, { host, port }).verdict).toBe('allowed');
});

it.each([
  ['example.com', 443],
  ['registry.npmjs.org.evil.example', 443],
  ['evilgithub.com', 443],
  ['x.github.io', 443],
  ['registry.npmjs.org', 22],
  ['api.github.com', 22],
  ['evil.s3.amazonaws.com', 443],
  ['storage.googleapis.com', 443],
])('presets do not allow %s:%i', (host, port) => {
  expect(decide(rules, { host, port })).toEqual({ verdict: 'unlisted' });
});

it('presets open no other direct port than 22 and 443', () => {
  expect(directPorts(rules)).toEqual([22, 443]);
});
