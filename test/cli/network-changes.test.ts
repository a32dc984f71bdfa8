import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Place } from '../../src/core/channel.ts';
import { sessionId } from '../../src/core/session.ts';
import { everyone, type GrantEntry, type Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { bin } from '../bin.ts';
import { itNeeding } from '../needs.ts';
import { Hermetic, type Outcome } from './hermetic.ts';

const hermetic = new Hermetic({ TERMINAL_ENV: 'local' });
const home = hermetic.environment.HERMETIC_HOME ?? '';
const config = join(home, 'config.yaml');
const text = () => readFileSync(config, 'utf8');
const network = (...args: string[]): Promise<Outcome> => hermetic.run(['network', ...args]);
const minute = 60_000;

const keyOf = (chat: string) => ({ platform: 'telegram', workspace: undefined, chat, thread: undefined, user: '4711' });
const ada = sessionId(keyOf('4711')).parts;
const group = sessionId(keyOf('-99')).parts;

async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(join(home, 'state.db'));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const grants = (): Promise<GrantEntry[]> => withStore((store) => store.grants.list({ inForceAt: new Date() }));
const programs = async () => (await grants()).map(({ program }) => program).sort();

beforeAll(async () => {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const { user: _, ...place } = keyOf('4711');
  await withStore(async ({ conversations }) => {
    await conversations.session(ada, { title: 'telegram Ada', place: place as Place }, new Date());
    await conversations.session(group, { title: 'telegram Group', place: { ...place, chat: '-99' } as Place }, new Date());
    await conversations.session(['cli', 'twin'], { title: 'telegram Twin', place: place as Place }, new Date());
    await conversations.session(['cli', 'other'], { title: 'telegram Twin', place: place as Place }, new Date());
  });
});
beforeEach(async () => {
  rmSync(config, { force: true });
  await withStore(async (store) => {
    for (const { id } of await store.grants.list()) await store.grants.revoke(id, 'test', new Date(), []);
  });
});
afterAll(() => rmSync(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

describe('rules of config.yaml', () => {
  it('are added once, with every comment kept, and count at once', { timeout: 2 * minute }, async () => {
    const before = 'network:\n  allow: # ours\n    - a.example # first\n';
    writeFileSync(config, before, { mode: 0o600 });
    expect(await network('allow', 'API.Example.com.')).toEqual({
      code: 0,
      stdout: `api.example.com (ports 80 and 443) is added to network.allow in ${config}\n`,
      stderr: '',
    });
    expect(text()).toBe(`${before}    - api.example.com\n`);
    expect((await network('allow', 'api.example.com')).stdout).toBe(
      `api.example.com (ports 80 and 443) is in network.allow of ${config} already\n`,
    );
    expect(text()).toBe(`${before}    - api.example.com\n`);
    expect(await network('test', 'api.example.com')).toMatchObject({ code: 0 });
    expect(await network('allow', '[2001:db8::1]:8443')).toMatchObject({ code: 0 });
    expect(text()).toContain('- "[2001:db8::1]:8443"\n');
  });

  it('are warned about when network.deny covers them, in whole or in part', { timeout: 2 * minute }, async () => {
    writeFileSync(config, 'network:\n  deny: ["*.corp.example", "b.example:22"]\n', { mode: 0o600 });
    const covered = await network('allow', 'git.corp.example');
    expect(covered.code).toBe(0);
    expect(covered.stderr).toBe('warning: network.allow: "git.corp.example" allows nothing, because network.deny has "*.corp.example".\n');
    expect((await network('allow', 'b.example:*')).stderr).toBe('note: b.example:22 stays denied (network.deny)\n');
    expect((await network('allow', '10.1.2.3')).stderr).toContain('is a private address, and network.private does not have it');
  });

  it('are denied with the allow rules that lose their effect, and the grants that are revoked', { timeout: 2 * minute }, async () => {
    await network('allow', '*.example.org');
    await network('allow', 'wiki.example.org:8443', '--session', 'telegram Ada');
    await network('allow', 'elsewhere.example:443', '--session', 'telegram Ada');
    const { code, stdout } = await network('deny', '*.example.org');
    expect(code).toBe(0);
    expect(stdout).toContain(`*.example.org (all ports) is added to network.deny in ${config}\n`);
    expect(stdout).toContain('no longer allowed: *.example.org (network.allow)\n');
    expect(stdout).toContain('revoked: the grant for wiki.example.org:8443 (session telegram Ada, for everyone, given by ');
    expect(await programs()).toEqual(['elsewhere.example:443']);
    expect((await network('deny', 'github.com')).stdout).toContain('no longer allowed: github.com:22 (preset git: GitHub)\n');
    expect(await network('test', 'github.com')).toMatchObject({ code: 4 });
    expect((await network('deny', 'GITHUB.com:*')).stdout).toContain(`is in network.deny of ${config} already`);
  });

  it('are forgotten by their exact host, with the grants for it', { timeout: 2 * minute }, async () => {
    writeFileSync(config, 'network:\n  allow: [a.example, "a.example:8443", "*.a.example", b.a.example]\n  deny: ["a.example:22"]\n', {
      mode: 0o600,
    });
    await network('allow', 'a.example:9000', '--session', 'telegram Ada');
    expect((await network('forget', 'a.example:8443')).stdout).toBe(`a.example:8443 is removed from network.allow in ${config}\n`);
    expect(await programs()).toEqual(['a.example:9000']);
    const all = await network('forget', 'A.example');
    expect(all.stdout).toContain(
      `a.example is removed from network.allow in ${config}\na.example:22 is removed from network.deny in ${config}\n`,
    );
    expect(all.stdout).toContain('revoked: the grant for a.example:9000');
    expect(text()).toBe('network:\n  allow: ["*.a.example", b.a.example]\n  deny: []\n');
    expect((await network('forget', 'b.a.example')).stderr).toBe('note: b.a.example:443 is still allowed by *.a.example (network.allow)\n');
    expect((await network('forget', '*.a.example')).code).toBe(0);
    const nothing = await network('forget', 'a.example');
    expect(nothing).toMatchObject({ code: 1, stdout: '' });
    expect(nothing.stderr).toContain('nor a grant for a.example (all ports)');
  });

  it('are noted as overridden when the environment sets the list', async () => {
    const { code, stderr } = await hermetic.run(['network', 'allow', 'a.example'], {
      environment: { HERMETIC_NETWORK_ALLOW: '["b.example"]' },
    });
    expect(code).toBe(0);
    expect(stderr).toContain('HERMETIC_NETWORK_ALLOW is set and overrides config.yaml');
    expect(text()).toBe('network:\n  allow: [a.example]\n');
  });

  it('are not written over a configuration that does not load, or that cannot be changed', { timeout: minute }, async () => {
    writeFileSync(config, 'network:\n  alow: []\n', { mode: 0o600 });
    expect(await network('allow', 'a.example')).toMatchObject({ code: 2, stdout: '' });
    expect(text()).toBe('network:\n  alow: []\n');
    writeFileSync(config, 'network: &all\n  allow: &list [a.example]\n  deny: *list\n', { mode: 0o600 });
    const { code, stderr } = await network('allow', 'b.example');
    expect(code).toBe(2);
    expect(stderr).toContain('cannot be changed from here');
  });

  itNeeding(['mount'], 'are not written into a home that is read-only', async () => {
    writeFileSync(config, 'network: {}\n', { mode: 0o600 });
    const mount = `mount --bind ${home} ${home} && mount -o remount,ro,bind ${home} && exec "$@"`;
    const words = ['-m', 'sh', '-c', mount, 'sh', process.execPath, bin, 'network', 'allow', 'a.example'];
    const { status, stdout, stderr } = spawnSync('unshare', words, { env: hermetic.environment, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(`${config} was not changed: `) });
    expect(text()).toBe('network: {}\n');
  });
});

describe('grants for a session', () => {
  it('are given to everyone there, for both ports of the web when none is named', { timeout: 2 * minute }, async () => {
    const { code, stdout, stderr } = await network('allow', 'API.example.com', '--session', 'telegram Ada');
    expect(stdout).toBe(
      'api.example.com:80 and api.example.com:443 are allowed in the session "telegram Ada", for everyone there, until the session ends\n',
    );
    expect(code).toBe(0);
    expect(stderr).toContain('note: the network of such sessions is open, and not restricted');
    expect(await grants()).toMatchObject([
      { scope: 'session', parts: ada, person: everyone, backend: 'local', rule: 'network/unlisted-host', grantedFrom: 'shell' },
      { program: expect.stringMatching(/^api\.example\.com:(80|443)$/), expiresAt: undefined, question: '' },
    ]);
    await withStore(async ({ grants: ledger, audit }) => {
      const reach = (parts: readonly string[], person?: string) => ledger.inForce({ parts, person, backend: 'local' }, new Date());
      expect(await reach(ada, 'telegram:1')).toHaveLength(2);
      expect(await reach(group, 'telegram:1')).toHaveLength(0);
      const given = await audit.list({ kind: 'grant', session: ada, outcome: 'granted' }, 2, true);
      expect(given.map(({ what }) => what.program)).toEqual(['api.example.com:80', 'api.example.com:443']);
    });
    expect((await network('allow', 'api.example.com:443', '--session', 'telegram 4711 4711')).stdout).toBe(
      'api.example.com:443 is allowed in the session "telegram Ada" already\n',
    );
    expect(await grants()).toHaveLength(2);
    expect((await hermetic.run(['approvals', 'grants'])).stdout).toMatch(/network\/unlisted-host +api\.example\.com:443 +everyone/);
  });

  it('expire, and a longer one is added to a shorter one', { timeout: 2 * minute }, async () => {
    const give = (lasting: string) => network('allow', 'a.example:443', '--session', 'telegram Ada', '--for', lasting);
    expect((await give('2h')).stdout).toMatch(
      /^a\.example:443 is allowed .*, until \d{4}-\d\d-\d\d \d\d:\d\d UTC, or the session ends before\n$/,
    );
    expect((await give('1h')).stdout).toContain('already');
    expect((await give('3h')).stdout).not.toContain('already');
    const ends = (await grants()).map(({ expiresAt }) => Math.round(((expiresAt?.getTime() ?? 0) - Date.now()) / (60 * minute)));
    expect(ends).toEqual([2, 3]);
  });

  it('are not given for what a rule decides already', { timeout: minute }, async () => {
    expect((await network('allow', 'pypi.org', '--session', 'telegram Ada')).stdout).toBe(
      'pypi.org:80 is allowed by pypi.org (preset packages: PyPI) already\npypi.org:443 is allowed by pypi.org (preset packages: PyPI) already\n',
    );
    writeFileSync(config, 'network:\n  deny: [evil.example]\n', { mode: 0o600 });
    const denied = await network('allow', 'evil.example', '--session', 'telegram Ada');
    expect(denied.code).toBe(4);
    expect(denied.stderr).toContain('evil.example:80 is denied by evil.example (network.deny), which wins over grants.');
    expect(await grants()).toEqual([]);
  });

  it('are listed in force, with where, until when and by whom', { timeout: 2 * minute }, async () => {
    await network('allow', 'a.example:443', '--session', 'telegram Ada', '--for', '2h');
    await network('allow', 'b.example:443', '--session', 'telegram Group');
    const { stdout } = await network('list');
    expect(stdout).toMatch(/^a\.example:443 +session telegram Ada, for everyone +\d{4}-\d\d-\d\d \d\d:\d\d +\S+$/m);
    expect(stdout).toMatch(/^b\.example:443 +session telegram Group, for everyone +the session ends +\S+$/m);
    const { grants: listed } = JSON.parse((await network('list', '--session', 'telegram Group', '--json')).stdout);
    expect(listed).toMatchObject([{ host: 'b.example', port: 443, scope: 'session', person: '*', sessionParts: group, expiresAt: null }]);
  });
});

describe('bad input', () => {
  const session = ['--session', 'telegram Ada'];
  it.each([
    [['allow', 'https://a.example/'], 'is a URL'],
    [['allow', 'a b'], 'is not HOST'],
    [['allow', ''], 'is not HOST'],
    [['allow', '127.0.0.1'], 'is never reached'],
    [['allow', '169.254.169.254:80'], 'is never reached'],
    [['allow', 'localhost'], 'is never reached'],
    [['allow', '10.0.0.0/8'], 'is an address range'],
    [['allow', '*.com'], 'would match too much'],
    [['allow', 'a.example:0'], 'has no valid port'],
    [['allow', 'a.example:99999'], 'has no valid port'],
    [['deny', 'https://a.example'], 'is a URL'],
    [['forget', 'a.example:x'], 'has no valid port'],
    [['allow', 'a.example', '--for', '2h'], '--for is for a grant'],
    [['allow', 'a.example', ...session, '--for', 'soon'], 'Expected a number with s, m, h or d'],
    [['allow', 'a.example', ...session, '--for', '0s'], 'longer than 0'],
    [['allow', 'a.example', ...session, '--for', '-2h'], 'Expected a number with s, m, h or d'],
    [['allow', '*.example.org', ...session], 'one exact host and port'],
    [['allow', 'a.example:*', ...session], 'one exact host and port'],
    [['allow', '10.1.2.3', ...session], 'never asked about'],
    [['allow', 'printer.local', ...session], 'never asked about'],
    [['allow', 'a.example', '--session', ' '], 'A session needs a name'],
    [['allow', 'a.example', '--session', 'telegram Twin'], 'There are 2 sessions "telegram Twin"'],
    [['log', '--limit', '0'], 'at least 1'],
    [['log', '--since', 'yesterday'], 'Expected a number with s, m, h or d'],
  ])('is refused: %j', async (args, message) => {
    const { code, stdout, stderr } = await network(...args);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(await grants()).toEqual([]);
  });

  it.each(['allow', 'list', 'log'])('an unknown session is an error of %s that lists the known ones', async (command) => {
    const words = command === 'allow' ? ['a.example'] : [];
    const { code, stderr } = await network(command, ...words, '--session', 'Adda');
    expect(code).toBe(1);
    expect(stderr).toContain('There is no session "Adda".');
    expect(stderr).toContain('"telegram Ada" ("telegram 4711 4711")');
  });
});

describe('hermetic network log', () => {
  const what = {
    ...{
      host: 'evil.example',
      port: 443,
      reason: 'refused',
      rule: null,
      by: 'telegram:1',
      count: 3,
      bytes: null,
      secrets: [],
      placeholders: [],
    },
    ...{ command: 'curl \u001b[31mhttps://evil.example', source: 'chat', person: 'telegram:4711' },
  };
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 60 * minute);
  const record = { actor: 'agent', session: ada, kind: 'network' } as const;

  beforeAll(async () => {
    const long = `${'data-'.repeat(30)}.evil.example`;
    await withStore(({ audit }) =>
      audit.append([
        { ...record, at: hoursAgo(5), outcome: 'failed', what: { ...what, host: 'old.example', reason: 'unresolved', by: null, count: 1 } },
        { ...record, at: hoursAgo(0), outcome: 'blocked', what },
        { ...record, at: hoursAgo(0), outcome: 'blocked', session: group, what: { ...what, host: long } },
        {
          ...record,
          ...{ at: hoursAgo(0), outcome: 'allowed' },
          what: {
            ...what,
            host: 'api.example',
            rule: 'api.example',
            reason: null,
            by: null,
            bytes: 512,
            secrets: ['TOKEN'],
            placeholders: ['OTHER'],
          },
        },
      ]),
    );
  });

  it('prints one line for each record, the newest last', { timeout: minute }, async () => {
    const { code, stdout } = await network('log');
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^TIME +SESSION +OUTCOME +HOST +BYTES +WHY +COMMAND$/);
    expect(lines[1]).toMatch(/telegram Ada +failed +old\.example:443 +- +unresolved +curl/);
    expect(lines[2]).toMatch(
      /telegram Ada +blocked +evil\.example:443 ×3 +- +refused, by telegram:1 +curl ⟨U\+001B⟩\[31mhttps:\/\/evil\.example$/,
    );
    expect(lines[3]).toMatch(/telegram Group +blocked +…\S*\.evil\.example:443 ×3/);
    expect(lines[4]).toMatch(/allowed +api\.example:443 ×3 +512 +api\.example, with TOKEN, with the placeholder of OTHER +curl/);
    expect(lines).toHaveLength(5);
    expect(stdout).not.toContain('\u001b');
  });

  it('filters by outcome, session and time, and prints the newest', { timeout: minute }, async () => {
    const hosts = async (...args: string[]) =>
      (JSON.parse((await network('log', '--json', ...args)).stdout) as { host: string }[]).map(({ host }) => host.slice(-12));
    expect(await hosts('--blocked')).toEqual(['evil.example', 'evil.example']);
    expect(await hosts('--session', 'telegram 4711 4711')).toEqual(
      ['.old.example', 'evil.example', '.api.example'].map((one) => one.replace(/^\./, '')),
    );
    expect(await hosts('--since', '1h', '--limit', '1')).toEqual(['api.example']);
    expect(JSON.parse((await network('log', '--json', '--limit', '1')).stdout)).toMatchObject([
      { outcome: 'allowed', session: 'telegram Ada', sessionParts: ada, rule: 'api.example', bytes: 512, person: 'telegram:4711' },
    ]);
    expect((await network('log', '--session', 'cli other')).stdout).toBe('There are no records of connections.\n');
  });
});

describe('an agent in a session on the host itself', () => {
  it('cannot change the rules, and can read them', { timeout: 2 * minute }, async () => {
    const own = `${JSON.stringify(process.execPath)} ${JSON.stringify(bin)}`;
    const variables = `PATH="$PATH" HERMETIC_HOME=${JSON.stringify(home)} TERMINAL_ENV=local`;
    const script = [
      `export ${variables}`,
      `${own} network allow evil.example; echo "allow $?"`,
      `env -i ${variables} setsid -w ${own} network allow evil.example --session 'telegram Ada'; echo "session $?"`,
      `${own} network deny pypi.org; echo "deny $?"`,
      `${own} network forget pypi.org; echo "forget $?"`,
      `${own} network test pypi.org >/dev/null; echo "test $?"`,
    ].join('\n');
    const { stdout, stderr } = await hermetic.run(['run', '--backend', 'local', '--', script]);
    expect(stdout).toBe('allow 4\nsession 4\ndeny 4\nforget 4\ntest 0\n');
    expect(stderr).toContain('hermetic network allow is refused');
    expect(await grants()).toEqual([]);
    expect((await network('test', 'evil.example')).code).toBe(4);
  });
});
