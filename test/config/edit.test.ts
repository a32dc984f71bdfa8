import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { changeKeys, unsetKey } from '../../src/config/edit.ts';
import { loadConfig } from '../../src/config/load.ts';
import { errorOf, makeHome, type TestHome } from './scratch.ts';

let home: TestHome;

beforeEach(() => {
  home = makeHome();
});

const text = () => readFileSync(home.config, 'utf8');
const load = () => loadConfig({ environment: home.environment }).config;

const commented = `# My machine
# keep this

terminal:   # where things run
  # the boss wants docker
  backend:   docker     # not podman

  timeout: 5 # short
  docker_volumes: # shared
    - /a:/a   # first
    - "/b:/b:ro"
  # end of terminal

# the page
web: {port: 1, host: "::1"} # local
# last words
`;

describe('changeKeys', () => {
  const setKey = (file: string, name: string, text: string) => changeKeys(file, { [name]: text });

  test('changes one value and not one other byte', () => {
    writeFileSync(home.config, commented);
    setKey(home.config, 'terminal.timeout', '60');
    setKey(home.config, 'terminal.backend', 'podman');
    setKey(home.config, 'web.port', '8080');
    expect(text()).toBe(
      commented.replace('timeout: 5', 'timeout: 60').replace('backend:   docker', 'backend: podman').replace('port: 1', 'port: 8080'),
    );
  });

  test('changes all keys it is given, or none', () => {
    writeFileSync(home.config, commented);
    expect(() => changeKeys(home.config, { 'terminal.timeout': '60', 'web.port': 'nine' })).toThrow('web.port');
    expect(text()).toBe(commented);
    changeKeys(home.config, { 'terminal.timeout': '60', 'web.port': undefined, 'terminal.warm_spares': undefined });
    expect(text()).toBe(commented.replace('timeout: 5', 'timeout: 60').replace('port: 1, ', ''));
  });

  test('adds a key at the end of its section and keeps every comment', () => {
    writeFileSync(home.config, commented);
    setKey(home.config, 'terminal.warm_spares', '2222');
    setKey(home.config, 'web.enabled', 'false');
    expect(text()).toBe(
      commented.replace('"/b:/b:ro"\n', '"/b:/b:ro"\n  warm_spares: 2222\n').replace('host: "::1"', 'host: "::1", enabled: false'),
    );
    expect(load().web).toMatchObject({ enabled: false, host: '::1', port: 1 });
  });

  test('replaces a list and keeps the comment beside its key', () => {
    writeFileSync(home.config, commented);
    setKey(home.config, 'terminal.docker_volumes', '["/c:/c"]');
    expect(text()).toContain('docker_volumes: # shared\n    [/c:/c]\n  # end of terminal\n');
    expect(load().terminal.docker_volumes).toEqual(['/c:/c']);
  });

  test('adds a section at the end', () => {
    writeFileSync(home.config, commented);
    setKey(home.config, 'approvals.mode', 'off');
    expect(text()).toBe(`${commented}approvals:\n  mode: off\n`);
    expect(load().approvals.mode).toBe('off');
  });

  test.each([
    ['', 'terminal:\n  timeout: 9\n'],
    ['# only a comment', '# only a comment\nterminal:\n  timeout: 9\n'],
    ['terminal:', 'terminal:\n  timeout: 9\n'],
    ['terminal: # soon\n  # timeout: 3\n', 'terminal: # soon\n  timeout: 9\n  # timeout: 3\n'],
    ['terminal: {}\n', 'terminal: {timeout: 9}\n'],
    ['{}\n', '{terminal: {timeout: 9}}\n'],
    ['{web: {port: 1}}\n', '{web: {port: 1}, terminal: {timeout: 9}}\n'],
    ['terminal:\r\n  backend: ssh # x\r\n', 'terminal:\r\n  backend: ssh # x\r\n  timeout: 9\r\n'],
    ['terminal:\n  backend: ssh', 'terminal:\n  backend: ssh\n  timeout: 9\n'],
    ['terminal:\n  timeout: 1 # x', 'terminal:\n  timeout: 9 # x'],
    ['"terminal":\n    "timeout" :   1\n', '"terminal":\n    "timeout": 9\n'],
    ['terminal: { backend: ssh }\n', 'terminal: { backend: ssh, timeout: 9 }\n'],
    [
      'terminal:\n  docker_env:\n    A: |\n      two\n      lines\nweb:\n',
      'terminal:\n  docker_env:\n    A: |\n      two\n      lines\n  timeout: 9\nweb:\n',
    ],
  ])('writes the key into %j', (before, after) => {
    writeFileSync(home.config, before);
    setKey(home.config, 'terminal.timeout', '9');
    expect(text()).toBe(after);
    expect(load().terminal.timeout).toBe(9);
  });

  test('repairs a key that was left without a value', () => {
    home.writeConfig('terminal:', '  timeout: # later', '  warm_spares:');
    expect(() => setKey(home.config, 'terminal.timeout', '9')).toThrow('warm_spares');
    home.writeConfig('terminal:', '  timeout: # later');
    setKey(home.config, 'terminal.timeout', '9');
    expect(text()).toBe('terminal:\n  timeout: 9 # later\n');
  });

  test('makes a file that only its owner can read', () => {
    setKey(home.config, 'terminal.timeout', '9');
    expect(statSync(home.config).mode & 0o777).toBe(0o600);
    expect(readdirSync(home.directory)).toEqual(['config.yaml']);
  });

  test('keeps the mode of the file and a symbolic link to it', () => {
    const real = join(home.userHome, 'real.yaml');
    writeFileSync(real, 'terminal: {timeout: 1}\n');
    chmodSync(real, 0o640);
    symlinkSync(real, home.config);
    setKey(home.config, 'terminal.timeout', '9');
    expect(lstatSync(home.config).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toBe('terminal: {timeout: 9}\n');
    expect(statSync(real).mode & 0o777).toBe(0o640);
  });

  test.each([
    ['terminal.docker_runtime', '1000', '1000'],
    ['terminal.docker_runtime', 'true', 'true'],
    ['terminal.cwd', '# not a comment', '# not a comment'],
    ['terminal.cwd', "it's: a [trap], {really}", "it's: a [trap], {really}"],
    ['terminal.cwd', 'two\nlines', 'two\nlines'],
    ['terminal.cwd', ' padded ', ' padded '],
    ['terminal.cwd', 'ends with:', 'ends with:'],
    ['terminal.cwd', '~', '~'],
    ['terminal.cwd', 'null', 'null'],
    ['terminal.cwd', '-', '-'],
    ['terminal.cwd', '\u0085\u2028"\\ü', '\u0085\u2028"\\ü'],
    ['terminal.container_cpu', '0.5', 0.5],
    ['terminal.container_persistent', 'false', false],
    ['terminal.docker_forward_env', '[A, B]', ['A', 'B']],
    ['terminal.docker_forward_env', '["A", "B"]', ['A', 'B']],
    ['terminal.docker_forward_env', '[]', []],
    ['telegram.allowed_users', '["123456789012345678"]', ['123456789012345678']],
    ['terminal.docker_env', '{"A": "x: y", "B": 2}', { A: 'x: y', B: '2' }],
    ['terminal.docker_env', `{"LONG": "${'word '.repeat(60)}"}`, { LONG: 'word '.repeat(60) }],
  ])('stores %s %j so that it reads back', (name, given, expected) => {
    const [section = '', key = ''] = name.split('.');
    for (const before of ['', `${section}: {}\n`, `${section}:\n  # comment\n`]) {
      writeFileSync(home.config, before);
      setKey(home.config, name, given);
      expect((load() as unknown as Record<string, Record<string, unknown>>)[section]?.[key]).toEqual(expected);
    }
  });

  test.each([
    ['terminal.timeout', 'soon', 'config/bad-value'],
    ['terminal.timeout', '', 'config/bad-value'],
    ['terminal.backend', 'docer', 'backend/unknown'],
    ['terminal.docker_volumes', '["a:b"]', 'config/bad-value'],
    ['terminal.docker_volumes', '["a', 'config/bad-value'],
    ['terminal.docker_forward_env', 'A', 'config/bad-value'],
    ['gateway.terminal_backend', '', 'backend/unknown'],
    ['terminal.bakend', 'docker', 'config/unknown-key'],
    ['terminal', 'docker', 'config/unknown-key'],
  ] as const)('refuses %s %j and writes nothing', (name, given, code) => {
    expect(errorOf(() => setKey(home.config, name, given)).code).toBe(code);
    expect(existsSync(home.config)).toBe(false);
  });

  test.each([
    ['does not parse', 'terminal: {timeout: 1\n', 'config/bad-yaml'],
    ['has a key twice', 'web:\n  port: 1\n  port: 2\n', 'config/bad-yaml'],
    ['has another mistake', 'terminal:\n  bakend: docker\n', 'config/unknown-key'],
    ['is not a map', '- a\n', 'config/bad-value'],
    ['shares the section with another by an alias', 'telegram: &a {enabled: true}\ndiscord: *a\n', 'config/bad-value'],
    ['ends its document', 'web: {port: 1}\n...\n', 'config/bad-value'],
  ])('refuses a config.yaml that %s and leaves it alone', (_, before, code) => {
    writeFileSync(home.config, before);
    expect(errorOf(() => setKey(home.config, 'telegram.allow_all', 'true')).code).toBe(code);
    expect(text()).toBe(before);
    expect(readdirSync(home.directory)).toEqual(['config.yaml']);
  });

  test('refuses to change a value that other keys share', () => {
    writeFileSync(home.config, 'terminal: {timeout: &t 5}\ncode_execution: {timeout: *t}\n');
    expect(errorOf(() => setKey(home.config, 'terminal.timeout', '9')).hint).toContain('by hand');
    setKey(home.config, 'code_execution.timeout', '9');
    expect(text()).toBe('terminal: {timeout: &t 5}\ncode_execution: {timeout: 9}\n');
  });

  test('replaces an invalid value with a valid one', () => {
    home.writeConfig('terminal:', '  timeout: soon');
    setKey(home.config, 'terminal.timeout', '9');
    expect(load().terminal.timeout).toBe(9);
  });
});

describe('unsetKey', () => {
  test('removes one key with its line and nothing else', () => {
    writeFileSync(home.config, commented);
    expect(unsetKey(home.config, 'terminal.timeout')).toBe(true);
    expect(unsetKey(home.config, 'terminal.docker_volumes')).toBe(true);
    expect(unsetKey(home.config, 'web.host')).toBe(true);
    expect(text()).toBe(
      commented
        .replace('  timeout: 5 # short\n', '')
        .replace(/ {2}docker_volumes[\s\S]*:ro"\n/, '')
        .replace('port: 1, host: "::1"', 'port: 1'),
    );
  });

  test.each([
    ['web: {port: 1}\n', 'web: {}\n'],
    ['web: {port: 1, enabled: true}\n', 'web: {enabled: true}\n'],
    ['web:\n  # mine\n  port: 1\n', 'web:\n  # mine\n'],
    ['web:\n  port: 1', 'web:\n'],
    ['web:\r\n  port: 1\r\n  enabled: true\r\n', 'web:\r\n  enabled: true\r\n'],
  ])('removes the key, turning %j into %j', (before, after) => {
    writeFileSync(home.config, before);
    unsetKey(home.config, 'web.port');
    expect(text()).toBe(after);
    expect(load().web.port).toBe(8642);
  });

  test('reports a key that was not set, and makes no file', () => {
    expect(unsetKey(home.config, 'web.port')).toBe(false);
    expect(existsSync(home.config)).toBe(false);
  });

  test('removes an unknown key from the file', () => {
    home.writeConfig('terminal:', '  bakend: docker', '  timeout: 9');
    expect(unsetKey(home.config, 'terminal.bakend')).toBe(true);
    expect(text()).toBe('terminal:\n  timeout: 9\n');
  });

  test('refuses an unknown key that is not in the file', () => {
    expect(errorOf(() => unsetKey(home.config, 'terminal.bakend')).message).toContain('Did you mean terminal.backend?');
  });

  test('refuses to remove an anchor that other keys use', () => {
    const before = 'terminal: {timeout: &t 5}\ncode_execution: {timeout: *t}\n';
    writeFileSync(home.config, before);
    expect(() => unsetKey(home.config, 'terminal.timeout')).toThrow();
    expect(text()).toBe(before);
  });
});
