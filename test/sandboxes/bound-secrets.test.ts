import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import type { Network } from '../../src/core/sandbox.ts';
import { SandboxSecrets } from '../../src/sandboxes/secrets.ts';
import { makeHome, type TestHome } from '../config/scratch.ts';

let home: TestHome;
beforeEach(() => {
  home = makeHome();
});

function secretsWith(secrets: object, variables: Record<string, string> = {}) {
  home.writeConfig(`secrets: ${JSON.stringify(secrets)}`);
  const load = (more: Record<string, string>) => loadConfig({ environment: { ...home.environment, ...variables, ...more } });
  let loaded = load({});
  const onChange = vi.fn();
  const all = new SandboxSecrets(() => loaded, onChange);
  const notices: string[] = [];
  return {
    all,
    onChange,
    notices,
    inside: (network: Network | 'unset' = 'restricted') =>
      all.inside(network === 'unset' ? undefined : network, { notice: (text) => notices.push(text), progress: () => undefined }),
    change: (more: Record<string, string>) => {
      loaded = load(more);
    },
  };
}

const github = { GITHUB_TOKEN: { hosts: ['api.github.com'] } };
const value = `ghp_${'a1B2'.repeat(9)}`;

test('a sandbox gets a placeholder with the beginning and the length of the value, and no value', () => {
  const { all, inside } = secretsWith({ GITHUB_TOKEN: { hosts: ['api.github.com'], as: 'GH_TOKEN' } }, { GITHUB_TOKEN: value });
  const { placeholders, trustEnv, mounts } = inside();
  expect(placeholders).toEqual({ GH_TOKEN: expect.stringMatching(/^ghp_hmtc[a-z0-9]{32}$/) });
  expect(mounts).toEqual([{ source: join(home.directory, 'egress/trust'), target: '/opt/hermetic/trust', readOnly: true }]);
  expect(trustEnv.CURL_CA_BUNDLE).toBe('/opt/hermetic/trust/roots.pem');
  expect(JSON.stringify(inside())).not.toContain(value);
  expect(all.vault()?.secrets).toMatchObject([
    { name: 'GITHUB_TOKEN', value, placeholder: placeholders.GH_TOKEN, destinations: [{ host: 'api.github.com', port: 443 }] },
  ]);
});

test('without a secret, or with none that has a value, no file and no key is made', () => {
  expect(secretsWith({}).all.vault()).toBeUndefined();
  const { all, inside, notices } = secretsWith(github);
  expect(inside()).toEqual({ mounts: [], trustEnv: {}, placeholders: {} });
  expect(all.vault()).toBeUndefined();
  expect(notices).toEqual([expect.stringContaining('secrets.GITHUB_TOKEN has no value')]);
  expect(existsSync(join(home.directory, 'egress'))).toBe(false);
});

test.each(['unset', 'open', 'none'] as const)(
  'a sandbox with the network %s gets nothing of a secret, and a notice says why',
  (network) => {
    const { notices, inside } = secretsWith(github, { GITHUB_TOKEN: value });
    expect(inside(network)).toEqual({ mounts: [], trustEnv: {}, placeholders: {} });
    expect(notices).toEqual([expect.stringContaining('Secrets stay outside (GITHUB_TOKEN): they need a restricted network')]);
    expect(notices.join()).not.toContain(value);
  },
);

test('a value that cannot be used keeps sandboxes from opening, and the other secrets stay in the vault', () => {
  const { all, inside } = secretsWith({ ...github, BAD: { hosts: ['b.example'] } }, { GITHUB_TOKEN: value, BAD: 'abc1234' });
  expect(() => inside()).toThrow(
    expect.objectContaining({ code: 'config/bad-value', message: expect.stringContaining('secrets.BAD cannot be used') }),
  );
  expect(() => inside()).not.toThrow(/abc1234/);
  expect(all.vault()?.secrets.map(({ name }) => name)).toEqual(['GITHUB_TOKEN']);
});

test('a new value of the same length keeps the placeholder, and the vault has it at once', () => {
  const { all, inside, change } = secretsWith(github, { GITHUB_TOKEN: value });
  const before = inside();
  const next = value.replaceAll('B', 'C');
  change({ GITHUB_TOKEN: next });
  expect(all.vault()?.secrets[0]?.value).toBe(next);
  expect(inside()).toEqual(before);
});

test('the egress thread is told of secrets before a sandbox gets the placeholder', () => {
  const { inside, onChange, change } = secretsWith(github, { GITHUB_TOKEN: value });
  inside();
  inside();
  expect(onChange).toHaveBeenCalledTimes(1);
  change({ GITHUB_TOKEN: `${value}x` });
  inside();
  expect(onChange).toHaveBeenCalledTimes(2);
});

test.each([
  ['sk-ant-api03-abcdefghijklmnopqrstuvwxyz', undefined, /^sk-ant-hmtc/],
  ['hf_abcdefghijklmnopqrstuvwxyzabcdefghi', undefined, /^hf_hmtc/],
  ['0123456789abcdef0123456789abcdef01', undefined, /^hmtc/],
  ['0123456789abcdef0123456789abcdef01', 'tok-', /^tok-hmtc/],
])('the placeholder of %s with prefix %s begins as programs expect it', (token, prefix, pattern) => {
  const { inside } = secretsWith({ X: { hosts: ['a.example'], ...(prefix && { prefix }) } }, { X: token });
  const { X: placeholder = '' } = inside().placeholders;
  expect(placeholder).toMatch(pattern);
  expect(placeholder).toHaveLength(token.length);
});
