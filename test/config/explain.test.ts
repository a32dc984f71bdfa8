import { beforeEach, describe, expect, test } from 'vitest';
import { checkConfig, loadConfig } from '../../src/config/load.ts';
import { backendNames } from '../../src/config/schema.ts';
import { errorOf, makeHome, type TestHome } from './scratch.ts';

let home: TestHome;

beforeEach(() => {
  home = makeHome();
});

function failure(lines: string[], variables: Record<string, string> = {}) {
  home.writeConfig(...lines);
  return errorOf(() => loadConfig({ environment: { ...home.environment, ...variables } }));
}

describe('mistakes in config.yaml', () => {
  test('names file, line, column and the nearest key for an unknown key', () => {
    const error = failure(['terminal:', '  bakend: docker']);
    expect(error.code).toBe('config/unknown-key');
    expect(error.message).toBe(`${home.config}:2:3: terminal.bakend is not a key. Did you mean terminal.backend?`);
    expect(error.hint).toContain('docs/config.md');
  });

  test('suggests the section or the key that an unknown section meant', () => {
    expect(failure(['termnal: {timeout: 1}']).message).toBe(`${home.config}:1:1: termnal is not a section. Did you mean terminal?`);
    expect(failure(['backend: docker']).message).toContain('Did you mean terminal.backend?');
    expect(failure(['zzzzzz: 1']).message).toBe(`${home.config}:1:1: zzzzzz is not a section.`);
  });

  test.each([
    ['terminal: {timeout: "60"}', 20, 'terminal.timeout must be a number of seconds above 0, at most 2147483, not "60".'],
    ['terminal: {timeout: 0}', 20, 'not 0.'],
    ['terminal: {timeout: -5}', 20, 'not -5.'],
    ['terminal: {timeout: .nan}', 20, 'not NaN.'],
    ['terminal: {timeout: .inf}', 20, 'not Infinity.'],
    ['terminal: {timeout: 1e9}', 20, 'at most 2147483'],
    ['terminal: {timeout: [1]}', 20, 'not a list.'],
    ['terminal: {timeout: }', 20, 'not nothing.'],
    ['terminal: {container_memory: 5g}', 29, 'a whole number of megabytes, 0 or more, not "5g".'],
    ['terminal: {container_memory: 1.5}', 29, 'not 1.5.'],
    ['terminal: {container_cpu: -1}', 26, 'a number of CPUs, 0 or more, not -1.'],
    ['terminal: {container_pids: -1}', 27, 'not -1.'],
    ['web: {port: 65536}', 12, 'a port, 0 to 65535, not 65536.'],
    ['terminal: {container_persistent: yes please}', 33, 'true or false, not "yes please".'],
    ['terminal: {docker_image: ""}', 25, 'not empty text.'],
    ['terminal: {docker_image: --privileged}', 25, 'no leading dash'],
    ['terminal: {docker_runtime: -oProxyCommand=x}', 27, 'no leading dash'],
    ['terminal: {docker_volumes: /a:/b}', 27, 'a list of host:container[:ro|:rw] entries, not "/a:/b".'],
    ['terminal: {sandbox_dir: boxes}', 24, 'an absolute path, or one that starts with ~/ or $HERMETIC_HOME/, not "boxes".'],
    [
      'terminal: {credential_files: [../x]}',
      30,
      'terminal.credential_files[0] must be a path relative to the Hermetic home, without .., not "../x".',
    ],
    ['terminal: {credential_files: [/etc/shadow]}', 30, 'not "/etc/shadow".'],
    ['terminal: {docker_host: "http://x"}', 24, 'unix:///path, tcp://host:port, https://host:port or ssh://user@host[:port][/path]'],
    ['approvals: {mode: false}', 18, 'one of manual, smart, off, not false.'],
    ['approvals: {mode: manuel}', 18, 'not "manuel". Did you mean manual?'],
    ['telegram: {allowed_users: [123456789012345678]}', 27, 'telegram.allowed_users[0] must be an id as text, in quotes'],
    ['web: {port: "8642"}', 12, 'web.port must be a port, 0 to 65535, not "8642".'],
    ['terminal: docker', 10, 'terminal must be a map of keys.'],
  ])('names place, key, expected and found for a wrong value: %s', (line, column, sentence) => {
    const error = failure([line]);
    expect(error.code).toBe('config/bad-value');
    expect(error.message).toContain(`${home.config}:1:${column + 1}: `);
    expect(error.message).toContain(sentence);
  });

  test('lists the valid backends and the nearest for an unknown backend', () => {
    const error = failure(['terminal:', '  backend: docer']);
    expect(error.code).toBe('backend/unknown');
    expect(error.message).toContain(`${home.config}:2:12: terminal.backend must be one of ${backendNames.join(', ')}, not "docer".`);
    expect(error.message).toContain('Did you mean docker?');
    expect(failure(['gateway: {terminal_backend: dokcer}']).message).toContain('Did you mean docker?');
  });

  test('names the entry and its flaw for a malformed volume', () => {
    const error = failure(['terminal:', '  docker_volumes:', '    - /ok:/ok:ro', '    - data:/data']);
    expect(error.message).toContain(`${home.config}:4:7: terminal.docker_volumes[1] must be host:container`);
    expect(error.message).toContain('not "data:/data": the host path is not absolute.');
  });

  test.each([
    'terminal: {docker_forward_env: ["HUNTER-2"]}',
    'terminal: {env_passthrough: ["1HUNTER2"]}',
    'terminal: {docker_forward_env: ["A=HUNTER2"]}',
    'telegram: {token_env: "123:HUNTER2"}',
    'model: {api_key_env: "sk-HUNTER2"}',
    'model: {base_url: "https://me:HUNTER2@example.com"}',
    'terminal: {docker_env: {A: [HUNTER2]}}',
    'terminal: {docker_env: HUNTER2}',
    'terminal: {docker_env: {A: "HUNTER2\\0"}}',
    'terminal: {docker_extra_args: ["--env=A=HUNTER2"]}',
    'terminal: {docker_extra_args: ["-eA=HUNTER2"]}',
  ])('does not repeat a value that may be a secret in the wrong place: %s', (line) => {
    const error = failure([line]);
    expect(error.code).toBe('config/bad-value');
    expect(error.message).toContain(`${home.config}:1:`);
    expect(error.message).not.toContain('HUNTER');
  });

  test('names an invalid variable name in docker_env', () => {
    const error = failure(['terminal:', '  docker_env:', '    GOOD: 1', '    bad-name: hunter2']);
    expect(error.message).toContain('terminal.docker_env must be a map of environment variable names');
    expect(error.message).toContain('"bad-name" is not such a name');
    expect(error.message).toContain(`${home.config}:4:`);
    expect(error.message).not.toContain('hunter2');
  });

  test.each([
    [['terminal:', '\ttimeout: 1'], 2, 'Tabs'],
    [['terminal: {timeout: 1'], 2, 'not valid YAML'],
    [['terminal:', '  timeout: 1', '  timeout: 2'], 3, 'timeout is there twice'],
    [['web:', '  port: 1', 'web:', '  port: 2'], 3, 'web is there twice'],
    [['terminal: {timeout: 1}', '---', 'web: {}'], 2, 'multiple documents'],
    [['terminal: !secret x'], 1, 'Unresolved tag'],
    [['terminal: *nothing'], 1, 'Unresolved alias'],
    [['web: {host: "a\\q"}'], 1, 'Invalid escape'],
  ])('names the line of bad YAML: %j', (lines, line, reason) => {
    const error = failure(lines);
    expect(error.code).toBe('config/bad-yaml');
    expect(error.message).toContain(`${home.config}:${line}:`);
    expect(error.message).toContain(reason);
  });

  test('never shows the source around bad YAML', () => {
    expect(failure(['terminal:', '  docker_env: {A: "hunter2"', '  x: [']).message).not.toContain('hunter2');
  });

  test('refuses a root other than a map', () => {
    expect(failure(['- terminal']).message).toContain(`${home.config}:1:1: the file must be a map of sections`);
    expect(failure(['docker']).code).toBe('config/bad-value');
  });

  test('refuses a bomb of aliases at once', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh', 'hi'])
      lines.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(', ')}]`);
    const started = performance.now();
    expect(failure(lines).message).toContain('alias');
    // Taken apart, it would be a hundred million values.
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test('refuses excessive nesting', () => {
    expect(failure([`terminal: ${'['.repeat(200_000)}`]).code).toBe('config/bad-yaml');
  });

  test('treats keys of JavaScript objects as unknown keys', () => {
    expect(failure(['__proto__: {terminal: 1}']).code).toBe('config/unknown-key');
    expect(failure(['terminal: {__proto__: 1, constructor: 2}']).message.split('\n')).toHaveLength(2);
    expect(failure(['? [a, b]', ': 1']).code).toBe('config/unknown-key');
  });

  test('reports a wrong value also when a variable overrides the key', () => {
    expect(failure(['terminal: {timeout: soon}'], { TERMINAL_TIMEOUT: '5' }).message).toContain('"soon"');
  });
});

describe('mistakes in the environment', () => {
  test('names the variable that has a wrong value', () => {
    const error = failure([], { TERMINAL_TIMEOUT: 'soon' });
    expect(error.message).toBe(
      'environment: TERMINAL_TIMEOUT: terminal.timeout must be a number of seconds above 0, at most 2147483, not "soon".',
    );
  });

  test('names the file, the line and the variable for a mistake in .env', () => {
    home.writeDotenv('\nTERMINAL_ENV=docer\n');
    const error = failure([]);
    expect(error.code).toBe('backend/unknown');
    expect(error.message).toContain(`${home.dotenv}:2: TERMINAL_ENV: terminal.backend must be one of`);
  });

  test('says that a variable must be JSON, and repeats none of it', () => {
    const error = failure([], { TERMINAL_DOCKER_VOLUMES: '/a:/b,/c:/d', TERMINAL_DOCKER_ENV: '{"A":"hunter2"' });
    expect(error.message).toContain('environment: TERMINAL_DOCKER_VOLUMES: terminal.docker_volumes must be a list of');
    expect(error.message).toContain('written as JSON');
    expect(error.message).not.toContain('hunter2');
  });

  test.each([
    ['HERMETIC_GATEWAY_SANDBOX_IMAG', 'HERMETIC_GATEWAY_SANDBOX_IMAGE'],
    ['HERMETIC_CODE_EXECUTION_TIMEOTU', 'HERMETIC_CODE_EXECUTION_TIMEOUT'],
    ['HERMETIC_TERMINAL_BACKEND', 'TERMINAL_ENV'],
    ['HERMETIC_TERMINAL_TIMEOUT', 'TERMINAL_TIMEOUT'],
  ])('for the unknown variable %s suggests %s', (variable, meant) => {
    const error = failure([], { [variable]: 'x' });
    expect(error.code).toBe('config/unknown-key');
    expect(error.message).toContain(`environment: ${variable}: `);
    expect(error.message).toContain(`Did you mean ${meant}?`);
  });

  test('ignores variables of other programs', () => {
    home.writeConfig();
    const variables = {
      TERMINAL_EMULATOR: 'x',
      TERMINAL_SSH_PERSISTENT: 'true',
      HERMETIC_HOME: home.directory,
      HERMETIC_TEST_REQUIRE: 'docker',
    };
    expect(checkConfig({ environment: { ...home.environment, ...variables } })).toEqual([]);
  });
});

describe('several mistakes', () => {
  test('reports all mistakes together, one per line, from every source', () => {
    home.writeDotenv('TERMINAL_WARM_SPARES=x\n', 0o600);
    const error = failure(['terminal:', '  bakend: docker', '  timeout: soon', 'webb: {}'], { HERMETIC_WEB_PORT: '99999' });
    const lines = error.message.split('\n');
    expect(lines).toHaveLength(5);
    expect(lines.map((line) => /^[^ ]*/.exec(line)?.[0])).toEqual([
      `${home.config}:2:3:`,
      `${home.config}:3:12:`,
      `${home.config}:4:1:`,
      `${home.dotenv}:1:`,
      'environment:',
    ]);
    expect(error.code).toBe('config/unknown-key');
  });

  test('checkConfig returns each mistake with its place', () => {
    home.writeConfig('terminal: {timeout: soon}');
    const [first, second] = checkConfig({ environment: { ...home.environment, TERMINAL_ENV: 'docer' } });
    expect(first).toMatchObject({ code: 'config/bad-value', key: 'terminal.timeout', file: home.config, line: 1, column: 21 });
    expect(second).toMatchObject({ code: 'backend/unknown', key: 'terminal.backend', variable: 'TERMINAL_ENV' });
  });
});
