import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeBotApi } from '../fakes/bot-api.ts';
import { type ModelServer, refuses, says, startModelServer } from '../fakes/model-server.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

const goodKey = 'sk-good-0123456789';
let hermetic: Hermetic;
let model: ModelServer;
beforeEach(async () => {
  hermetic = new Hermetic();
  model = await startModelServer(({ headers }) =>
    [headers['x-api-key'], headers.authorization?.replace('Bearer ', '')].includes(goodKey) ? says('ready') : refuses(401, 'no such key'),
  );
});
afterEach(async () => {
  await model.close();
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

const file = (name: string): string => join(hermetic.environment.HERMETIC_HOME ?? '', name);
const config = (): string => (existsSync(file('config.yaml')) ? readFileSync(file('config.yaml'), 'utf8') : '');
const dotenv = (): string => readFileSync(file('.env'), 'utf8');
const anthropic = (): string[] => ['setup', '--provider', 'anthropic', '--model', 'some-model', '--base-url', model.url];

/** What is there before. */
function write(name: string, text: string): void {
  mkdirSync(file('.'), { recursive: true, mode: 0o700 });
  writeFileSync(file(name), text, { mode: 0o600 });
}

describe('hermetic setup with options', () => {
  it('tries the key from standard input once, and writes it for its owner alone', async () => {
    const outcome = await hermetic.run(anthropic(), { input: `${goodKey}\n` });
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toContain('anthropic/some-model answers');
    expect(outcome.stdout).not.toContain(goodKey);
    expect(model.requests).toHaveLength(1);
    expect(config()).toBe(`model:\n  provider: anthropic\n  model: some-model\n  base_url: ${model.url}\n`);
    expect(dotenv()).toContain(`\nANTHROPIC_API_KEY=${goodKey}\n`);
    expect([statSync(file('.env')).mode & 0o777, statSync(file('config.yaml')).mode & 0o777]).toEqual([0o600, 0o600]);
  });

  it.each([
    ['the usual variable', [], 'ANTHROPIC_API_KEY'],
    ['one that is named', ['--api-key-env', 'MY_KEY'], 'MY_KEY'],
  ])('setup takes the key from %s', async (_case, more, variable) => {
    expect(await hermetic.run([...anthropic(), ...more], { environment: { [variable]: goodKey } })).toMatchObject({ code: 0 });
    expect(dotenv()).toContain(`${variable}=${goodKey}`);
    expect(config().includes('api_key_env: MY_KEY')).toBe(variable === 'MY_KEY');
  });

  it("prints the provider's answer to a wrong key, not the key, and writes nothing", async () => {
    const outcome = await hermetic.run(anthropic(), { input: 'sk-wrong-9876543210' });
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/Anthropic refuses the key in ANTHROPIC_API_KEY: no such key/);
    expect(outcome.stderr).toContain('Nothing was written; --no-test');
    expect(outcome.stderr).not.toContain('sk-wrong');
    expect(config()).toBe('');
    expect(dotenv()).not.toContain('ANTHROPIC');
  });

  it('--no-test writes the key without a call', async () => {
    expect(await hermetic.run([...anthropic(), '--no-test'], { input: 'sk-wrong-9876543210' })).toMatchObject({ code: 0 });
    expect(model.requests).toEqual([]);
    expect(dotenv()).toContain('ANTHROPIC_API_KEY=sk-wrong-9876543210');
  });

  it('keeps comments and other keys, and removes settings of another model', async () => {
    write(
      'config.yaml',
      '# mine\nmodel: # which\n  provider: ollama\n  base_url: http://127.0.0.1:1/v1\n  context_tokens: 4000\nterminal:\n  timeout: 7\n',
    );
    write('.env', `# secrets\nOTHER=1\nANTHROPIC_API_KEY=old\n`);
    await hermetic.run(['setup', '--provider', 'anthropic', '--model', 'm', '--no-test'], { input: goodKey });
    expect(config()).toBe('# mine\nmodel: # which\n  provider: anthropic\n  model: m\nterminal:\n  timeout: 7\n');
    expect(dotenv()).toBe(`# secrets\nOTHER=1\nANTHROPIC_API_KEY=${goodKey}\n`);
  });

  it('uses a key that is in .env already', async () => {
    write('.env', `ANTHROPIC_API_KEY=${goodKey}\n`);
    expect(await hermetic.run(anthropic())).toMatchObject({ code: 0 });
    expect(dotenv()).toBe(`ANTHROPIC_API_KEY=${goodKey}\n`);
  });

  it.each([
    ['nothing at all', []],
    ['no model', ['--provider', 'anthropic']],
    ['a provider that does not exist', ['--provider', 'acme', '--model', 'm']],
    ['a key of several words', ['--provider', 'anthropic', '--model', 'm']],
  ])('setup refuses %s with exit code 2', async (_case, args) => {
    const outcome = await hermetic.run(['setup', ...args], { input: 'two words' });
    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(config()).toBe('');
  });

  it.each([
    ['no name of a variable', ['openai', '--api-key-env', 'BAD NAME'], 'model.api_key_env must be the name of an environment variable'],
    ['no address of a model', ['openai', '--base-url', 'ftp://x'], 'model.base_url must be an http:// or https:// address'],
    ['no address where there is none', ['openai-compatible'], '--base-url is required'],
  ])('setup changes nothing when it is given %s, also without a test', async (_case, args, says) => {
    write('config.yaml', 'model:\n  provider: ollama\n');
    write('.env', '');
    const outcome = await hermetic.run(['setup', '--no-test', '--model', 'm', '--provider', ...args], { input: goodKey });
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(says) });
    expect([config(), dotenv()]).toEqual(['model:\n  provider: ollama\n', '']);
  });

  it('names the missing key', async () => {
    const outcome = await hermetic.run(anthropic());
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain('ANTHROPIC_API_KEY is not set');
  });

  it('connects a Telegram bot whose token works, and no other', async () => {
    const api = await FakeBotApi.start();
    try {
      write('config.yaml', `telegram:\n  api_root: ${api.root}\n`);
      const wrong = await hermetic.run(['setup', '--telegram'], { input: '1:wrong' });
      expect(wrong).toMatchObject({ code: 1, stdout: '' });
      expect(wrong.stderr).toContain('Telegram refuses the token');
      expect(config()).not.toContain('enabled');
      const right = await hermetic.run(['setup', '--telegram'], { environment: { TELEGRAM_BOT_TOKEN: api.token } });
      expect(right).toMatchObject({ code: 0 });
      expect(right.stdout).toMatch(/The bot is @\w+/);
      expect(config()).toContain('enabled: true');
      expect(dotenv()).toContain(`TELEGRAM_BOT_TOKEN=${api.token}`);
    } finally {
      await api.close();
    }
  });
});

