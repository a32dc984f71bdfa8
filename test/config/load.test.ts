import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { configKeys } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config/load.ts';
import { errorOf, makeHome, makeScratch, type TestHome } from './scratch.ts';

let home: TestHome;

beforeEach(() => {
  home = makeHome();
});

function load(variables: Record<string, string> = {}) {
  return loadConfig({ environment: { ...home.environment, ...variables } });
}

describe('the home', () => {
  test('makes the home for its owner alone, with an .env of mode 600', () => {
    const userHome = makeScratch();
    const loaded = loadConfig({ environment: { HOME: userHome } });
    expect(loaded.home).toBe(join(userHome, '.hermetic'));
    expect(statSync(loaded.home).mode & 0o777).toBe(0o700);
    expect(statSync(loaded.files.dotenv).mode & 0o777).toBe(0o600);
    expect(existsSync(loaded.files.config)).toBe(false);
  });

  test('takes the home from HERMETIC_HOME, also below ~/, and the caller overrides it', () => {
    const userHome = makeScratch();
    expect(loadConfig({ environment: { HOME: userHome, HERMETIC_HOME: join(userHome, 'a') } }).home).toBe(join(userHome, 'a'));
    expect(loadConfig({ environment: { HOME: userHome, HERMETIC_HOME: '~/b' } }).home).toBe(join(userHome, 'b'));
    expect(loadConfig({ environment: { HOME: userHome, HERMETIC_HOME: ' ' } }).home).toBe(join(userHome, '.hermetic'));
    expect(loadConfig({ environment: { HOME: userHome, HERMETIC_HOME: '~/b' }, home: join(userHome, 'c') }).home).toBe(join(userHome, 'c'));
  });

  test.each([0o777, 0o770, 0o775, 0o702])('refuses a home with mode %o and names the command that helps', (mode) => {
    chmodSync(home.directory, mode);
    const error = errorOf(load);
    expect(error.code).toBe('config/unreadable');
    expect(error.message).toContain(`can be written by others (mode ${mode.toString(8)})`);
    execFileSync('sh', ['-c', error.hint?.replace('Run: ', '') ?? '']);
    expect(load().home).toBe(home.directory);
  });

  test.each([0o700, 0o750, 0o755])('accepts a home with mode %o', (mode) => {
    chmodSync(home.directory, mode);
    expect(load().home).toBe(home.directory);
  });

  test('refuses a home that is a file', () => {
    const path = join(home.userHome, 'file');
    writeFileSync(path, '');
    const error = errorOf(() => load({ HERMETIC_HOME: path }));
    expect(error.code).toBe('config/unreadable');
    expect(error.message).toContain(path);
    expect(error.hint).toContain('HERMETIC_HOME');
  });
});

describe('precedence', () => {
  test('gives every key its default without files or variables', () => {
    const { config, origins } = load();
    expect(config.terminal.timeout).toBe(180);
    expect(config.terminal.network).toBeUndefined();
    expect(Object.keys(origins)).toEqual(configKeys.map((key) => key.name));
    expect(new Set(Object.values(origins).map((origin) => origin.source))).toEqual(new Set(['default']));
  });

  test('environment beats .env beats config.yaml beats default', () => {
    home.writeConfig('terminal:', '  timeout: 1', '  warm_spares: 1', '  container_pids: 1');
    home.writeDotenv('# x\nTERMINAL_TIMEOUT=2\nTERMINAL_WARM_SPARES=2\n');
    const { config, origins } = load({ TERMINAL_TIMEOUT: '3' });
    expect([config.terminal.timeout, config.terminal.warm_spares, config.terminal.container_pids]).toEqual([3, 2, 1]);
    expect(config.terminal.container_memory).toBe(5120);
    expect(origins['terminal.timeout']).toEqual({ source: 'environment', variable: 'TERMINAL_TIMEOUT' });
    expect(origins['terminal.warm_spares']).toEqual({ source: '.env', variable: 'TERMINAL_WARM_SPARES', line: 3 });
    expect(origins['terminal.container_pids']).toEqual({ source: 'config.yaml', line: 4 });
    expect(origins['terminal.container_memory']).toEqual({ source: 'default' });
  });

  test('treats a blank variable as unset', () => {
    home.writeConfig('terminal: {timeout: 7}');
    home.writeDotenv('TERMINAL_TIMEOUT=\n');
    expect(load({ TERMINAL_TIMEOUT: '  ' }).config.terminal.timeout).toBe(7);
  });

  test('TERMINAL_ENV sets the backend', () => {
    home.writeConfig('terminal: {backend: docker}');
    expect(load({ TERMINAL_ENV: 'bubblewrap' }).config.terminal.backend).toBe('bubblewrap');
  });

  test('reads a variable as the type of its key', () => {
    const { config } = load({
      TERMINAL_CONTAINER_CPU: '0.5',
      TERMINAL_CONTAINER_PERSISTENT: 'no',
      TERMINAL_DOCKER_RUN_AS_HOST_USER: '1',
      TERMINAL_DOCKER_RUNTIME: '1000',
      TERMINAL_DOCKER_FORWARD_ENV: '["A","B"]',
      TERMINAL_DOCKER_ENV: '{"N":1,"T":true,"S":"s"}',
      HERMETIC_TELEGRAM_ALLOWED_USERS: '["123"]',
      HERMETIC_APPROVALS_MODE: 'off',
    });
    expect(config.terminal.container_cpu).toBe(0.5);
    expect(config.terminal.container_persistent).toBe(false);
    expect(config.terminal.docker_run_as_host_user).toBe(true);
    expect(config.terminal).toMatchObject({ docker_runtime: '1000' });
    expect(config.terminal.docker_forward_env).toEqual(['A', 'B']);
    expect(config.terminal.docker_env).toEqual({ N: '1', T: 'true', S: 's' });
    expect(config.telegram.allowed_users).toEqual(['123']);
    expect(config.approvals.mode).toBe('off');
  });

  test('takes tokens from the environment first, then from .env, never a blank one', () => {
    home.writeDotenv('TOKEN=from-file\nOTHER=other\nEMPTY=\n');
    const { environment } = load({ TOKEN: 'from-process', OTHER: '' });
    expect(environment.TOKEN).toBe('from-process');
    expect(environment.OTHER).toBe('other');
    expect('EMPTY' in environment).toBe(false);
  });
});

