import { mkdtempSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { networkCommand } from '../../src/cli/commands/network.ts';
import { destinationFrom, networkVerdict, type Resolve, verdictText } from '../../src/cli/network-verdict.ts';
import { loadConfig } from '../../src/config/load.ts';
import { HermeticError } from '../../src/core/errors.ts';

const home = mkdtempSync(join(tmpdir(), 'hermetic-network-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const base = { PATH: process.env.PATH ?? '', HOME: home, HERMETIC_HOME: home, TERMINAL_ENV: 'local' };

interface Outcome {
  out: string;
  err: string;
  code: number;
  error: unknown;
}

async function network(args: string[], variables: Record<string, string> = {}): Promise<Outcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const outcome: Outcome = { out: '', err: '', code: 0, error: undefined };
  const environment = { ...base, ...variables };
  const command = networkCommand({ stdin: Readable.from([]), stdout, stderr, environment, setExitCode: (code) => (outcome.code = code) });
  await command.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    outcome.error = error;
  });
  outcome.out = String(stdout.read() ?? '');
  outcome.err = String(stderr.read() ?? '');
  return outcome;
}

describe('hermetic network test', () => {
  const rules = {
    HERMETIC_NETWORK_ALLOW: '["*.example.com", "db.example.com:5432", "10.1.2.3", "files.example.org:*"]',
    HERMETIC_NETWORK_DENY: '["bad.example.com"]',
  };

  it.each([
    ['api.example.com', 0, 'api.example.com:443 is allowed by *.example.com (network.allow).\n'],
    ['API.Example.COM.:80', 0, 'api.example.com:80 is allowed by *.example.com (network.allow).\n'],
    ['db.example.com:5432', 0, 'db.example.com:5432 is allowed by db.example.com:5432 (network.allow).\n'],
    ['files.example.org:9', 0, 'files.example.org:9 is allowed by files.example.org:* (network.allow).\n'],
    ['pypi.org', 0, 'pypi.org:443 is allowed by pypi.org (preset packages: PyPI).\n'],
    ['github.com:22', 0, 'github.com:22 is allowed by github.com:22 (preset git: GitHub).\n'],
    ['example.com', 4, 'example.com:443 would be asked about: no rule names it.'],
    ['api.example.com:8443', 4, 'api.example.com:8443 would be asked about: no rule names it.'],
    ['evilexample.com', 4, 'evilexample.com:443 would be asked about: no rule names it.'],
    ['bad.example.com:5432', 4, 'bad.example.com:5432 is denied by bad.example.com (network.deny).\n'],
    ['localhost:80', 4, 'localhost:80 is denied: it leads to this machine, which a restricted sandbox never reaches.'],
    ['printer', 4, 'printer:443 is denied: no rule allows it.'],
    ['printer.local:631', 4, 'printer.local:631 is denied: no rule allows it.'],
    ['10.1.2.3', 4, '10.1.2.3:443 is denied: it leads to a private address.'],
    ['192.168.7.7', 4, '192.168.7.7:443 is denied: it leads to a private address.'],
    ['203.0.113.7', 4, '203.0.113.7:443 would be asked about: no rule names it.'],
    ['127.0.0.1:80', 4, '127.0.0.1:80 is denied: it leads to a special address'],
    ['0x7f.1', 4, '127.0.0.1:443 is denied: it leads to a special address'],
    ['[::1]:80', 4, '[::1]:80 is denied: it leads to a special address'],
    ['169.254.169.254', 4, '169.254.169.254:443 is denied: it leads to a special address'],
  ])('says what would become of %s', async (destination, code, text) => {
    const outcome = await network(['test', destination], rules);
    expect(outcome.error).toBeUndefined();
    expect(outcome.out).toContain(text);
    expect(outcome.code).toBe(code);
  });

  it('denies a host that no rule names when network.ask is false', async () => {
    const outcome = await network(['test', 'example.com'], { ...rules, HERMETIC_NETWORK_ASK: 'false' });
    expect(outcome).toMatchObject({ code: 4, out: expect.stringContaining('example.com:443 is denied: no rule allows it.') });
  });

  it('refuses an address of this machine', async () => {
    const own = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4');
    if (!own) return;
    const variables = { HERMETIC_NETWORK_ALLOW: JSON.stringify([own.address]) };
    expect(await network(['test', own.address], variables)).toMatchObject({
      code: 4,
      out: expect.stringContaining('it leads to this machine'),
    });
  });

  it.each([
    '',
    'https://example.com/',
    'example.com:0',
    'example.com:70000',
    'a b',
    'user@example.com',
    'example.com:https',
    '[fe80::1%lo]',
  ])('refuses %j as malformed', async (destination) => {
    const { error, out } = await network(['test', destination]);
    expect(out).toBe('');
    expect(error).toBeInstanceOf(HermeticError);
    expect((error as HermeticError).code).toBe('usage/bad-argument');
  });

  it('prints every field as JSON, null where there is none', async () => {
    const { out } = await network(['test', 'pypi.org', '--json'], rules);
    expect(JSON.parse(out)).toEqual({
      host: 'pypi.org',
      port: 443,
      verdict: 'allowed',
      reason: null,
      rule: 'pypi.org',
      source: 'preset packages: PyPI',
      direct: true,
      addresses: null,
    });
    expect(JSON.parse((await network(['test', 'example.com:8080', '--json'], rules)).out)).toEqual({
      host: 'example.com',
      port: 8080,
      verdict: 'asked',
      reason: 'unlisted',
      rule: null,
      source: null,
      direct: false,
      addresses: null,
    });
  });

  it('says that an address is reached through the proxy only', async () => {
    const { out } = await network(['test', '203.0.113.7'], { HERMETIC_NETWORK_ALLOW: '["203.0.113.7"]' });
    expect(out).toBe(
      '203.0.113.7:443 is allowed by 203.0.113.7 (network.allow).\n  203.0.113.7: public, allowed\nPrograms reach it through the proxy only.\n',
    );
  });

  it('adds that the rules apply to no session when terminal.network is open', async () => {
    expect((await network(['test', 'pypi.org'], { TERMINAL_NETWORK: 'open' })).err).toContain('terminal.network is open');
    expect((await network(['test', 'pypi.org'])).err).toBe('');
  });

  const resolved = async (destination: string, resolve: Resolve, variables: Record<string, string> = rules) => {
    const { config } = loadConfig({ environment: { ...base, ...variables } });
    return await networkVerdict(config, destinationFrom(destination), resolve);
  };

  it('judges the addresses of a name, of which one that is good is enough', async () => {
    const verdict = await resolved('api.example.com', async () => ['127.0.0.1', '203.0.113.7']);
    expect(verdict).toMatchObject({
      verdict: 'allowed',
      addresses: [
        { address: '127.0.0.1', class: 'special', allowed: false },
        { address: '203.0.113.7', class: 'public', allowed: true },
      ],
    });
    expect(verdictText(verdict)).toContain('  127.0.0.1: special, refused\n  203.0.113.7: public, allowed\n');
  });

  it.each([
    ['10.9.9.9', 'private-address'],
    ['169.254.169.254', 'special-address'],
    ['::ffff:127.0.0.1', 'special-address'],
  ] as const)('denies a name that leads to %s', async (address, reason) => {
    expect(await resolved('api.example.com', async () => [address])).toMatchObject({ verdict: 'denied', reason });
  });

  it.each(['["api.example.com"]', '["10.9.0.0/16"]'])('allows a private address with network.private: %s', async (entries) => {
    const verdict = await resolved('api.example.com', async () => ['10.9.9.9'], { ...rules, HERMETIC_NETWORK_PRIVATE: entries });
    expect(verdict).toMatchObject({ verdict: 'allowed', addresses: [{ class: 'private', allowed: true }] });
  });

  it('never resolves a name that no rule allows', async () => {
    const asked: string[] = [];
    const resolve: Resolve = async (host) => {
      asked.push(host);
      return ['203.0.113.7'];
    };
    expect(await resolved('secret-data.evil.example', resolve)).toMatchObject({ verdict: 'asked', reason: 'unlisted' });
    expect(await resolved('bad.example.com', resolve)).toMatchObject({ verdict: 'denied', reason: 'denied' });
    expect(asked).toEqual([]);
  });

  it('tells a name without an address from one that is denied', async () => {
    const verdict = await resolved('api.example.com', async () => []);
    expect(verdict).toMatchObject({ verdict: 'unresolved', reason: 'unresolved' });
    expect(verdictText(verdict)).toBe('api.example.com:443 is allowed by *.example.com (network.allow), but its name has no address.\n');
  });
});

