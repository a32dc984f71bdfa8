import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/core/audit.ts';
import { openStore } from '../../src/stores/index.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
beforeEach(async () => {
  hermetic = new Hermetic();
  await hermetic.run(['config', 'set', 'web.port', '0']);
});
afterEach(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

/** Resolves with the id of a browser that is signed in while another process has the database open. */
async function signedIn(browser: string): Promise<string> {
  const store = await openStore(join(hermetic.environment.HERMETIC_HOME ?? '', 'state.db'));
  const visitor = { browser, network: '192.0.2.7', by: 'link' } as const;
  const { id } = await store.signIns.begin(visitor, { digest: browser, token: 'x' }, new Date());
  await store.close();
  return id;
}

const records = async (kind: string): Promise<AuditRecord[]> =>
  JSON.parse((await hermetic.run(['audit', 'list', '--kind', kind, '--json'])).stdout) as AuditRecord[];

it('lists the browsers that are signed in, and signs out one or all', async () => {
  expect(await hermetic.run(['page', 'sessions'])).toMatchObject({ code: 0, stdout: 'No browser is signed in.\n' });
  const [desk, phone] = [await signedIn('Firefox 140 on Linux'), await signedIn('Safari 18 on \u001b[31miPhone')];
  const { stdout } = await hermetic.run(['page', 'sessions']);
  expect(stdout).toMatch(/^ID +BROWSER +FROM +BY +SINCE +LAST SEEN\n/);
  expect(stdout).toMatch(new RegExp(`${desk} +Firefox 140 on Linux +192\\.0\\.2\\.7 +link `));
  expect(stdout).not.toContain('\u001b');
  const json = JSON.parse((await hermetic.run(['page', 'sessions', '--json'])).stdout) as unknown[];
  expect(json).toHaveLength(2);
  expect(JSON.stringify(json)).not.toContain('digest');

  expect(await hermetic.run(['page', 'revoke', desk])).toMatchObject({
    code: 0,
    stdout: `${desk} is signed out: Firefox 140 on Linux, from 192.0.2.7\n`,
  });
  expect(await hermetic.run(['page', 'revoke', desk])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(desk) });
  expect((await hermetic.run(['page', 'revoke', '--all'])).stdout).toContain(phone);
  expect(await hermetic.run(['page', 'revoke', '--all'])).toMatchObject({ code: 0, stdout: 'No browser is signed in.\n' });
  const ended = (await records('page')).filter(({ outcome }) => outcome === 'signed out');
  expect(ended).toMatchObject([desk, phone].map((signIn) => ({ actor: expect.stringMatching(/^shell:./), what: { signIn } })));
});

it.each([
  [['page', 'revoke'], 'Name one sign-in, or use --all.'],
  [['page', 'revoke', 'x', '--all'], 'Name one sign-in, or use --all.'],
])('refuses an unclear order: %j', async (args, says) => {
  const { code, stdout, stderr } = await hermetic.run(args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(says);
});

it('every change of the configuration, of secrets and of network rules has a record, without values of secrets', async () => {
  const value = `ghp_${'v'.repeat(36)}`;
  await hermetic.run(['config', 'set', 'approvals.mode', 'manual']);
  await hermetic.run(['config', 'set', 'terminal.docker_env', '{"PASS": "word-of-the-owner"}']);
  await hermetic.run(['config', 'unset', 'approvals.mode']);
  await hermetic.run(['config', 'unset', 'approvals.mode']);
  expect((await hermetic.run(['config', 'set', 'approvals.mode', 'nonsense'])).code).toBe(2);
  await hermetic.run(['network', 'allow', 'api.example.com']);
  await hermetic.run(['network', 'allow', 'api.example.com']);
  await hermetic.run(['network', 'forget', 'api.example.com']);
  await hermetic.run(['secret', 'set', 'GITHUB_TOKEN', '--host', 'github.com'], { input: value });
  await hermetic.run(['secret', 'set', 'OTHER'], { input: 'another-value' });
  await hermetic.run(['secret', 'remove', 'GITHUB_TOKEN']);
  expect((await hermetic.run(['secret', 'remove', 'GITHUB_TOKEN'])).code).toBe(1);
  const config = await records('config');
  expect(config.map(({ outcome, what }) => [what.key, outcome, what.value ?? what.entry ?? null])).toEqual([
    ['web.port', 'set', '0'],
    ['approvals.mode', 'set', 'manual'],
    ['terminal.docker_env', 'set', null],
    ['approvals.mode', 'unset', null],
    ['network.allow', 'added', 'api.example.com'],
    ['network.allow', 'removed', 'api.example.com'],
  ]);
  const secrets = await records('secret');
  expect(secrets.map(({ outcome, what }) => [what.name, outcome, what.hosts ?? null])).toEqual([
    ['GITHUB_TOKEN', 'stored', ['github.com']],
    ['OTHER', 'stored', null],
    ['GITHUB_TOKEN', 'removed', null],
  ]);
  expect([...config, ...secrets].every(({ actor }) => /^shell:./.test(actor))).toBe(true);
  expect(JSON.stringify([config, secrets])).not.toMatch(/ghp_|another-value|word-of-the-owner/);
  expect((await hermetic.run(['audit', 'list'])).stdout).toMatch(/secret +stored +hosts github\.com, name GITHUB_TOKEN\n/);
  expect((await hermetic.run(['audit', 'verify'])).code).toBe(0);
});

it('setting up a model leaves records, too', async () => {
  const args = ['setup', '--provider', 'anthropic', '--model', 'some-model', '--no-test'];
  expect(await hermetic.run(args, { input: 'sk-ant-key-of-the-owner-0123456789\n' })).toMatchObject({ code: 0 });
  expect(await records('secret')).toMatchObject([{ what: { name: 'ANTHROPIC_API_KEY' }, outcome: 'stored' }]);
  const set = (await records('config')).filter(({ outcome }) => outcome === 'set').map(({ what }) => what.key);
  expect(set).toEqual(['web.port', 'model.provider', 'model.model']);
});

it('changes nothing, and says why, where the state database takes no record', async () => {
  const directory = hermetic.environment.HERMETIC_HOME ?? '';
  const before = readFileSync(join(directory, 'config.yaml'), 'utf8');
  for (const end of ['', '-wal', '-shm']) await rm(join(directory, `state.db${end}`), { force: true });
  await writeFile(join(directory, 'state.db'), 'no database, but what somebody wrote there');
  for (const args of [
    ['config', 'set', 'web.port', '1'],
    ['secret', 'set', 'TOKEN'],
  ]) {
    const { code, stdout, stderr } = await hermetic.run(args, { input: 'a-value' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: Nothing was changed, because the change cannot be recorded: .*state\.db/);
  }
  expect(readFileSync(join(directory, 'config.yaml'), 'utf8')).toBe(before);
  expect(existsSync(join(directory, '.env')) && readFileSync(join(directory, '.env'), 'utf8').includes('TOKEN')).toBe(false);
});
