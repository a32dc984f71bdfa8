import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { createApp } from '../../src/index.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { errorOf, makeHome } from './scratch.ts';

let hermetic: Hermetic;
let file: string;
beforeEach(() => {
  hermetic = new Hermetic({ TERMINAL_ENV: 'local' });
  file = join(hermetic.home, '.hermetic', 'config.yaml');
  mkdirSync(join(hermetic.home, '.hermetic'), { mode: 0o700 });
});
afterEach(() => rmSync(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

const ofHermes = `terminal:
  timeout: 7
  modal_mode: -oProxyCommand=x
matrix:
  token_env: "123:abc"
  auto_thread: true
mattermost: later
`;

describe('keys of Hermes or of an earlier version', () => {
  it('loads an unused key with one warning that names file, line and key, and ignores its value', async () => {
    writeFileSync(file, ofHermes);
    expect(await hermetic.run(['config', 'get', 'terminal.timeout'])).toMatchObject({ code: 0, stdout: '7\n', stderr: '' });
    const { code, stderr, stdout } = await hermetic.run(['config', 'check']);
    expect(stderr.match(/^warning: .*$/gm)).toEqual([
      `warning: ${file}:3:3: terminal.modal_mode is not used: Modal is always used by your own account.`,
      `warning: ${file}:5:3: matrix.token_env is not used: this version has no channel for matrix.`,
      `warning: ${file}:6:3: matrix.auto_thread is not used: this version has no channel for matrix.`,
      `warning: ${file}:7:1: mattermost is not used: this version has no channel for mattermost.`,
    ]);
    expect(stderr).toContain('hint: Take it out.');
    expect([code, stdout]).toEqual([0, expect.stringContaining('can be read')]);
    expect((await hermetic.run(['doctor'])).stdout).toContain(`warning: ${file}:3:3: terminal.modal_mode is not used`);
  });

  it('loads what a user of Hermes has in the sections that both have, with a warning for each key that does nothing', () => {
    const home = makeHome();
    home.writeConfig(
      'terminal:',
      '  backend: docker',
      '  persistent_shell: true',
      '  home_mode: auto',
      '  shell_init_files: [~/.profile]',
      '  auto_source_bashrc: true',
      '  sudo_password: hunter2-sudo',
      '  docker_persist_across_processes: true',
      '  docker_orphan_reaper: true',
      'gateway:',
      '  strict: false',
      '  trust_recent_files: true',
      '  message_timestamps: {enabled: false}',
      'approvals:',
      '  mode: manual',
      '  gateway_timeout: 300',
      'code_execution:',
      '  timeout: 100',
      'tool_output:',
      '  max_lines: 2000',
    );
    const { config, warnings } = loadConfig({ environment: home.environment });
    expect([config.terminal.backend, config.code_execution.timeout]).toEqual(['docker', 100]);
    const messages = warnings.map(({ message }) => message);
    expect(messages.map((message) => /([a-z_]+\.[a-z_]+) is not used: /.exec(message)?.[1])).toEqual([
      ...['persistent_shell', 'home_mode', 'shell_init_files', 'auto_source_bashrc', 'sudo_password'].map((key) => `terminal.${key}`),
      ...['docker_persist_across_processes', 'docker_orphan_reaper'].map((key) => `terminal.${key}`),
      ...['strict', 'trust_recent_files', 'message_timestamps'].map((key) => `gateway.${key}`),
      ...['approvals.gateway_timeout', 'tool_output.max_lines'],
    ]);
    expect(messages.join(' ')).not.toContain('hunter2');
  });

  it('warns of a variable that sets an unused key', () => {
    const home = makeHome();
    home.writeDotenv('TERMINAL_MODAL_MODE=managed\n');
    const { warnings } = loadConfig({ environment: { ...home.environment, HERMETIC_MATRIX_ACCOUNT: '+49' } });
    expect(warnings.map(({ message }) => message)).toEqual([
      `${home.dotenv}:1: TERMINAL_MODAL_MODE: terminal.modal_mode is not used: Modal is always used by your own account.`,
      'environment: HERMETIC_MATRIX_ACCOUNT: matrix.account is not used: this version has no channel for matrix.',
    ]);
  });

  it('keeps the tokens of unused platforms out of output', () => {
    const home = makeHome();
    home.writeConfig('mattermost:', '  app_token_env: MY_MATTERMOST');
    const environment = {
      ...home.environment,
      HERMETIC_MATRIX_TOKEN_ENV: 'MY_MATRIX',
      MY_MATTERMOST: 'hunter2-mattermost',
      MY_MATRIX: 'hunter2-matrix',
    };
    const { redact } = createApp({ environment });
    expect(redact('a hunter2-mattermost b hunter2-matrix c')).not.toContain('hunter2');
  });

  it('an unused key can be removed, and other keys beside it can be changed', async () => {
    writeFileSync(file, ofHermes);
    expect((await hermetic.run(['config', 'set', 'terminal.timeout', '8'])).code).toBe(0);
    expect((await hermetic.run(['config', 'unset', 'terminal.modal_mode'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(ofHermes.replace('timeout: 7', 'timeout: 8').replace('  modal_mode: -oProxyCommand=x\n', ''));
  });

  it.each([
    ['terminal.modal_mode', 'Modal is always used by your own account'],
    ['matrix.enabled', 'this version has no channel for matrix'],
  ])('config set and get refuse an unused key with the reason: %s', async (name, why) => {
    const set = await hermetic.run(['config', 'set', name, 'true']);
    expect(set).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(`error: ${name} is not used: ${why}.`) });
    expect(set.stderr).toContain('hint: Leave it out.');
    expect((await hermetic.run(['config', 'get', name])).stderr).toBe(set.stderr);
  });

  it('no listing and no reference shows an unused key', async () => {
    const { stdout } = await hermetic.run(['config', 'list']);
    const pages = ['config.md', 'config.example.yaml'].map((name) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8'));
    for (const text of [stdout, ...pages]) {
      expect(text).toContain('docker_image');
      expect(text).not.toMatch(/modal_mode|matrix|mattermost/i);
    }
    expect((await hermetic.run(['config', 'list', 'mattermost'])).stderr).toContain(
      'mattermost is not used: this version has no channel for mattermost.',
    );
  });
});

describe('platforms without a channel', () => {
  const warningsOf = (text: string, variables: Record<string, string> = {}) => {
    const home = makeHome();
    home.writeConfig(text);
    return loadConfig({ environment: { ...home.environment, ...variables } }).warnings;
  };

  it.each(['true', '"true"', 'yes', '1', '"no"', '[]'])('a platform without a channel counts as enabled when enabled is %s', (value) => {
    expect(warningsOf(`matrix: {enabled: ${value}}`)).toMatchObject([{ code: 'config/bad-value', key: 'matrix.enabled', line: 1 }]);
  });

  it.each(['false', 'null', ''])('only warns of a platform without a channel when enabled is %j', (value) => {
    expect(warningsOf(`matrix: {enabled: ${value}}`)).toMatchObject([{ code: 'config/unused-key' }]);
  });

  it('the variable decides over config.yaml whether a platform is enabled', () => {
    const off = { HERMETIC_MATRIX_ENABLED: 'off' };
    expect(warningsOf('matrix: {enabled: true}', off)).toMatchObject([{ code: 'config/unused-key', variable: 'HERMETIC_MATRIX_ENABLED' }]);
    expect(warningsOf('matrix: {enabled: false}', { HERMETIC_MATRIX_ENABLED: 'on' })).toMatchObject([{ code: 'config/bad-value' }]);
  });
});

it('a key that never existed is a mistake with the nearest key', () => {
  const home = makeHome();
  home.writeConfig('terminal: {ssh_hots: x, bakend: local}', 'discrod: {}');
  expect(errorOf(() => loadConfig({ environment: home.environment })).message.split('\n')).toEqual([
    expect.stringContaining('terminal.ssh_hots is not a key.'),
    expect.stringContaining('Did you mean terminal.backend?'),
    expect.stringContaining('discrod is not a section.'),
  ]);
});
