import { existsSync, readFileSync, statSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { beforeEach, describe, expect, test } from 'vitest';
import { configCommand } from '../../src/cli/commands/config.ts';
import { configKeys } from '../../src/config/keys.ts';
import { HermeticError } from '../../src/core/errors.ts';
import { makeHome, type TestHome } from './scratch.ts';

let home: TestHome;

beforeEach(() => {
  home = makeHome();
});

interface Outcome {
  out: string;
  err: string;
  code: number;
  error: unknown;
}

async function config(args: string[], variables: Record<string, string> = {}): Promise<Outcome> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const outcome: Outcome = { out: '', err: '', code: 0, error: undefined };
  const environment = { ...home.environment, ...variables };
  const command = configCommand({ stdin: Readable.from([]), stdout, stderr, environment, setExitCode: (code) => (outcome.code = code) });
  await command.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    outcome.error = error;
  });
  outcome.out = String(stdout.read() ?? '');
  outcome.err = String(stderr.read() ?? '');
  return outcome;
}

async function refusal(args: string[], variables: Record<string, string> = {}): Promise<HermeticError> {
  const { error, out } = await config(args, variables);
  expect(out).toBe('');
  expect(error).toBeInstanceOf(HermeticError);
  return error as HermeticError;
}

describe('config get', () => {
  test('config get prints the value in force', async () => {
    home.writeConfig('terminal: {timeout: 9, docker_forward_env: [A]}');
    expect((await config(['get', 'terminal.timeout'])).out).toBe('9\n');
    expect((await config(['get', 'terminal.timeout'], { TERMINAL_TIMEOUT: '8' })).out).toBe('8\n');
    expect((await config(['get', 'terminal.backend'])).out).toBe('auto\n');
    expect((await config(['get', 'terminal.docker_forward_env'])).out).toBe('["A"]\n');
    expect((await config(['get', 'terminal.docker_host'])).out).toBe('\n');
  });

  test('config get --json prints the origin too', async () => {
    const { out } = await config(['get', 'terminal.timeout', '--json'], { TERMINAL_TIMEOUT: '8' });
    expect(JSON.parse(out)).toEqual({ key: 'terminal.timeout', value: 8, origin: { source: 'environment', variable: 'TERMINAL_TIMEOUT' } });
    expect(JSON.parse((await config(['get', 'terminal.cwd', '--json'])).out)).toMatchObject({ value: null });
  });

  test('config get suggests the nearest key for an unknown one', async () => {
    const error = await refusal(['get', 'terminal.bakend']);
    expect(error.code).toBe('config/unknown-key');
    expect(error.message).toBe('terminal.bakend is not a key. Did you mean terminal.backend?');
    expect((await refusal(['get', 'terminal'])).message).toContain('terminal is a section, not a key.');
  });

  test('config get refuses to answer from a broken configuration', async () => {
    home.writeConfig('terminal: {bakend: docker}');
    expect((await refusal(['get', 'terminal.timeout'])).code).toBe('config/unknown-key');
  });
});

describe('config list', () => {
  test('config list shows every key with value and origin, aligned', async () => {
    home.writeConfig('terminal:', '  timeout: 9');
    home.writeDotenv('TERMINAL_WARM_SPARES=2222\n');
    const { out } = await config(['list'], { TERMINAL_ENV: 'docker' });
    const lines = out.trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(configKeys.map((key) => key.name));
    expect(out).toMatch(/^terminal\.backend +docker +environment TERMINAL_ENV$/m);
    expect(out).toMatch(/^terminal\.timeout +9 +config\.yaml:2$/m);
    expect(out).toMatch(/^terminal\.warm_spares +2222 +\.env TERMINAL_WARM_SPARES$/m);
    expect(out).toMatch(/^terminal\.network +\(unset\) +default$/m);
    expect(new Set(lines.map((line) => line.lastIndexOf('  ') + 2)).size).toBe(1);
  });

  test('config list shows one section when asked', async () => {
    const { out } = await config(['list', 'approvals']);
    expect(out.match(/^approvals\./gm)).toHaveLength(6);
    expect(out).not.toContain('terminal.');
    expect((await refusal(['list', 'terminl'])).message).toContain('Did you mean terminal?');
  });

  test('config list --json prints an array', async () => {
    const rows = JSON.parse((await config(['list', '--json'])).out);
    expect(rows).toHaveLength(configKeys.length);
    expect(rows[0]).toEqual({ key: 'terminal.backend', value: 'auto', origin: { source: 'default' } });
  });

  test('config list escapes control characters in values', async () => {
    home.writeConfig('terminal: {cwd: "\\e[2J\\nx"}');
    expect((await config(['list', 'terminal'])).out).not.toContain('\u001b');
  });
});

describe('secrets', () => {
  test('no command prints a secret', async () => {
    home.writeConfig('terminal: {docker_env: {TOKEN: hunter2}}');
    home.writeDotenv('TELEGRAM_BOT_TOKEN=hunter2\n');
    const commands = [['list'], ['list', '--json'], ['get', 'terminal.docker_env'], ['get', 'terminal.docker_env', '--json'], ['check']];
    for (const args of [...commands, ['set', 'terminal.timeout', '9']]) {
      const { out, err, error } = await config(args, { TERMINAL_DOCKER_ENV: '{"OTHER":"hunter2"}' });
      expect(error).toBeUndefined();
      expect(out + err).not.toContain('hunter2');
    }
    expect((await config(['get', 'terminal.docker_env'])).out).toBe('{"TOKEN":"***"}\n');
    const set = await config(['set', 'terminal.docker_env', '{"A": "hunter2"}']);
    expect(set.out + set.err).not.toContain('hunter2');
    expect((await refusal(['set', 'terminal.docker_env', '{"A": ["hunter2"]}'])).message).not.toContain('hunter2');
  });
});

