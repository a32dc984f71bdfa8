import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LiveConfig } from '../../src/config/live-config.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import { until } from '../until.ts';

let home: string;
let file: string;
let applied: LoadedConfig[];
let log: string[];
let live: LiveConfig;
const strict = 'terminal:\n  backend: docker\n  network: none\napprovals:\n  mode: manual\n';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hermetic-live-'));
  file = join(home, 'config.yaml');
  writeFileSync(file, strict);
  const load = () => loadConfig({ environment: { HERMETIC_HOME: home, HOME: home } });
  [applied, log] = [[], []];
  live = new LiveConfig({
    running: load(),
    load,
    apply: (loaded) => applied.push(loaded),
    refused: () => undefined,
    log: (line) => log.push(line),
  });
});
afterEach(async () => {
  await live.stop();
  rmSync(home, { recursive: true, force: true });
});

it('applies nothing while the files are unchanged', async () => {
  await live.fresh();
  expect([applied, log, live.alerts]).toEqual([[], [], []]);
});

it('applies a change without being asked', async () => {
  live.start();
  writeFileSync(file, `${strict}  timeout: 60\n`);
  await until('it is taken', () => applied.length > 0);
  expect(applied[0]?.config.approvals).toMatchObject({ mode: 'manual', timeout: 60 });
  expect(log).toEqual(['configuration: approvals.timeout changed']);
});

it('applies changed rules of the network without a restart', async () => {
  writeFileSync(file, `${strict}network:\n  allow: [api.example.com]\n  direct_ports: [22]\n`);
  await live.fresh();
  expect(applied.map(({ config }) => config.network.allow)).toEqual([['api.example.com']]);
  expect(log).toEqual(['configuration: network.allow, network.direct_ports changed']);
  expect(live.alerts).toEqual([]);
});

it('keeps the rules of the network when a new one is malformed', async () => {
  writeFileSync(file, `${strict}network:\n  allow: [https://api.example.com]\n`);
  await live.fresh();
  expect(applied).toEqual([]);
  expect(live.alerts[0]).toMatch(/^config\.yaml:7:\d+: network\.allow\[0\]: .* is a URL\..* The last good configuration stays in force\.$/);
});

it('applies nothing from a file that is being written', async () => {
  // What is there at each moment is valid, and says less than the whole.
  writeFileSync(file, strict.slice(0, strict.indexOf('  network')));
  const fresh = live.fresh();
  writeFileSync(file, `${strict}  timeout: 60\n`);
  await fresh;
  await live.fresh();
  expect(applied.map(({ config }) => [config.terminal.network, config.approvals.timeout])).toEqual([['none', 60]]);
});

it.each([
  ['emptied', 'is empty', () => writeFileSync(file, '')],
  ['removed', 'is gone', () => rmSync(file)],
  ['no longer a file', 'is not a file', () => [rmSync(file), mkdirSync(file)]],
  ['no YAML', 'config.yaml:1', () => writeFileSync(file, '{')],
  ['in a home that others can write to', 'can be written by others', () => chmodSync(home, 0o777)],
])('keeps the last good configuration when the file is %s', async (_, words, spoil) => {
  spoil();
  await live.fresh();
  await live.fresh();
  expect(applied).toEqual([]);
  expect(live.problem).toContain(words);
  expect(live.problem).toContain('The last good configuration stays in force.');
  expect(live.problem).not.toContain(`${home}/`);
  expect(log).toHaveLength(1);
  chmodSync(home, 0o700);
  rmSync(file, { recursive: true, force: true });
  writeFileSync(`${file}.new`, `${strict}  timeout: 60\n`);
  renameSync(`${file}.new`, file);
  await live.fresh();
  expect([live.problem, applied.length]).toEqual([undefined, 1]);
});

it.each([
  ['emptied', 'is empty', (dotenv: string) => writeFileSync(dotenv, '')],
  ['removed', 'is gone', (dotenv: string) => rmSync(dotenv)],
])('keeps the values of .env when it is %s', async (_, words, spoil) => {
  const dotenv = join(home, '.env');
  writeFileSync(dotenv, 'HERMETIC_APPROVALS_APPROVERS=["admins"]\n', { mode: 0o600 });
  await live.fresh();
  expect(applied.at(-1)?.config.approvals.approvers).toEqual(['admins']);
  spoil(dotenv);
  await live.fresh();
  expect(applied).toHaveLength(1);
  expect(live.problem).toContain(`.env ${words}`);
  writeFileSync(dotenv, '# nothing is set here any more\n', { mode: 0o600 });
  await live.fresh();
  expect([live.problem, applied.at(-1)?.config.approvals.approvers]).toEqual([undefined, []]);
});

it('keeps settings that need a restart, and says so until they are restored', async () => {
  writeFileSync(file, strict.replace('docker', 'local').replace('manual', 'smart'));
  writeFileSync(join(home, '.env'), 'HERMETIC_TOKEN=some-new-token\n', { mode: 0o600 });
  await live.fresh();
  expect(applied.at(-1)?.config).toMatchObject({ terminal: { backend: 'docker' }, approvals: { mode: 'smart' } });
  expect(live.alerts).toEqual([
    'terminal.backend changed: restart the gateway to apply it',
    'HERMETIC_TOKEN changed: restart the gateway to apply it',
  ]);
  expect(log.join()).not.toContain('some-new-token');
  writeFileSync(file, strict);
  rmSync(join(home, '.env'));
  await live.fresh();
  expect([live.alerts, applied.at(-1)?.config.approvals.mode]).toEqual([[], 'manual']);
});