describe('config.yaml', () => {
  test('accepts a config.yaml that is empty, only comments, or has sections without keys', () => {
    for (const text of ['', '# nothing yet', '---', 'terminal:', 'terminal:\n  # timeout: 3\nweb: {}']) {
      home.writeConfig(text);
      expect(load().config.terminal.timeout).toBe(180);
    }
  });

  test('treats blank as unset for keys without a default', () => {
    home.writeConfig('gateway:', '  terminal_backend: ""', '  sandbox_image:', 'terminal: {docker_host: "", docker_runtime: null}');
    const { config, origins } = load();
    expect(config.gateway.terminal_backend).toBeUndefined();
    expect(config.gateway.sandbox_image).toBeUndefined();
    expect(origins['terminal.docker_host']).toEqual({ source: 'default' });
  });

  test('reads the YAML value off as a word, not as false', () => {
    home.writeConfig('approvals: {mode: off}');
    expect(load().config.approvals.mode).toBe('off');
  });

  test('accepts anchors and aliases within reason', () => {
    home.writeConfig('terminal: &limits', '  timeout: 7', 'code_execution: *limits');
    expect(load().config.code_execution.timeout).toBe(7);
  });

  test('accepts a config.yaml that is a symbolic link', () => {
    writeFileSync(join(home.userHome, 'real.yaml'), 'terminal: {timeout: 9}\n');
    symlinkSync('../real.yaml', home.config);
    expect(load().config.terminal.timeout).toBe(9);
  });

  test('makes host paths absolute', () => {
    home.writeConfig('terminal:', '  docker_volumes: ["~/data:/data:ro", "/srv:/srv"]', '  sandbox_dir: $HERMETIC_HOME/boxes');
    const { terminal } = load().config;
    expect(terminal.docker_volumes).toEqual([`${home.userHome}/data:/data:ro`, '/srv:/srv']);
    expect(terminal.sandbox_dir).toBe(`${home.directory}/boxes`);
  });

  test('one load does not affect the next', () => {
    home.writeConfig('terminal: {docker_volumes: ["~/data:/data"]}');
    load();
    home.writeConfig('');
    expect(load().config.terminal.docker_volumes).toEqual([]);
    expect(load().config.terminal.sandbox_dir).toBe(`${home.directory}/sandboxes`);
  });

  test('refuses a config.yaml that is a directory or not text', () => {
    mkdirSync(home.config);
    expect(errorOf(load).code).toBe('config/unreadable');
    home = makeHome();
    writeFileSync(home.config, Buffer.from([0x61, 0x3a, 0x20, 0xff]));
    expect(errorOf(load).message).toContain('is not UTF-8 text');
  });
});

describe('.env', () => {
  test.each([0o640, 0o604, 0o644, 0o660, 0o602])('refuses an .env with mode %o and names the command that helps', (mode) => {
    home.writeDotenv('TOKEN=hunter2\n', mode);
    const error = errorOf(load);
    expect(error.code).toBe('config/unreadable');
    expect(error.message).toContain(home.dotenv);
    expect(error.message).toContain(mode.toString(8));
    expect(error.message).not.toContain('hunter2');
    expect(error.hint).toContain(`chmod 600 ${home.dotenv}`);
  });

  test.each([0o600, 0o400])('reads an .env with mode %o', (mode) => {
    home.writeDotenv('TERMINAL_TIMEOUT=5\n', mode);
    expect(load().config.terminal.timeout).toBe(5);
  });

  test('refuses an .env with a malformed line by its number, without its text', () => {
    home.writeDotenv('A=1\nhunter2\n');
    const error = errorOf(load);
    expect(error.message).toBe(`${home.dotenv}:2: expected NAME=value.`);
  });

  test('leaves .env unchanged', () => {
    home.writeDotenv('A=1\n');
    load();
    expect(readFileSync(home.dotenv, 'utf8')).toBe('A=1\n');
  });
});