describe('hermetic network list', () => {
  it('lists the hosts of secrets with the secret as source, and names the rule in a test', async () => {
    const secrets = {
      HERMETIC_SECRETS: '{"MY_TOKEN": {"hosts": ["api.example.net", "git.example.net:8443"]}}',
      MY_TOKEN: 'hunter2-hunter2',
    };
    const { out } = await network(['list'], { HERMETIC_NETWORK_PRESETS: '[]', ...secrets });
    expect(out).toMatch(/^api\.example\.net +443 +secret MY_TOKEN$/m);
    expect(out).toMatch(/^git\.example\.net +8443 +secret MY_TOKEN$/m);
    expect(out).not.toContain('hunter2');
    expect((await network(['test', 'git.example.net:8443'], secrets)).out).toContain(
      'is allowed by git.example.net:8443 (secret MY_TOKEN).',
    );
    const denied = await network(['test', 'api.example.net'], { ...secrets, HERMETIC_NETWORK_DENY: '["api.example.net"]' });
    expect(denied).toMatchObject({ code: 4, out: expect.stringContaining('is denied by api.example.net (network.deny)') });
  });

  it('lists each rule with its ports and its source', async () => {
    const { out, error } = await network(['list'], {
      HERMETIC_NETWORK_ALLOW: '["*.example.com", "bücher.example:8443"]',
      HERMETIC_NETWORK_DENY: '["gist.github.com"]',
      HERMETIC_NETWORK_PRIVATE: '["10.1.0.0/16"]',
    });
    expect(error).toBeUndefined();
    expect(out).toMatch(/^\*\.example\.com +80, 443 +network\.allow$/m);
    expect(out).toMatch(/^xn--bcher-kva\.example +8443 +network\.allow$/m);
    expect(out).toMatch(/^pypi\.org +80, 443 +preset packages: PyPI$/m);
    expect(out).toMatch(/^gist\.github\.com +all +network\.deny$/m);
    expect(out).toContain('private networks: 10.1.0.0/16\n');
    expect(out).toContain('ports without a proxy: 22, 443, 8443\n');
  });

  it('says of each kind of session which network it has', async () => {
    expect((await network(['list'], { TERMINAL_NETWORK: 'open' })).out).toMatch(/^chat sessions: open\ncommand line: open\n/);
    const restricted = (await network(['list'], { TERMINAL_NETWORK: 'restricted' })).out;
    expect(restricted).toMatch(/^chat sessions: Sessions do not open\. The local backend cannot .*\ncommand line: Sessions do not open\./);
  });

  it('prints an object with --json', async () => {
    const listed = JSON.parse(
      (await network(['list', '--json'], { HERMETIC_NETWORK_PRESETS: '[]', HERMETIC_NETWORK_ALLOW: '["a.example"]' })).out,
    );
    expect(listed).toMatchObject({
      sessions: { messaging: { backend: 'local', rules: null }, cli: { backend: 'local', network: 'open', rules: null, problem: null } },
      allow: [{ rule: 'a.example', host: 'a.example', wildcard: false, ports: [80, 443], source: 'network.allow' }],
      deny: [],
      private: [],
      directPorts: [22, 443],
    });
  });
});