describe('config set and unset', () => {
  test('config set and unset change the file and confirm it', async () => {
    const set = await config(['set', 'terminal.timeout', '9']);
    expect(set.out).toBe(`terminal.timeout is set in ${home.config}\n`);
    expect(readFileSync(home.config, 'utf8')).toBe('terminal:\n  timeout: 9\n');
    expect((await config(['unset', 'terminal.timeout'])).out).toBe(`terminal.timeout is no longer set in ${home.config}\n`);
    expect((await config(['unset', 'terminal.timeout'])).out).toBe(`terminal.timeout was not set in ${home.config}\n`);
  });

  test('config set takes a value that starts with a dash after --', async () => {
    expect((await refusal(['set', 'terminal.timeout', '--', '-5'])).message).toContain('not -5');
  });

  test('config set makes a missing home', async () => {
    const directory = `${home.userHome}/new`;
    await config(['set', 'terminal.timeout', '9'], { HERMETIC_HOME: directory });
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(`${directory}/config.yaml`).mode & 0o777).toBe(0o600);
  });

  test('config set warns when a variable overrides the file', async () => {
    const { err } = await config(['set', 'terminal.timeout', '9'], { TERMINAL_TIMEOUT: '8' });
    expect(err).toContain('environment TERMINAL_TIMEOUT is set and overrides config.yaml');
    expect((await config(['set', 'terminal.timeout', '9'])).err).toBe('');
  });

  test('config set warns when the configuration does not load for another reason', async () => {
    const { err, error } = await config(['set', 'terminal.timeout', '9'], { HERMETIC_WEB_PORT: 'x' });
    expect(error).toBeUndefined();
    expect(err).toContain('HERMETIC_WEB_PORT');
  });

  test('config set writes no value that would not load', async () => {
    expect((await refusal(['set', 'terminal.backend', 'docer'])).code).toBe('backend/unknown');
    expect(existsSync(home.config)).toBe(false);
  });
});

describe('config check', () => {
  test('config check accepts a good configuration', async () => {
    expect((await config(['check'])).out).toContain('fine');
    expect(JSON.parse((await config(['check', '--json'])).out)).toEqual({ ok: true, problems: [], warnings: [] });
  });

  test.each([
    ['web.host', '0.0.0.0', 'anyone on the network could read the traffic'],
    ['terminal.docker_volumes', '["/etc:/x"]', '/etc cannot be mounted at /x'],
    ['terminal.docker_volumes', '["/nowhere/at/all:/x"]', 'it does not exist'],
    ['terminal.network', 'restricted', 'cannot restrict the network'],
    ['telegram.enabled', 'true', 'TELEGRAM_BOT_TOKEN (telegram.token_env) is not set'],
  ])('config check warns of keys that load and would be refused: %s %s', async (key, value, says) => {
    // Whether another backend can restrict it depends on the machine.
    if (key === 'terminal.network') home.writeConfig('terminal: {backend: local}');
    const set = await config(['set', key, value]);
    expect(set).toMatchObject({ error: undefined, err: expect.stringContaining(says), out: expect.stringContaining('is set in') });
    const { out, err, code } = await config(['check']);
    expect(err).toMatch(/^warning: .*\n(hint: .*\n)?$/);
    expect(err).toBe(set.err);
    expect([out.includes('fine'), code]).toEqual([false, 0]);
    const { ok, warnings } = JSON.parse((await config(['check', '--json'])).out);
    expect({ ok, warnings }).toEqual({ ok: true, warnings: [expect.objectContaining({ message: expect.stringContaining(says) })] });
  });

  test('config check reports every problem', async () => {
    home.writeConfig('terminal: {bakend: docker, timeout: soon}');
    expect((await refusal(['check'])).message.split('\n')).toHaveLength(2);
    const { out, code } = await config(['check', '--json']);
    expect(code).toBe(2);
    const answer = JSON.parse(out);
    expect(answer.ok).toBe(false);
    expect(answer.problems).toHaveLength(2);
    expect(answer.problems[0]).toMatchObject({
      code: 'config/unknown-key',
      key: 'terminal.bakend',
      file: home.config,
      line: 1,
      column: 12,
    });
  });
});

describe('config path', () => {
  test('config path prints the path even when the file is broken', async () => {
    home.writeConfig('{');
    expect((await config(['path'])).out).toBe(`${home.config}\n`);
  });
});

describe('config', () => {
  test('config explains itself and refuses nonsense without ending the process', async () => {
    const help = await config(['--help']);
    expect(help.error).toBeInstanceOf(CommanderError);
    for (const name of ['get', 'set', 'unset', 'list', 'check', 'path']) expect(help.out).toContain(`  ${name} `);
    const nonsense = await config(['gett', 'x']);
    expect(nonsense.error).toBeInstanceOf(CommanderError);
    expect(nonsense.err).toContain('get');
  });
});