describe('hermetic setup at a terminal', () => {
  it('setup asks, hides the key, and lets a wrong one be entered again', async () => {
    const terminal = atTerminal(hermetic, ['setup']);
    await terminal.sees('Which provider?');
    // Upwards from the first: none, then the last provider.
    terminal.type('\u001b[A\u001b[A\r');
    await terminal.sees('What is its address?');
    terminal.type(`${model.url}\r`);
    await terminal.sees('Which model?');
    terminal.type('some-model\r');
    await terminal.sees('Its key');
    terminal.type('sk-wrong\r');
    await terminal.sees('no such key');
    expect(config()).toBe('');
    const again = terminal.text().length;
    await terminal.sees('Enter it again');
    terminal.type('\r');
    await terminal.sees('Which model?', again);
    terminal.type('some-model\r');
    await terminal.sees('Its key', again);
    terminal.type(`${goodKey}\r`);
    await terminal.sees('It answers.');
    await terminal.sees('Connect a platform?');
    terminal.type('\r');
    expect(await terminal.exit).toBe(0);
    expect(terminal.text()).not.toContain(goodKey);
    expect(config()).toContain('provider: openai-compatible');
    expect(dotenv()).toContain(`OPENAI_COMPATIBLE_API_KEY=${goodKey}`);
  });

  it('writes nothing when setup is cancelled', async () => {
    const terminal = atTerminal(hermetic, ['setup']);
    await terminal.sees('Which provider?');
    terminal.type('\u0003');
    expect(await terminal.exit).toBe(130);
    expect(config()).toBe('');
  });
});
